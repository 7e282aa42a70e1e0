select doc_key, ordinal, section_ordinal, title, heading_path, contextual_header, content, tokens, doc_type, generation, url, anchor,
    page, overlap, metadata, coalesce(raw_key, doc_key), coalesce(raw_sha256, ''), embedding
from doc_chunks
where kind = %(kind)s and instance = %(instance)s
order by doc_key, ordinal
