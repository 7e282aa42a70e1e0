-- Served chunks by what a search can filter on, from the counts that are kept with the chunks.
select kind, instance, generation, doc_type, sum(chunks)::bigint
from facets
where space_id = %(space_id)s and chunks > 0
group by kind, instance, generation, doc_type
