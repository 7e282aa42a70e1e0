insert into documents (space_id, kind, instance, doc_key, raw_key, raw_sha256, last_updated)
select %(space_id)s, %(kind)s, %(instance)s, doc_key, raw_key, raw_sha256, last_updated
from undo_documents
where raw_key is not null
on conflict (space_id, kind, instance, doc_key) do update
set raw_key = excluded.raw_key, raw_sha256 = excluded.raw_sha256, last_updated = excluded.last_updated
