-- The chunks this transaction changes: inserted, updated or deleted.
create temporary table touched (id text primary key, doc_key text not null, change text not null) on commit drop
