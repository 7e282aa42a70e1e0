-- Nearest chunks by the HNSW index, filtered on the way. relaxed_order gives them nearly sorted, so some more are taken than
-- are wanted. A null array is no filter.
with nearest as materialized (
    select id, embedding <=> %(embedding)s as distance
    from {chunks}
    where %(facets)s::integer[] is null or facet = any(%(facets)s::integer[])
    order by embedding <=> %(embedding)s
    limit 2 * %(candidates)s
)
select id, 1 - distance as similarity
from nearest
order by distance, id
limit %(candidates)s
