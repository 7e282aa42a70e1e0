-- Instances served from the old space that have no complete publication in the new one.
select count(*)
from publications as old
where old.space_id = %(old)s and old.is_current and not exists (
    select from publications as new
    where new.space_id = %(new)s and new.kind = old.kind and new.instance = old.instance and new.is_current and new.complete
)
