select count(*) from documents where space_id = %(space_id)s and kind = %(kind)s and instance = %(instance)s
