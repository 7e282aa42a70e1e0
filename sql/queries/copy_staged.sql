copy staged (n, id, row_hash, doc_key, raw_key, raw_sha256, last_updated) from stdin (format binary)
