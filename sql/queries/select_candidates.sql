select id, kind, instance, doc_key, ordinal, title, heading_path, contextual_header, content, url, generation, doc_type, tokens,
    since_version, deprecated_in, deprecated_in is not null or still_valid is false, superseded_by, migration_note, text_hash,
    array(select term from unnest(terms) as term where term = any(%(terms)s::text[])) as matched
from {chunks}
where id = any(%(ids)s)
