-- What is known across sources, written by the corpus reports and read by search. Documents are named by kind, instance and
-- key and chunks by id, which no embedding space changes. Each set is replaced in one transaction; empty sets harm nobody.

-- superseded_by leads from the older to the newer document, without cycles; supersedes is the same row read from its target.
create table document_links (
    kind text not null,
    instance text not null,
    doc_key text not null,
    relation text not null check (relation in ('superseded_by', 'related')),
    target_kind text not null,
    target_instance text not null,
    target_key text not null,
    origin text not null check (origin in ('curated', 'extracted')),
    note text not null,
    primary key (kind, instance, doc_key, relation, target_kind, target_instance, target_key)
);
create index on document_links (target_kind, target_instance, target_key);

-- How the documents of these links are called and where they are, so that a search needs no chunk of them.
create table linked_documents (
    kind text not null,
    instance text not null,
    doc_key text not null,
    title text not null,
    url text,
    primary key (kind, instance, doc_key)
);

-- Extracted links that are not in document_links, with the reason: dangling, ambiguous or cycle.
create table dropped_links (
    kind text not null,
    instance text not null,
    doc_key text not null,
    relation text not null,
    target text not null,
    reason text not null,
    detail text not null
);

-- A near-duplicate chunk and the chunk it is a copy of, which is of the preferred source and itself no copy.
create table duplicates (
    chunk_id text primary key,
    representative_id text not null,
    jaccard real not null
);
create index on duplicates (representative_id);

-- The same of whole documents. section is a path of headings, joined by ' > ', where a part of a manual is the copy.
create table duplicate_documents (
    kind text not null,
    instance text not null,
    doc_key text not null,
    section text not null,
    representative_kind text not null,
    representative_instance text not null,
    representative_key text not null,
    representative_section text not null,
    jaccard real not null,
    primary key (kind, instance, doc_key, section)
);

create table corpus_reports (
    name text primary key,
    markdown text not null,
    counts jsonb not null,
    run_id text not null,
    created_at timestamptz not null default now()
);
