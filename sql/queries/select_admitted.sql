-- Statistics of the space, and which facets a filter admits, with how many chunks. A null parameter is no condition; a version
-- admits what names no version of introduction.
with marked as (
    select id, chunks, terms,
        (%(kinds)s::text[] is null or kind = any(%(kinds)s::text[]))
        and (%(instances)s::text[] is null or kind || '/' || instance = any(%(instances)s::text[]))
        and (%(generations)s::text[] is null or generation && %(generations)s::text[])
        and (%(doc_types)s::text[] is null or doc_type = any(%(doc_types)s::text[]))
        and (%(version)s::integer is null or since is null or since <= %(version)s::integer)
        and (not %(current)s::boolean or not deprecated) as is_admitted,
        coalesce(generation && %(hinted)s::text[], false) as is_hinted
    from facets
    where space_id = %(space_id)s and chunks > 0
)
select
    coalesce(sum(chunks), 0)::integer, coalesce(sum(terms), 0),
    coalesce(array_agg(id order by id) filter (where is_admitted), array[]::integer[]),
    coalesce(sum(chunks) filter (where is_admitted), 0)::integer,
    coalesce(array_agg(id order by id) filter (where is_admitted and is_hinted), array[]::integer[]),
    coalesce(sum(chunks) filter (where is_admitted and is_hinted), 0)::integer
from marked
