select count(*) from {chunks} where kind = %(kind)s and instance = %(instance)s
