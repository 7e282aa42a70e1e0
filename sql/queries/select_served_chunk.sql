-- One served chunk with everything that says where it comes from.
select id, kind, instance, doc_key as key, ordinal, title, heading_path, contextual_header, content, url,
    generation as generations, doc_type, tokens, anchor, page, since_version, deprecated_in, still_valid,
    supersedes, superseded_by, migration_note, keywords, raw_key, raw_sha256, text_hash, last_updated, publication_id, run_id,
    published_at, code_versions
from doc_chunks
where id = %(id)s
