-- The group roles that do not exist and that this connection may make.
select count(*)
from unnest(array['bbj_reader', 'bbj_writer']) as wanted
where not exists (select from pg_roles where rolname = wanted)
    and (select rolsuper or rolcreaterole from pg_roles where rolname = current_user)
