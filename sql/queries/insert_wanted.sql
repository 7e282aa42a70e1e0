-- The rows that are new or changed, by their position in the stream.
insert into wanted (n, is_new)
select staged.n, chunk.id is null
from staged
left join {chunks} as chunk on chunk.id = staged.id
where chunk.row_hash is distinct from staged.row_hash
