select share_space(%(space_id)s)
