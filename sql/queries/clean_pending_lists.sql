-- New words wait in a list that every search reads through; merge it now, at once for all rows of the publication.
select count(gin_clean_pending_list(indexrelid::regclass))
from pg_index
join pg_class on pg_class.oid = indexrelid
join pg_am on pg_am.oid = pg_class.relam
where indrelid = %(table)s::regclass and amname = 'gin'
