-- The chunks of one embedding space. An empty generation array means unknown.
create table {chunks} (
    id text primary key,
    kind text not null,
    instance text not null,
    doc_key text not null,
    ordinal integer not null,
    section_ordinal integer not null,
    title text not null,
    heading_path text[] not null,
    contextual_header text not null,
    content text not null,
    generation text[] not null check (generation <@ array['all', 'character', 'vpro5', 'bbj-gui', 'dwc']),
    doc_type text not null,
    embedding vector({dimension}) not null,
    search_vector tsvector not null,
    url text,
    anchor text,
    page integer,
    tokens integer not null,
    overlap integer not null,
    since_version text,
    deprecated_in text,
    still_valid boolean,
    supersedes text[] not null,
    superseded_by text[] not null,
    migration_note text,
    keywords text[] not null,
    metadata jsonb not null,
    text_hash text not null,
    row_hash bytea not null,
    publication_id bigint not null references publications
);
-- A vector beside its row is read without a detour through TOAST: exact search of a filtered set is several times faster.
alter table {chunks} alter column embedding set storage {storage};
create index on {chunks} (kind, instance, doc_key, ordinal);
