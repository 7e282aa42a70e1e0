-- The tables every embedding space shares. The chunks of a space stand in a table of their own, chunks_<space id>, made from
-- sql/templates/chunks_table.sql when the space is first published to; the view doc_chunks shows the active one.

create extension if not exists vector;

-- registered: vectors are cached, no chunks yet. filling: being published beside the active one. active: what search reads.
-- retired: was active; its chunks stay until they are pruned.
create table embedding_spaces (
    id integer generated always as identity primary key,
    fingerprint text not null unique,
    dimension integer not null check (dimension between 1 and 16000),
    state text not null default 'registered' check (state in ('registered', 'filling', 'active', 'retired')),
    created_at timestamptz not null default now(),
    activated_at timestamptz
);
create unique index embedding_spaces_one_active on embedding_spaces ((true)) where state = 'active';

-- embedding: little-endian float32, 4 bytes a dimension.
create table embedding_cache (
    space_id integer not null references embedding_spaces,
    text_hash bytea not null,
    embedding bytea not null,
    primary key (space_id, text_hash)
);
alter table embedding_cache alter column embedding set storage external;

create table publications (
    id bigint generated always as identity primary key,
    space_id integer not null references embedding_spaces,
    kind text not null,
    instance text not null,
    run_id text not null,
    published_at timestamptz not null default now(),
    input_version text not null,
    counts jsonb not null,
    code_versions jsonb not null,
    complete boolean not null,
    withheld integer not null default 0,
    is_current boolean not null default false
);
create unique index publications_current on publications (space_id, kind, instance) where is_current;

-- What is known of a document as a whole; kept out of the chunks so that a new file time does not rewrite every chunk.
create table documents (
    space_id integer not null references embedding_spaces,
    kind text not null,
    instance text not null,
    doc_key text not null,
    raw_key text not null,
    raw_sha256 text not null,
    last_updated timestamptz,
    primary key (space_id, kind, instance, doc_key)
);

-- Chunks by instance and generation set, kept exact by each publication: search counts its filter here, not in the chunks.
create table chunk_counts (
    space_id integer not null references embedding_spaces,
    kind text not null,
    instance text not null,
    generation text[] not null,
    chunks integer not null,
    primary key (space_id, kind, instance, generation)
);
