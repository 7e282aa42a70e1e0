-- The served chunks: the active space's, with what is known of their documents and of the publication that wrote them.
create view doc_chunks as
select
    chunk.id, chunk.kind, chunk.instance, chunk.kind || '/' || chunk.instance as source, chunk.doc_key, chunk.ordinal,
    chunk.section_ordinal, chunk.title, chunk.heading_path, chunk.contextual_header, chunk.content, chunk.generation,
    chunk.doc_type, chunk.embedding, chunk.search_vector, chunk.url, chunk.anchor, chunk.page, chunk.tokens, chunk.overlap,
    chunk.since_version, chunk.deprecated_in, chunk.still_valid, chunk.supersedes, chunk.superseded_by,
    chunk.migration_note, chunk.keywords, document.last_updated, chunk.metadata, document.raw_key, document.raw_sha256,
    chunk.text_hash, chunk.publication_id, publication.run_id, publication.published_at, publication.code_versions
from {chunks} as chunk
left join documents as document
    on document.space_id = {space_id} and document.kind = chunk.kind
    and document.instance = chunk.instance and document.doc_key = chunk.doc_key
left join publications as publication on publication.id = chunk.publication_id
