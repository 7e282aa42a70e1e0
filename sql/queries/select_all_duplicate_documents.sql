select kind, instance, doc_key, section, representative_kind, representative_instance, representative_key,
    representative_section, jaccard
from duplicate_documents
order by kind, instance, doc_key, section
