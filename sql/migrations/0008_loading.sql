-- Loading in fewer passes over what came, and vectors in the cache that know their age.

-- When the vector was computed; of those from before, when this column came.
alter table embedding_cache add column added_at timestamptz not null default now();

-- Writers of one space take turns from here to their commit: two that count the same terms in another order would deadlock.
create or replace function maintain_postings() returns trigger
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
        -- One count for both: the update does not see what the insert beside it adds.
        execute format(
            'with counted as materialized (
                select word, count(*) as df from (%s) as chunk cross join unnest(chunk.terms) as word group by word
            ), added as (
                insert into %I (term, df)
                select word, df from counted where not exists (select from %I as known where known.term = word)
            )
            update %I as known set df = known.df + counted.df from counted where known.term = counted.word',
            new_rows, 'terms_' || space, 'terms_' || space, 'terms_' || space
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
