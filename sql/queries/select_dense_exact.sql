-- Exact nearest chunks: every matching row is compared, found by the index over facets. A null array is no filter.
with matching as materialized (
    select id, embedding <=> %(embedding)s as distance, generation
    from {chunks}
    where %(facets)s::integer[] is null or facet = any(%(facets)s::integer[])
)
select id, 1 - distance as similarity, generation
from matching
order by distance, id
limit %(candidates)s
