delete from {chunks} as chunk
where chunk.kind = %(kind)s and chunk.instance = %(instance)s
    and not exists (select from staged where staged.id = chunk.id)
    and chunk.doc_key <> all(%(staying)s)
