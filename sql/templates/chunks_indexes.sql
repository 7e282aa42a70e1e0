-- Made when the space is first served, over all its rows at once. With the blueprint's m = 16 and ef_construction = 64 the index
-- of 9,919 real chunks hid the very nearest chunk from 9 of 112 questions at ef_search 400, with these from one (and from 4 at
-- 200). It takes 2.6 times as long.
create index if not exists {hnsw} on {chunks} using hnsw (embedding vector_cosine_ops) with (m = 24, ef_construction = 200);
create index if not exists {words} on {chunks} using gin (search_vector);
create index if not exists {generation} on {chunks} using gin (generation);
