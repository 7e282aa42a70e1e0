-- Whole rows as they were, the search vector among them.
insert into {chunks} ({columns}, search_vector)
select {old_columns}, old.search_vector
from touched
join undo on undo.id = touched.id
join {history} as old on old.id = undo.id and old.valid_until = undo.step
where touched.change <> 'deleted'
on conflict (id) do update set ({columns}, search_vector) = ({excluded}, excluded.search_vector)
