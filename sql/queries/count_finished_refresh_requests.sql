-- Finished requests that are no longer kept; see delete_finished_refresh_requests.
select count(*) from refresh_requests where done_at < now() - make_interval(days => greatest(%(keep_days)s, 1))
