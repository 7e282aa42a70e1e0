select asked.kind, asked.instance, asked.key
from unnest(%(kinds)s::text[], %(instances)s::text[], %(keys)s::text[]) with ordinality as asked (kind, instance, key, place)
where not exists (
    select from documents as document
    where document.space_id = %(space_id)s and document.kind = asked.kind and document.instance = asked.instance
        and document.doc_key = asked.key
)
order by asked.place
