insert into duplicate_documents (
    kind, instance, doc_key, section, representative_kind, representative_instance, representative_key,
    representative_section, jaccard
) values (%s, %s, %s, %s, %s, %s, %s, %s, %s)
