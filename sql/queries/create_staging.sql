create temporary table staged (
    n bigint not null,
    id text not null,
    doc_key text not null,
    raw_key text not null,
    raw_sha256 text not null,
    last_updated timestamptz
) on commit drop;
