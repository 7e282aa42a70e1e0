-- The lexical index of each embedding space: its terms, and where each stands. Triggers on the chunks keep it, so that it is true
-- whoever writes them: a publication, a rollback, a person. Facets are the distinct combinations of what search filters by;
-- a filter is then a short list of numbers, counted without a look at the chunks.

-- '19.10' is 1910, '7' is 700: comparable. Null when there is no number in it.
create function version_number(version text) returns integer
language sql immutable parallel safe
return (
    select part[1]::integer * 100 + rpad(left(coalesce(part[2], ''), 2), 2, '0')::integer
    from regexp_match(version, '(\d{1,4})(?:\.(\d+))?') as part
);

-- chunks and terms are the numbers of what carries the facet: over a space they are N and the sum of lengths of BM25.
create table facets (
    id integer generated always as identity primary key,
    space_id integer not null references embedding_spaces,
    kind text not null,
    instance text not null,
    generation text[] not null,
    doc_type text not null,
    since integer,
    deprecated boolean not null,
    chunks integer not null default 0,
    terms bigint not null default 0,
    unique nulls not distinct (space_id, kind, instance, generation, doc_type, deprecated, since)
) with (fillfactor = 70);
drop table chunk_counts;

create function set_chunk_facet() returns trigger
language plpgsql as $$
declare
    space constant integer := tg_argv[0];
    introduced constant integer := version_number(new.since_version);
    outdated constant boolean := new.deprecated_in is not null or new.still_valid is false;
begin
    for attempt in 1..2 loop
        select id into new.facet
        from facets
        where space_id = space and kind = new.kind and instance = new.instance and generation = new.generation
            and doc_type = new.doc_type and deprecated = outdated and since is not distinct from introduced;
        exit when found;
        insert into facets (space_id, kind, instance, generation, doc_type, since, deprecated)
        values (space, new.kind, new.instance, new.generation, new.doc_type, introduced, outdated)
        on conflict do nothing;
    end loop;
    return new;
end
$$;

-- Writers of one space take turns from here to their commit: two that count the same terms in another order would deadlock.
create function maintain_postings() returns trigger
language plpgsql as $$
declare
    space constant text := tg_argv[0];
    changed constant text := 'gone join came using (number)
        where (gone.terms, gone.tfs, gone.facet) is distinct from (came.terms, came.tfs, came.facet)';
    old_rows text := 'select number, facet, terms, tfs from gone';
    new_rows text := 'select number, facet, terms, tfs from came';
begin
    if tg_op = 'UPDATE' then
        old_rows := 'select number, gone.facet, gone.terms, gone.tfs from ' || changed;
        new_rows := 'select number, came.facet, came.terms, came.tfs from ' || changed;
    end if;
    perform pg_advisory_xact_lock(hashtextextended('bbj_pipeline postings ' || space, 0));

    if tg_op in ('UPDATE', 'DELETE') then
        execute format(
            'with lost as materialized (
                select chunk.number, known.id as term
                from (%s) as chunk cross join unnest(chunk.terms) as word join %I as known on known.term = word
            ), removed as (
                delete from %I as posting using lost where posting.term = lost.term and posting.chunk = lost.number
            )
            update %I as known set df = known.df - counted.df
            from (select term, count(*) as df from lost group by term) as counted
            where known.id = counted.term',
            old_rows, 'terms_' || space, 'postings_' || space, 'terms_' || space
        );
        execute format(
            'update facets set chunks = facets.chunks - lost.chunks, terms = facets.terms - lost.terms
            from (
                select facet, count(*) as chunks, sum((select coalesce(sum(tf), 0) from unnest(tfs) as tf)) as terms
                from (%s) as chunk group by facet
            ) as lost
            where facets.id = lost.facet',
            old_rows
        );
    end if;

    if tg_op in ('UPDATE', 'INSERT') then
        execute format(
            'insert into %I (term)
            select distinct word from (%s) as chunk cross join unnest(chunk.terms) as word
            where not exists (select from %I as known where known.term = word)',
            'terms_' || space, new_rows, 'terms_' || space
        );
        -- Materialized, or the length would be added up anew for each posting.
        execute format(
            'with chunk as materialized (
                select *, (select sum(tf) from unnest(tfs) as tf) as length from (%s) as row
            )
            insert into %I (term, chunk, facet, tf, length)
            select known.id, chunk.number, chunk.facet, listed.tf, chunk.length
            from chunk
            cross join unnest(chunk.terms, chunk.tfs) as listed (word, tf)
            join %I as known on known.term = listed.word
            order by known.id, chunk.number',
            new_rows, 'postings_' || space, 'terms_' || space
        );
        execute format(
            'update %I as known set df = known.df + counted.df
            from (
                select word, count(*) as df from (%s) as chunk cross join unnest(chunk.terms) as word group by word
            ) as counted
            where known.term = counted.word',
            'terms_' || space, new_rows
        );
        execute format(
            'update facets set chunks = facets.chunks + found.chunks, terms = facets.terms + found.terms
            from (
                select facet, count(*) as chunks, sum((select coalesce(sum(tf), 0) from unnest(tfs) as tf)) as terms
                from (%s) as chunk group by facet
            ) as found
            where facets.id = found.facet',
            new_rows
        );
    end if;
    return null;
end
$$;

-- Called once for each space, when its chunks table is made. terms and tfs of a chunk are parallel: a term and how often it stands
-- there; postings can be made from them alone. A posting repeats the chunk's length and facet, so that scoring reads nothing else.
create function add_lexical_index(space integer) returns void
language plpgsql as $$
declare
    chunks constant text := 'chunks_' || space;
begin
    execute format('create table %I (
        id integer generated always as identity primary key,
        term text collate "C" not null unique,
        df integer not null default 0
    ) with (fillfactor = 70)', 'terms_' || space);
    execute format('create table %I (
        term integer not null,
        chunk integer not null,
        facet integer not null,
        tf smallint not null,
        length smallint not null,
        primary key (term, chunk) include (facet, tf, length)
    )', 'postings_' || space);
    execute format('alter table %I
        add column number integer generated by default as identity,
        add column facet integer,
        add column terms text[] not null default array[]::text[],
        add column tfs smallint[] not null default array[]::smallint[]', chunks);
    execute format('create trigger set_chunk_facet before insert or update on %I
        for each row execute function set_chunk_facet(%L)', chunks, space);
    execute format('create trigger postings_insert after insert on %I referencing new table as came
        for each statement execute function maintain_postings(%L)', chunks, space);
    execute format('create trigger postings_update after update on %I referencing old table as gone new table as came
        for each statement execute function maintain_postings(%L)', chunks, space);
    execute format('create trigger postings_delete after delete on %I referencing old table as gone
        for each statement execute function maintain_postings(%L)', chunks, space);
    execute format('update %I set facet = null', chunks);  -- rows from before this migration: the triggers fill it in
    execute format('alter table %I alter column facet set not null', chunks);
    execute format('create unique index on %I (number)', chunks);
    execute format('create index on %I (facet)', chunks);
end
$$;

select add_lexical_index(id) from embedding_spaces where state <> 'registered';

-- The history of a space has its chunks' columns, so it follows each migration that adds one.
select add_history(id) from embedding_spaces where state <> 'registered';
