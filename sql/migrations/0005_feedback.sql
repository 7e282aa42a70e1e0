-- What readers say of answers, and, where the operator lets questions be kept, the questions without a good answer. Both are
-- written through functions that run as their owner: who may only read the corpus can still say that an answer did not help.

create table feedback (
    id bigint generated always as identity primary key,
    created_at timestamptz not null default now(),
    query text not null,
    words text not null,
    generation text,
    chunk_id text,
    kind text,
    instance text,
    doc_key text,
    useful boolean not null,
    comment text
);
create index on feedback (created_at);

-- One row a question, whatever its wording: a question asked a thousand times is one row.
create table question_gaps (
    words_hash bytea not null,
    words text not null,
    generation text,
    query text not null,
    hits integer not null,
    strength real,
    asked integer not null default 1,
    first_asked timestamptz not null default now(),
    last_asked timestamptz not null default now(),
    unique nulls not distinct (words_hash, generation)
);
create index on question_gaps (last_asked);

-- The words of a question as text search sees them: stemmed, without stop words, in order. Of a question of stop words alone,
-- the question.
create function question_words(question text) returns text language sql immutable
    set search_path from current
    return coalesce((select string_agg(lexeme, ' ' order by lexeme) from unnest(to_tsvector('english', question))), lower(question));

-- Returns the number of the new row, or null when the chunk is not served.
create function add_feedback(question text, wanted text, chunk text, was_useful boolean, remark text) returns bigint
    language plpgsql security definer set search_path from current
as $$
declare
    served record;
    made bigint;
begin
    if chunk is null then
        insert into feedback (query, words, generation, useful, comment)
        values (question, question_words(question), wanted, was_useful, remark)
        returning id into made;
        return made;
    end if;
    insert into feedback (query, words, generation, chunk_id, kind, instance, doc_key, useful, comment)
    select question, question_words(question), wanted, doc_chunks.id, doc_chunks.kind, doc_chunks.instance, doc_chunks.doc_key,
        was_useful, remark
    from doc_chunks
    where doc_chunks.id = chunk
    returning id into made;
    return made;
end
$$;

create function add_question_gap(question text, wanted text, found integer, how_strong real) returns void
    language sql security definer set search_path from current
as $$
    insert into question_gaps as gap (words_hash, words, generation, query, hits, strength)
    select sha256(convert_to(question_words(question), 'UTF8')), question_words(question), wanted, question, found, how_strong
    on conflict (words_hash, generation) do update
    set query = excluded.query, hits = excluded.hits, strength = excluded.strength, asked = gap.asked + 1, last_asked = now()
$$;

-- A document's chunks in order, for a reader who opens the ones around a hit.
do $$
declare
    space record;
begin
    for space in select id from embedding_spaces where state <> 'registered' loop
        execute format('create index on %I (kind, instance, doc_key, ordinal)', 'chunks_' || space.id);
        execute format('drop index if exists %I', 'chunks_' || space.id || '_kind_instance_idx');
    end loop;
end
$$;
