insert into document_links (
    kind, instance, doc_key, relation, target_kind, target_instance, target_key, origin, note
) values (%s, %s, %s, %s, %s, %s, %s, %s, %s)
