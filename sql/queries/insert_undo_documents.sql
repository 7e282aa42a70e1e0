insert into undo_documents (doc_key, raw_key, raw_sha256, last_updated)
select distinct on (doc_key) doc_key, raw_key, raw_sha256, last_updated
from documents_history
where space_id = %(space_id)s and kind = %(kind)s and instance = %(instance)s and valid_until > %(target)s
order by doc_key, valid_until
