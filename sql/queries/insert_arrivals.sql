insert into chunk_arrivals (space_id, kind, instance, publication_id, id)
select %(space_id)s, %(kind)s, %(instance)s, %(publication_id)s, id
from touched
where change = 'inserted'
