-- Chunks a filter lets through, exactly, from the counts each publication keeps. A null array is no filter.
select coalesce(sum(chunks), 0)
from chunk_counts
where space_id = %(space_id)s
    and (%(kinds)s::text[] is null or kind = any(%(kinds)s::text[]))
    and (%(generations)s::text[] is null or generation && %(generations)s::text[])
