select
    chunk_id, kind, instance, doc_key, title, source_url, raw_key, raw_sha256, parser_version, tagger_version, chunker_version,
    embedder_version, embedding_fingerprint, publication_id, run_id, published_at, current_publication_id
from chunk_provenance
where chunk_id = %(chunk_id)s
