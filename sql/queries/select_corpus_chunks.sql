-- All served chunks with what is known of their documents, document by document, in reading order.
select
    chunk.id, chunk.kind, chunk.instance, chunk.doc_key, chunk.ordinal, chunk.title, chunk.heading_path, chunk.doc_type,
    chunk.generation, chunk.content, chunk.url, chunk.tokens, chunk.since_version, chunk.still_valid, chunk.supersedes,
    chunk.superseded_by, chunk.migration_note, chunk.metadata, document.last_updated
from {chunks} as chunk
left join documents as document
    on document.space_id = %(space_id)s and document.kind = chunk.kind
    and document.instance = chunk.instance and document.doc_key = chunk.doc_key
order by chunk.kind, chunk.instance, chunk.doc_key, chunk.ordinal
