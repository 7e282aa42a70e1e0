select name, markdown, counts, run_id, created_at from corpus_reports where name = %(name)s
