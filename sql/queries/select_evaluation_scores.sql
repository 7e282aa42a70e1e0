select query_id, scores
from evaluation_results
where evaluation_id = %(evaluation_id)s and scores is not null
order by query_id
