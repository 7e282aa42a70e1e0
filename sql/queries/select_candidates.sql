select id, kind, instance, doc_key, title, heading_path, contextual_header, content, url, generation, doc_type
from {chunks}
where id = any(%(ids)s)
