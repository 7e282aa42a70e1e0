update refresh_requests set done_at = now(), run_id = %(run_id)s where run_key = %(run_key)s and done_at is null
