-- Made when the space is first served, over all its rows at once. m and ef_construction are the blueprint's.
create index if not exists {hnsw} on {chunks} using hnsw (embedding vector_cosine_ops) with (m = 16, ef_construction = 64);
create index if not exists {words} on {chunks} using gin (search_vector);
create index if not exists {generation} on {chunks} using gin (generation);
