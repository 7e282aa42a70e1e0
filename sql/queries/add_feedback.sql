select add_feedback(%(query)s, %(generation)s, %(chunk_id)s, %(useful)s, %(comment)s)
