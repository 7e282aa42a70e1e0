-- Publications before the horizon can no longer be brought back.
update publications set is_kept = false
where space_id = %(space_id)s and kind = %(kind)s and instance = %(instance)s and is_kept and id < %(horizon)s
