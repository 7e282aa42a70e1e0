-- The served rows that are gone, except those of documents that stay.
insert into touched (id, doc_key, change)
select chunk.id, chunk.doc_key, 'deleted'
from {chunks} as chunk
where chunk.kind = %(kind)s and chunk.instance = %(instance)s
    and not exists (select from staged where staged.id = chunk.id)
    and chunk.doc_key <> all(%(staying)s)
