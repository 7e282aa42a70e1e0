-- The documents whose chunks this publication touched, each as added, changed or removed; the first of each by key, and how
-- many documents and chunks there are of each. Documents stand as they are after the publication.
with touched_documents as (
    select
        doc_key,
        count(*) filter (where change = 'inserted') as inserted,
        count(*) filter (where change = 'updated') as updated,
        count(*) filter (where change = 'deleted') as deleted
    from touched
    group by doc_key
),
labelled as (
    select
        touched_documents.*,
        case
            when document.doc_key is null then 'removed'
            when %(is_first)s or (history.doc_key is not null and history.raw_key is null) then 'added'
            else 'changed'
        end as label
    from touched_documents
    left join documents as document
        on document.space_id = %(space_id)s and document.kind = %(kind)s and document.instance = %(instance)s
        and document.doc_key = touched_documents.doc_key
    left join documents_history as history
        on history.space_id = %(space_id)s and history.kind = %(kind)s and history.instance = %(instance)s
        and history.doc_key = touched_documents.doc_key and history.valid_until = %(publication_id)s
),
numbered as (
    select
        *,
        row_number() over (partition by label order by doc_key) as n,
        count(*) over (partition by label) as documents,
        sum(inserted + updated + deleted) over (partition by label) as chunks
    from labelled
)
select label, documents, chunks::bigint, doc_key, inserted, updated, deleted
from numbered
where n <= %(shown)s
order by label, n
