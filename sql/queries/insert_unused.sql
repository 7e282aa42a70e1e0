insert into unused (text_hash)
select cache.text_hash
from embedding_cache as cache
where cache.space_id = %(space_id)s and cache.added_at < now() - make_interval(days => %(keep_days)s)
    and not exists (select from used where used.text_hash = cache.text_hash)
