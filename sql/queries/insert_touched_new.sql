-- Of some rows those that are new or changed. Of two rows with one identity the first: that there are two is said later.
insert into touched (id, doc_key, change)
select listed.id, listed.doc_key, case when chunk.id is null then 'inserted' else 'updated' end
from unnest(%(ids)s::text[], %(hashes)s::bytea[], %(doc_keys)s::text[]) as listed (id, row_hash, doc_key)
left join {chunks} as chunk on chunk.id = listed.id
where chunk.row_hash is distinct from listed.row_hash
on conflict do nothing
returning id
