-- How many served chunks of an instance have which generations.
select generation, sum(chunks)::integer
from facets
where space_id = %(space_id)s and kind = %(kind)s and instance = %(instance)s and chunks > 0
group by generation
