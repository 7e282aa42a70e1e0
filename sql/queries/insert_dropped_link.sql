insert into dropped_links (kind, instance, doc_key, relation, target, reason, detail) values (%s, %s, %s, %s, %s, %s, %s)
