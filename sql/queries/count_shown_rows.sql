-- Served rows of one instance, and of all together, in the active space.
select
    coalesce(sum(counted.chunks) filter (where counted.kind = %(kind)s and counted.instance = %(instance)s), 0)::bigint,
    coalesce(sum(counted.chunks), 0)::bigint
from facets as counted
join embedding_spaces as space on space.id = counted.space_id
where space.state = 'active'
