-- The indexes of the vectors are made anew with more and better chosen edges, see templates/chunks_indexes.sql.
do $$
declare
    name regclass;
begin
    for name in
        select indexrelid::regclass
        from pg_index
        join pg_class on pg_class.oid = pg_index.indexrelid
        where relname ~ '^chunks_[0-9]+_hnsw$' and relnamespace = current_schema()::regnamespace
    loop
        execute format('alter index %s set (m = 24, ef_construction = 200)', name);
        execute format('reindex index %s', name);
    end loop;
end
$$;
