-- Exact BM25 over all postings of the question's terms. Ties at the end come back whole: who of them stays is decided by id.
-- The last digits, which depend on the order of addition, are left out, or equal scores would not tie.
with weighted as materialized (
    select term, weight from unnest(%(terms)s::integer[], %(weights)s::float8[]) as weighted (term, weight)
),
scored as materialized (
    select posting.chunk,
        coalesce(bool_or(posting.facet = any(%(hinted)s::integer[])), false) as is_hinted,
        round(1e9::float8 * sum(
            weighted.weight * posting.tf / (posting.tf + %(base)s::float8 + %(slope)s::float8 * posting.length)
        )) / 1e9 as score
    from {postings} as posting
    join weighted on weighted.term = posting.term
    where posting.term = any(%(terms)s::integer[])
        and (%(facets)s::integer[] is null or posting.facet = any(%(facets)s::integer[]))
    group by posting.chunk
),
best as (
    (select * from scored order by score desc fetch first %(limit)s rows with ties)
    union
    (select * from scored where is_hinted order by score desc fetch first %(limit)s rows with ties)
)
select chunk.id, best.is_hinted, best.score
from best
join {chunks} as chunk on chunk.number = best.chunk
