-- The kept publication before the state that is served: what a rollback brought back is not "the one before" itself.
with recursive origin as (
    select id, rolled_back_to from publications
    where space_id = %(space_id)s and kind = %(kind)s and instance = %(instance)s and is_current
    union all
    select publication.id, publication.rolled_back_to
    from origin
    join publications as publication on publication.id = origin.rolled_back_to
)
select max(id)
from publications
where space_id = %(space_id)s and kind = %(kind)s and instance = %(instance)s and is_kept
    and id < (select min(id) from origin)
