-- Served chunks by what a search can filter on.
select kind, instance, generation, doc_type, count(*) from doc_chunks group by kind, instance, generation, doc_type
