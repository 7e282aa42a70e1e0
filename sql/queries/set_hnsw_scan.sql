-- For this transaction: search on until the limit is filled, and prefer the index to sorting all rows.
select
    set_config('hnsw.ef_search', %(ef_search)s, true),
    set_config('hnsw.iterative_scan', 'relaxed_order', true),
    set_config('enable_sort', 'off', true)
