insert into evaluation_results (evaluation_id, query_id, scores, documents, confidence)
values (%(evaluation_id)s, %(query_id)s, %(scores)s, %(documents)s, %(confidence)s)
