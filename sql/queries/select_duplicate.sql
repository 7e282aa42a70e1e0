select min(doc_key), count(*) from staged group by id having count(*) > 1 order by 1 limit 1
