-- What each publication replaced, so that an earlier one can be made current again without computing anything.

-- content_version: what was published, whatever model and code made the rows; a rollback holds it back by this name.
-- rolled_back_to: the publication whose state this one brought back. held: contents that are not published while this
-- publication is current. is_kept: its state can still be brought back. diff: the documents it changed, bounded.
alter table publications
    add column content_version text,
    add column rolled_back_to bigint references publications,
    add column held text[] not null default '{}',
    add column is_kept boolean not null default true,
    add column diff jsonb not null default '{}';
-- Of what was replaced until now nothing was kept.
update publications set content_version = input_version, is_kept = is_current;
alter table publications alter column content_version set not null;
create index on publications (kind, instance);

-- The documents a publication replaced or removed; without a raw key: the document was not there before.
create table documents_history (
    space_id integer not null references embedding_spaces,
    kind text not null,
    instance text not null,
    doc_key text not null,
    valid_until bigint not null,
    raw_key text,
    raw_sha256 text,
    last_updated timestamptz,
    primary key (space_id, kind, instance, doc_key, valid_until)
);
create index on documents_history (space_id, kind, instance, valid_until);

-- The chunks that were new in a publication: going back before it removes them. The first publication of an instance in a
-- space lists none, there is nothing before it.
create table chunk_arrivals (
    space_id integer not null references embedding_spaces,
    kind text not null,
    instance text not null,
    publication_id bigint not null,
    id text not null,
    primary key (space_id, kind, instance, publication_id, id)
);

-- Makes the table of the rows of a space that publications replaced or deleted (as they were, and the publication that ended
-- them), or gives it the columns that the chunks got since. Called when the chunks table is made and when it is altered.
create function add_history(space integer) returns void
language plpgsql as $$
declare
    chunks constant text := 'chunks_' || space;
    history constant text := 'chunks_' || space || '_history';
    added record;
begin
    if to_regclass(history) is null then
        execute format('create table %I (id text not null, valid_until bigint not null, primary key (id, valid_until))', history);
    end if;
    for added in
        select attname, format_type(atttypid, atttypmod) as type
        from pg_attribute
        where attrelid = chunks::regclass and attnum > 0 and not attisdropped
            and attname not in (select attname from pg_attribute where attrelid = history::regclass)
        order by attnum
    loop
        execute format('alter table %I add column %I %s', history, added.attname, added.type);
    end loop;
    execute format('create index if not exists %I on %I (kind, instance, valid_until)', history || '_instance', history);
end
$$;

select add_history(id) from embedding_spaces where state <> 'registered';

-- Takes all that stands in a space out of the database: its tables, which end in its number, and what refers to it, except the
-- records of its publications. The space stays registered and may be filled again.
create function drop_space(space integer) returns void
language plpgsql as $$
declare
    owned record;
begin
    perform from embedding_spaces where id = space and state in ('retired', 'filling') for update;
    if not found then
        raise exception 'the embedding space % is served or has no chunks', space;
    end if;
    for owned in
        select oid::regclass as name from pg_class
        where relkind = 'r' and relnamespace = current_schema()::regnamespace and relname ~ ('^[a-z]+_' || space || '(_history)?$')
    loop
        execute format('drop table %s', owned.name);
    end loop;
    for owned in
        select conrelid::regclass as name from pg_constraint
        where contype = 'f' and confrelid = 'embedding_spaces'::regclass and conrelid <> 'publications'::regclass
    loop
        execute format('delete from %s where space_id = %s', owned.name, space);
    end loop;
    update publications set is_current = false, is_kept = false where space_id = space and (is_current or is_kept);
    update embedding_spaces set state = 'registered' where id = space;
end
$$;

-- Where each served chunk comes from. Called when a space is first served.
create function show_provenance(space integer) returns void
language plpgsql as $$
begin
    execute format('create or replace view chunk_provenance as
        select
            chunk.id as chunk_id, chunk.kind, chunk.instance, chunk.doc_key, chunk.title, chunk.url as source_url,
            document.raw_key, document.raw_sha256,
            publication.code_versions ->> ''parser'' as parser_version,
            publication.code_versions ->> ''tagger'' as tagger_version,
            publication.code_versions ->> ''chunker'' as chunker_version,
            publication.code_versions ->> ''embedder'' as embedder_version,
            space.fingerprint as embedding_fingerprint,
            publication.id as publication_id, publication.run_id, publication.published_at,
            served.id as current_publication_id
        from chunks_%1$s as chunk
        join embedding_spaces as space on space.id = %1$s
        join publications as publication on publication.id = chunk.publication_id
        left join documents as document
            on document.space_id = %1$s and document.kind = chunk.kind and document.instance = chunk.instance
            and document.doc_key = chunk.doc_key
        left join publications as served
            on served.space_id = %1$s and served.kind = chunk.kind and served.instance = chunk.instance and served.is_current',
        space);
end
$$;

select show_provenance(id) from embedding_spaces where state = 'active';

-- Two group roles without a login: bbj_reader searches, bbj_writer publishes. They are made when the connection may make roles;
-- without them nothing is granted and everything else works. Called after migrations, and may be called again.
create function grant_roles() returns void
language plpgsql as $$
declare
    wanted text;
    space integer;
begin
    foreach wanted in array array['bbj_reader', 'bbj_writer'] loop
        if not exists (select from pg_roles where rolname = wanted) then
            begin
                execute format('create role %I nologin', wanted);
                if not (select rolsuper from pg_roles where rolname = current_user) then
                    execute format('grant %I to %I', wanted, current_user);
                end if;
            exception
                when insufficient_privilege then
                    raise notice 'the role % was not made: this connection may not make roles', wanted;
                    return;
                when duplicate_object or unique_violation then
                    null;  -- another database of this server was faster
            end;
        end if;
    end loop;
    execute format('grant usage on schema %I to bbj_reader, bbj_writer', current_schema());
    execute format('grant create on schema %I to bbj_writer', current_schema());
    execute format('grant select on all tables in schema %I to bbj_reader', current_schema());
    execute format('grant select, insert, update, delete, references on all tables in schema %I to bbj_writer', current_schema());
    revoke insert, update, delete on schema_migrations from bbj_writer;
    -- What this role makes from now on, the tables of later migrations among it.
    execute format('alter default privileges in schema %I grant select on tables to bbj_reader', current_schema());
    execute format(
        'alter default privileges in schema %I grant select, insert, update, delete, references on tables to bbj_writer',
        current_schema()
    );
    for space in select id from embedding_spaces where state <> 'registered' loop
        perform share_space(space);
    end loop;
exception
    when insufficient_privilege then  -- tables of another owner
        raise notice 'not everything was granted to bbj_reader and bbj_writer: %', sqlerrm;
end
$$;

-- Gives the tables of a space and the served views to the writers, any of whom may then replace them, and shows them to readers.
create function share_space(space integer) returns void
language plpgsql as $$
declare
    made record;
begin
    if (select count(*) from pg_roles where rolname in ('bbj_reader', 'bbj_writer')) < 2 then
        return;
    end if;
    for made in
        select oid::regclass as name, pg_get_userbyid(relowner) as owner
        from pg_class
        where relnamespace = current_schema()::regnamespace and relkind in ('r', 'v')
            and (relname ~ ('^[a-z]+_' || space || '(_history)?$') or relname in ('doc_chunks', 'chunk_provenance'))
            and pg_has_role(current_user, relowner, 'usage')
    loop
        execute format('grant select on %s to bbj_reader', made.name);
        execute format('grant select, insert, update, delete, references on %s to bbj_writer', made.name);
        -- An owner who is no member would lose what it made.
        if made.owner <> 'bbj_writer' and pg_has_role(made.owner, 'bbj_writer', 'member')
            and pg_has_role(current_user, 'bbj_writer', 'member') then
            execute format('alter table %s owner to bbj_writer', made.name);
        end if;
    end loop;
end
$$;
