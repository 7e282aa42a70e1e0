insert into documents as document (space_id, kind, instance, doc_key, raw_key, raw_sha256, last_updated)
select distinct on (doc_key) %(space_id)s, %(kind)s, %(instance)s, doc_key, raw_key, raw_sha256, last_updated
from staged
order by doc_key, n
on conflict (space_id, kind, instance, doc_key) do update
set raw_key = excluded.raw_key, raw_sha256 = excluded.raw_sha256, last_updated = excluded.last_updated
where (document.raw_key, document.raw_sha256, document.last_updated)
    is distinct from (excluded.raw_key, excluded.raw_sha256, excluded.last_updated)
