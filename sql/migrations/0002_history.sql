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
