-- A day stays whatever the settings say: what was signed is valid for minutes, and its row is what makes it count once.
delete from refresh_requests where done_at < now() - make_interval(days => greatest(%(keep_days)s, 1))
