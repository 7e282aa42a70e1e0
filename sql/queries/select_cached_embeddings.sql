select cache.text_hash, cache.embedding
from embedding_cache as cache
join embedding_spaces as space on space.id = cache.space_id
where space.fingerprint = %(fingerprint)s and cache.text_hash = any(%(text_hashes)s)
