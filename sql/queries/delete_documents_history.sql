delete from documents_history
where space_id = %(space_id)s and kind = %(kind)s and instance = %(instance)s and valid_until <= %(horizon)s
