select id, input_version, complete, withheld, (counts ->> 'chunks')::bigint
from publications
where space_id = %(space_id)s and kind = %(kind)s and instance = %(instance)s and is_current
