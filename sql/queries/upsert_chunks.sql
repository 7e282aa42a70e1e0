-- The search vector: title and header above the content, and the identifiers unstemmed. The cuts keep it far from 1 MB.
insert into {chunks} ({columns}, search_vector)
select {columns},
    setweight(to_tsvector('english', left(concat_ws(' ', title, contextual_header), 5000)), 'B')
    || to_tsvector('english', left(content, 50000))
    || array_to_tsvector(string_to_array(identifier_list, ' '))
from changed
cross join lateral (
    select string_to_array(term_list, ' ') as terms, string_to_array(tf_list, ' ')::smallint[] as tfs
) as lists
on conflict (id) do update set ({columns}, search_vector) = ({excluded}, excluded.search_vector)
