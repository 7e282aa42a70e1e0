delete from embedding_cache
where space_id = %(space_id)s
    and text_hash in (select text_hash from unused where n > %(after)s and n <= %(after)s + %(batch)s)
