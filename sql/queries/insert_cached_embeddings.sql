insert into embedding_cache (space_id, text_hash, embedding)
select space.id, new.text_hash, new.embedding
from embedding_spaces as space,
    unnest(%(text_hashes)s::bytea[], %(embeddings)s::bytea[]) as new (text_hash, embedding)
where space.fingerprint = %(fingerprint)s
on conflict (space_id, text_hash) do nothing
