select kind, instance, run_key, array_agg(reason order by id)
from refresh_requests
where done_at is null and run_key is not null
group by kind, instance, run_key
order by min(id)
