insert into {history} ({columns}, search_vector, valid_until)
select {columns}, search_vector, %(publication_id)s
from {chunks}
where id in (select id from touched where change <> 'inserted')
