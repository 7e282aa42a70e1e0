update publications set is_current = false
where space_id = %(space_id)s and kind = %(kind)s and instance = %(instance)s and is_current
