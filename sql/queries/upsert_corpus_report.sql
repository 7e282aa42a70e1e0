insert into corpus_reports (name, markdown, counts, run_id) values (%(name)s, %(markdown)s, %(counts)s, %(run_id)s)
on conflict (name) do update
set markdown = excluded.markdown, counts = excluded.counts, run_id = excluded.run_id, created_at = now()
