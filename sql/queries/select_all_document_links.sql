select kind, instance, doc_key, relation, target_kind, target_instance, target_key, origin, note
from document_links
order by kind, instance, doc_key, relation, target_kind, target_instance, target_key
