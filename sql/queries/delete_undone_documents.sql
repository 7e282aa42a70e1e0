delete from documents
where space_id = %(space_id)s and kind = %(kind)s and instance = %(instance)s
    and doc_key in (select doc_key from undo_documents where raw_key is null)
