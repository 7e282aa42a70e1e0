-- New and changed rows, and the served ones that are gone, except those of documents that stay.
insert into touched (id, doc_key, change)
select staged.id, staged.doc_key, case when wanted.is_new then 'inserted' else 'updated' end
from wanted
join staged using (n)
union all
select chunk.id, chunk.doc_key, 'deleted'
from {chunks} as chunk
where chunk.kind = %(kind)s and chunk.instance = %(instance)s
    and not exists (select from staged where staged.id = chunk.id)
    and chunk.doc_key <> all(%(staying)s)
