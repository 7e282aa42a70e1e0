select count(*) from {history} where kind = %(kind)s and instance = %(instance)s and valid_until <= %(horizon)s
