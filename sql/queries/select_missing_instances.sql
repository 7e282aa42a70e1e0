-- Instances served from the active space that have no complete publication in the new one, and why.
select
    old.kind,
    old.instance,
    case
        when cardinality(old.held) > 0 and new.id is null then 'its content is held back by a rollback'
        when new.id is null then 'not published with the new model yet'
        else 'its last export was incomplete'
    end as reason
from publications as old
left join publications as new
    on new.space_id = %(new)s and new.kind = old.kind and new.instance = old.instance and new.is_current
where old.space_id = %(old)s and old.is_current and new.complete is not true
order by old.kind, old.instance
