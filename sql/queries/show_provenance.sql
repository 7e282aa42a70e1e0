select show_provenance(%(space_id)s)
