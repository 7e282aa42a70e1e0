-- The first thing that happened to a chunk after the publication tells how it was at that time.
insert into undo (id, step, existed)
select distinct on (id) id, step, existed
from (
    select id, valid_until as step, true as existed
    from {history}
    where kind = %(kind)s and instance = %(instance)s and valid_until > %(target)s
    union all
    select id, publication_id, false
    from chunk_arrivals
    where space_id = %(space_id)s and kind = %(kind)s and instance = %(instance)s and publication_id > %(target)s
) as steps
order by id, step
