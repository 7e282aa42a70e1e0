select number, id, generation from {chunks} where number = any(%(numbers)s::integer[])
