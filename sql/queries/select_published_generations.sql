-- How many served chunks of an instance have which generations.
select generation, chunks
from chunk_counts
where space_id = %(space_id)s and kind = %(kind)s and instance = %(instance)s
