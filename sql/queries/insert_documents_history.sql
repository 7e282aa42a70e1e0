-- What the publication is about to replace: documents that go or become others, and, without a raw key, those that are new.
with latest as (
    select distinct on (doc_key) doc_key, raw_key, raw_sha256, last_updated
    from staged
    order by doc_key, n
)
insert into documents_history (space_id, kind, instance, doc_key, valid_until, raw_key, raw_sha256, last_updated)
select
    %(space_id)s, %(kind)s, %(instance)s, coalesce(latest.doc_key, document.doc_key), %(publication_id)s,
    document.raw_key, document.raw_sha256, document.last_updated
from latest
full join (
    select * from documents where space_id = %(space_id)s and kind = %(kind)s and instance = %(instance)s
) as document on document.doc_key = latest.doc_key
where document.doc_key = any(%(vanished)s)
    or (
        latest.doc_key is not null
        and (latest.raw_key, latest.raw_sha256, latest.last_updated)
            is distinct from (document.raw_key, document.raw_sha256, document.last_updated)
    )
