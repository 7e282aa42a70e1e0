-- Refreshes asked for from outside, by a signed request to the REST service; a sensor turns them into runs.

-- delivery_id: what makes a request the same when it is sent again. run_key: set when a run was requested for it; several
-- requests of one instance share a run. done_at: when that run was seen.
create table refresh_requests (
    id bigint generated always as identity primary key,
    delivery_id text not null unique,
    kind text not null,
    instance text not null,
    reason text not null,
    requested_at timestamptz not null default now(),
    run_key text,
    run_id text,
    done_at timestamptz
);
create index refresh_requests_open on refresh_requests (id) where done_at is null;
