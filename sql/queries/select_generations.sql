select id, generation from {chunks} where id = any(%(ids)s)
