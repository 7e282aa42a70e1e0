-- Exact nearest chunks: every matching row is compared. A null array is no filter.
with matching as materialized (
    select id, embedding <=> %(embedding)s as distance
    from {chunks}
    where (%(kinds)s::text[] is null or kind = any(%(kinds)s::text[]))
        and (%(generations)s::text[] is null or generation && %(generations)s::text[])
)
select id, 1 - distance as similarity
from matching
order by distance, id
limit %(candidates)s
