select run.id, run.evaluated_at, run.regressed,
    (select jsonb_object_agg(metric, mean)
     from (select metric, avg(value::float8) as mean
           from evaluation_results as result, jsonb_each_text(result.scores) as score (metric, value)
           where result.evaluation_id = run.id
           group by metric) as means)
from evaluation_runs as run
where run.judged = %(judged)s
order by run.id desc
limit %(limit)s
