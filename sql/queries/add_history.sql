select add_history(%(space_id)s)
