select
    (select count(*) from staged) as chunks,
    (select count(distinct doc_key) from staged) as documents,
    count(*) filter (where is_new) as inserted,
    count(*) filter (where not is_new) as updated
from wanted
