-- Nearest chunks by the HNSW index, filtered on the way; relaxed_order gives them nearly sorted. A null array is no filter.
with nearest as materialized (
    select id, embedding <=> %(embedding)s as distance
    from {chunks}
    where (%(kinds)s::text[] is null or kind = any(%(kinds)s::text[]))
        and (%(generations)s::text[] is null or generation && %(generations)s::text[])
    order by embedding <=> %(embedding)s
    limit %(candidates)s
)
select id, 1 - distance as similarity
from nearest
order by distance, id
