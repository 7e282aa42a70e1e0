select id, run_id, state, space_id, publications, report, regressed
from evaluation_runs
where judged = %(judged)s and (not %(baseline)s or not regressed)
order by id desc
limit 1
