insert into chunk_counts (space_id, kind, instance, generation, chunks)
select %(space_id)s, kind, instance, generation, count(*)
from {chunks}
where kind = %(kind)s and instance = %(instance)s
group by kind, instance, generation
