select drop_space(%(space_id)s)
