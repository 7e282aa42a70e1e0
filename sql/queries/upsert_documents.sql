-- Only what is new or another: a conflict locks, and so writes, even the rows that it leaves as they are.
with latest as (
    select distinct on (doc_key) doc_key, raw_key, raw_sha256, last_updated
    from staged
    order by doc_key, n
)
insert into documents (space_id, kind, instance, doc_key, raw_key, raw_sha256, last_updated)
select %(space_id)s, %(kind)s, %(instance)s, latest.*
from latest
where not exists (
    select
    from documents as document
    where document.space_id = %(space_id)s and document.kind = %(kind)s and document.instance = %(instance)s
        and document.doc_key = latest.doc_key and document.raw_key = latest.raw_key
        and document.raw_sha256 = latest.raw_sha256 and document.last_updated is not distinct from latest.last_updated
)
on conflict (space_id, kind, instance, doc_key) do update
set raw_key = excluded.raw_key, raw_sha256 = excluded.raw_sha256, last_updated = excluded.last_updated
