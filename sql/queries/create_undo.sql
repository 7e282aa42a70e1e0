-- The state of each chunk and document at the publication gone back to, where it is not the present one.
create temporary table undo (id text primary key, step bigint not null, existed boolean not null) on commit drop;
create temporary table undo_documents (
    doc_key text primary key,
    raw_key text,
    raw_sha256 text,
    last_updated timestamptz
) on commit drop;
