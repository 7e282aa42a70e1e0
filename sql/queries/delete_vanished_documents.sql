delete from documents
where space_id = %(space_id)s and kind = %(kind)s and instance = %(instance)s and doc_key = any(%(doc_keys)s)
