with open_requests as (
    select kind, instance, max(id) as newest
    from refresh_requests
    where done_at is null and run_key is null
    group by kind, instance
)
update refresh_requests as request
set run_key = request.kind || '/' || request.instance || ':request:' || open_requests.newest
from open_requests
where request.kind = open_requests.kind and request.instance = open_requests.instance
  and request.done_at is null and request.run_key is null and request.id <= open_requests.newest
