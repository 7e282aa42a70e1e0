-- For each asked chunk that is a copy: of which chunk, and for a chunk of a copied document, of which document; the closer
-- statement (chunk) first. A representative that is no longer served represents nothing.
select asked.id, 'chunk' as level, copy.representative_id, representative.kind, representative.instance,
    representative.doc_key, copy.jaccard
from unnest(%(ids)s::text[]) as asked (id)
join duplicates as copy on copy.chunk_id = asked.id
join {chunks} as representative on representative.id = copy.representative_id
union all
select asked.id, 'page', null, copy.representative_kind, copy.representative_instance, copy.representative_key, copy.jaccard
from unnest(%(ids)s::text[]) as asked (id)
join {chunks} as chunk on chunk.id = asked.id
join duplicate_documents as copy
    on copy.kind = chunk.kind and copy.instance = chunk.instance and copy.doc_key = chunk.doc_key
    and (
        copy.section = ''
        or array_to_string(chunk.heading_path, ' > ') = copy.section
        or starts_with(array_to_string(chunk.heading_path, ' > '), copy.section || ' > ')
    )
where exists (
    select
    from documents
    where space_id = %(space_id)s and documents.kind = copy.representative_kind
        and documents.instance = copy.representative_instance and documents.doc_key = copy.representative_key
)
order by 1, 2, 7 desc
