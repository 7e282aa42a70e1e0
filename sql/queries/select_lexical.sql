-- Chunks that have any term, ranked; 1 divides the rank by 1 + log(length). A null array is no filter. Chunks of a preferred
-- generation get as many places of their own.
with matching as materialized (
    select id, ts_rank(search_vector, %(any_term)s::tsquery, 1) as score, generation && %(preferred)s::text[] as is_preferred
    from {chunks}
    where search_vector @@ %(any_term)s::tsquery
        and (%(kinds)s::text[] is null or kind = any(%(kinds)s::text[]))
        and (%(generations)s::text[] is null or generation && %(generations)s::text[])
)
(select id, score from matching order by score desc, id limit %(candidates)s)
union
(select id, score from matching where is_preferred order by score desc, id limit %(candidates)s)
order by score desc, id
