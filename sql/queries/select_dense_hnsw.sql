-- Nearest chunks by the HNSW index, filtered on the way, and the nearest of those that fit a hint, from one scan of ``scanned``
-- chunks. They come in order within one round of the scan, nearly so over several. A null array is no filter, and no hint.
with nearest as materialized (
    select id, embedding <=> %(embedding)s as distance, generation,
        coalesce(facet = any(%(hinted)s::integer[]), false) as is_hinted
    from {chunks}
    where %(facets)s::integer[] is null or facet = any(%(facets)s::integer[])
    order by embedding <=> %(embedding)s
    limit %(scanned)s
),
best as (
    (select * from nearest order by distance, id limit %(candidates)s)
    union
    (select * from nearest where is_hinted order by distance, id limit %(candidates)s)
)
select id, 1 - distance as similarity, generation, is_hinted
from best
order by distance, id
