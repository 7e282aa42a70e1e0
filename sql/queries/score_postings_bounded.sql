-- The same score where some terms are too common to look for: chunks are found by the other terms, those that the common ones
-- could still lift among the best are kept, and their common terms are looked up one by one.
with weighted as materialized (
    select term, weight from unnest(%(terms)s::integer[], %(weights)s::float8[]) as weighted (term, weight)
),
common as materialized (
    select term, weight from unnest(%(common)s::integer[], %(common_weights)s::float8[]) as common (term, weight)
),
scored as materialized (
    select posting.chunk,
        coalesce(bool_or(posting.facet = any(%(hinted)s::integer[])), false) as is_hinted,
        sum(weighted.weight * posting.tf / (posting.tf + %(base)s::float8 + %(slope)s::float8 * posting.length)) as score
    from {postings} as posting
    join weighted on weighted.term = posting.term
    where posting.term = any(%(terms)s::integer[])
        and (%(facets)s::integer[] is null or posting.facet = any(%(facets)s::integer[]))
    group by posting.chunk
),
threshold as materialized (
    select
        coalesce((select score from scored order by score desc offset %(limit)s - 1 limit 1), 0) as score,
        coalesce((select score from scored where is_hinted order by score desc offset %(limit)s - 1 limit 1), 0) as hinted_score
),
completed as materialized (
    select scored.chunk, scored.is_hinted, round(1e9::float8 * (scored.score + coalesce((
        select sum(common.weight * posting.tf / (posting.tf + %(base)s::float8 + %(slope)s::float8 * posting.length))
        from common
        join {postings} as posting on posting.term = common.term and posting.chunk = scored.chunk
    ), 0))) / 1e9 as score
    from scored, threshold
    where scored.score + %(rest)s::float8 + 1e-9 >= case when is_hinted then least(threshold.score, threshold.hinted_score)
        else threshold.score end
),
best as (
    (select * from completed order by score desc fetch first %(limit)s rows with ties)
    union
    (select * from completed where is_hinted order by score desc fetch first %(limit)s rows with ties)
)
select chunk.id, best.is_hinted, best.score
from best
join {chunks} as chunk on chunk.number = best.chunk
