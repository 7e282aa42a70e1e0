insert into linked_documents (kind, instance, doc_key, title, url) values (%s, %s, %s, %s, %s)
