-- A chunk written by the same publication is the same row: nothing to bring back.
insert into touched (id, doc_key, change)
select
    undo.id,
    coalesce(chunk.doc_key, old.doc_key),
    case when not undo.existed then 'deleted' when chunk.id is null then 'inserted' else 'updated' end
from undo
left join {chunks} as chunk on chunk.id = undo.id
left join {history} as old on undo.existed and old.id = undo.id and old.valid_until = undo.step
where chunk.publication_id is distinct from old.publication_id
