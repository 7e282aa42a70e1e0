delete from chunk_arrivals
where space_id = %(space_id)s and kind = %(kind)s and instance = %(instance)s and publication_id <= %(horizon)s
