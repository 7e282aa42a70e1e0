-- A statement of its own, before another becomes current: a unique index is checked row by row.
update publications set is_current = false
where space_id = %(space_id)s and kind = %(kind)s and instance = %(instance)s and is_current
