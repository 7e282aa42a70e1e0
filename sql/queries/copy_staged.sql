copy staged (n, id, doc_key, raw_key, raw_sha256, last_updated) from stdin (format binary)
