-- served: the chunks of the instance before this publication.
select
    (select count(*) from staged) as chunks,
    (select count(distinct doc_key) from staged) as documents,
    count(*) filter (where change = 'inserted') as inserted,
    count(*) filter (where change = 'updated') as updated,
    (
        select coalesce(sum(chunks), 0)::bigint
        from facets
        where space_id = %(space_id)s and kind = %(kind)s and instance = %(instance)s
    ) as served
from touched
