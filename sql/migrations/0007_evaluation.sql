-- What each evaluation of the judged queries found, and of which state of the corpus and the search it spoke.

-- judged: digest of the judged queries. state: hash of all that a result depends on; equal states have equal results.
-- publications: publication id by kind/instance. regressed: worse than the baseline, and not accepted by an operator; such a
-- run is no baseline for later ones.
create table evaluation_runs (
    id bigint generated always as identity primary key,
    run_id text not null,
    evaluated_at timestamptz not null default now(),
    judged text not null,
    judged_name text not null,
    state text not null,
    space_id integer not null references embedding_spaces,
    publications jsonb not null,
    config jsonb not null,
    report text not null,
    compared_with bigint references evaluation_runs,
    regressed boolean not null
);
create index on evaluation_runs (judged, id desc);

create table evaluation_results (
    evaluation_id bigint not null references evaluation_runs on delete cascade,
    query_id text not null,
    scores jsonb,
    documents text[] not null,
    confidence double precision not null,
    primary key (evaluation_id, query_id)
);
comment on column evaluation_results.scores is 'metrics by name; null for a query that has no answer in the corpus';
