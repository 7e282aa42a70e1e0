insert into documents_history (space_id, kind, instance, doc_key, valid_until, raw_key, raw_sha256, last_updated)
select
    %(space_id)s, %(kind)s, %(instance)s, undo_documents.doc_key, %(publication_id)s,
    document.raw_key, document.raw_sha256, document.last_updated
from undo_documents
left join documents as document
    on document.space_id = %(space_id)s and document.kind = %(kind)s and document.instance = %(instance)s
    and document.doc_key = undo_documents.doc_key
where (document.raw_key, document.raw_sha256, document.last_updated)
    is distinct from (undo_documents.raw_key, undo_documents.raw_sha256, undo_documents.last_updated)
