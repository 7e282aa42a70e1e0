-- For each asked document: what supersedes it (the nearest first, and what supersedes that), what it supersedes, and what is
-- related to it. Documents that are no longer served are left out.
with recursive asked as (
    select distinct kind, instance, doc_key
    from unnest(%(kinds)s::text[], %(instances)s::text[], %(keys)s::text[]) as asked (kind, instance, doc_key)
),
newer as (
    select asked.kind, asked.instance, asked.doc_key, link.target_kind, link.target_instance, link.target_key, link.origin,
        link.note, 1 as distance
    from asked
    join document_links as link using (kind, instance, doc_key)
    where link.relation = 'superseded_by'
    union
    select newer.kind, newer.instance, newer.doc_key, link.target_kind, link.target_instance, link.target_key, link.origin,
        link.note, newer.distance + 1
    from newer
    join document_links as link
        on link.kind = newer.target_kind and link.instance = newer.target_instance and link.doc_key = newer.target_key
    where link.relation = 'superseded_by' and newer.distance < %(most_steps)s
),
found as (
    select kind, instance, doc_key, 'superseded_by' as relation, target_kind, target_instance, target_key, origin, note, distance
    from newer
    union all
    select asked.kind, asked.instance, asked.doc_key, 'supersedes', link.kind, link.instance, link.doc_key, link.origin,
        link.note, 1
    from asked
    join document_links as link
        on link.target_kind = asked.kind and link.target_instance = asked.instance and link.target_key = asked.doc_key
    where link.relation = 'superseded_by'
    union all
    select asked.kind, asked.instance, asked.doc_key, 'related', link.target_kind, link.target_instance, link.target_key,
        link.origin, link.note, 1
    from asked
    join document_links as link using (kind, instance, doc_key)
    where link.relation = 'related'
    union all
    select asked.kind, asked.instance, asked.doc_key, 'related', link.kind, link.instance, link.doc_key, link.origin,
        link.note, 1
    from asked
    join document_links as link
        on link.target_kind = asked.kind and link.target_instance = asked.instance and link.target_key = asked.doc_key
    where link.relation = 'related'
),
nearest as (
    select distinct on (kind, instance, doc_key, relation, target_kind, target_instance, target_key) *
    from found
    order by kind, instance, doc_key, relation, target_kind, target_instance, target_key, distance
)
select nearest.kind, nearest.instance, nearest.doc_key, nearest.relation, nearest.target_kind, nearest.target_instance,
    nearest.target_key, linked.title, linked.url, nearest.origin, nearest.note, nearest.distance
from nearest
join linked_documents as linked
    on linked.kind = nearest.target_kind and linked.instance = nearest.target_instance and linked.doc_key = nearest.target_key
where exists (
    select
    from documents
    where space_id = %(space_id)s and documents.kind = nearest.target_kind
        and documents.instance = nearest.target_instance and documents.doc_key = nearest.target_key
)
order by nearest.kind, nearest.instance, nearest.doc_key, nearest.relation, nearest.distance, nearest.target_kind,
    nearest.target_instance, nearest.target_key
