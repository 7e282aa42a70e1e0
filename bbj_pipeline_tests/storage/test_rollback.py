"""Rollback: an earlier publication comes back row for row, what was rolled away stays away, and going back can be undone."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from bbj_pipeline.errors import RejectedInput
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.storage.database import Connection, Database
from bbj_pipeline.storage.migrations import migrate
from bbj_pipeline.storage.publications import drop_instance, status
from bbj_pipeline.storage.publishing import PublishRow, publish
from bbj_pipeline.storage.queries import migration_files
from bbj_pipeline.storage.rollback import kept_publications, lift_hold, rollback
from bbj_pipeline_tests.storage.chunk_factory import REF, chunk, documents, put, served

OTHER = InstanceRef("mdx", "other")
# The number by which an index knows a row is no part of its content.
_STATE = (
    "select (to_jsonb(c) - 'number')::text from chunks_1 as c where instance = %(instance)s"
    " union all select d::text from documents as d where instance = %(instance)s"
    " union all select n::text from facets as n where chunks > 0 and instance = %(instance)s order by 1"
)


def state(database: Database, ref: InstanceRef = REF) -> str:
    """A hash over every column of every chunk, document and count of an instance."""
    with database.connection() as connection:
        rows = connection.execute(_STATE, {"instance": ref.instance}).fetchall()
    return hashlib.sha256("\n".join(text for (text,) in rows).encode()).hexdigest()


def edited(rows: Sequence[PublishRow]) -> list[PublishRow]:
    """Six documents become: d000 edited, d001 one chunk shorter, d002 gone, a new one; the vectors of the edits differ."""
    kept = [row for row in rows if row.chunk.key != "d002.md" and (row.chunk.key, row.chunk.ordinal) != ("d001.md", 1)]
    kept[0] = PublishRow(
        chunk("d000.md", 0, "Edited: addWindow()", raw_sha256="1" * 64, generations=("vpro5",)), -kept[0].vector
    )
    return [*kept, PublishRow(chunk("new.md", 0, "brand new"), rows[0].vector)]


def test_an_earlier_publication_comes_back_row_for_row(database: Database) -> None:
    """After a rollback every column of every row (vectors, search vectors, writers) is as it was; rolling forward, too."""
    rows = documents(6)
    first = put(database, rows, "1", run_id="run-1")
    before = state(database)
    second = put(database, edited(rows), "2", run_id="run-2")
    after = state(database)
    result = rollback(database, REF, run_id="run-3")
    assert (result.rolled_back_to, result.rolled_back_from) == (first.publication_id, second.publication_id)
    assert (result.inserted, result.updated, result.deleted, result.chunks) == (3, 1, 1, 12)
    assert state(database) == before
    (current,) = status(database)
    assert (current.publication_id, current.run_id) == (result.publication_id, "run-3")
    assert (current.rolled_back_to, current.held, current.counts["chunks"]) == (first.publication_id, 1, 12)
    rollback(database, REF, to=second.publication_id, run_id="run-4")
    assert state(database) == after


def test_the_words_and_neighbours_found_are_the_earlier_ones(database: Database) -> None:
    """The text and the vector index follow a rollback in the same transaction."""
    rows = documents(6)
    put(database, rows, "1")
    put(database, edited(rows), "2")
    words = "select doc_key from doc_chunks where search_vector @@ to_tsquery('english', 'addwindow')"
    nearest = "set local enable_sort = off; select doc_key from doc_chunks order by embedding <=> '{}'::vector limit 1"

    def found(statement: str) -> list[str]:
        with database.connection() as connection, connection.transaction():
            cursor = connection.execute(statement)
            while cursor.nextset():
                pass
            return [key for (key,) in cursor.fetchall()]

    opposite = nearest.format(list(map(float, -rows[0].vector)))
    assert found(words) == found(opposite) == ["d000.md"]
    rollback(database, REF, run_id="r")
    assert found(words) == []
    assert found(nearest.format(list(map(float, rows[0].vector)))) == ["d000.md"]


def test_what_was_rolled_away_is_held_until_something_new_comes(database: Database) -> None:
    """The same input publishes nothing after a rollback; other content does, and then the first may come back."""
    first = put(database, documents(2), "1")
    put(database, documents(2, word="bad"), "2")
    back = rollback(database, REF, run_id="r")
    before = served(database)
    held = put(database, documents(2, word="bad"), "2")
    assert (held.status, held.publication_id, held.rolled_back_to) == ("held", back.publication_id, first.publication_id)
    assert served(database) == before
    assert put(database, documents(2), "1").status == "unchanged"
    assert put(database, documents(2, word="mended"), "3").status == "published"
    assert put(database, documents(2, word="bad"), "2").status == "published"


def test_lifting_the_hold_publishes_again(database: Database) -> None:
    """An operator who lifts the hold gets the rolled-away content with the next run; there is nothing to lift twice."""
    put(database, documents(2), "1")
    put(database, documents(2, word="second"), "2")
    rollback(database, REF, run_id="r")
    assert lift_hold(database, REF)
    assert not lift_hold(database, REF)
    assert put(database, documents(2, word="second"), "2").status == "published"


class _LosesTheAnswer(Database):
    """A database whose connection is lost after the commit, so that all work is done again."""

    def retried(self, work: Callable[[Connection], Any]) -> Any:
        with self.connection() as connection:
            work(connection)
        with self.connection() as connection:
            return work(connection)


def test_a_rollback_whose_commit_was_not_heard_of_goes_back_once(database: Database) -> None:
    """Repeated after a lost answer, a rollback finds its own commit instead of going one publication further back."""
    ids = [put(database, documents(2, word=version), version).publication_id for version in ("1", "2", "3")]
    with _LosesTheAnswer(database.url) as unlucky:
        result = rollback(unlucky, REF, run_id="r")
    assert (result.rolled_back_to, result.rolled_back_from, result.updated) == (ids[1], ids[2], 4)
    assert {content.split()[0] for _, _, content in served(database)} == {"2"}


def test_going_back_twice_goes_further_back(database: Database) -> None:
    """The one before a rolled-back state is the one before it, not the state that was rolled away; both contents are held."""
    for version in ("1", "2", "3"):
        put(database, documents(2, word=version), version)
    rollback(database, REF, run_id="r")
    assert {content.split()[0] for _, _, content in served(database)} == {"2"}
    result = rollback(database, REF, run_id="r")
    assert {content.split()[0] for _, _, content in served(database)} == {"1"}
    assert [put(database, documents(2, word=version), version).status for version in ("3", "2", "1")] == [
        "held",
        "held",
        "unchanged",
    ]
    with pytest.raises(RejectedInput, match=f"no publication of mdx/docs before #{result.publication_id} is kept"):
        rollback(database, REF, run_id="r")


@given(
    versions=st.lists(
        st.dictionaries(st.integers(0, 6), st.tuples(st.integers(1, 3), st.sampled_from("abc")), min_size=1),
        min_size=2,
        max_size=6,
    ),
    data=st.data(),
)
@hypothesis_settings(max_examples=8)
def test_any_sequence_of_publications_and_rollbacks(postgres: Database, versions: list[dict], data: st.DataObject) -> None:
    """Whatever was published and rolled back in whatever order, each publication comes back exactly as it was."""
    name = "rollback_sequence"
    with postgres.direct_connection() as connection:
        connection.execute(f"drop database if exists {name} with (force)")
        connection.execute(f"create database {name} template migrated_template")
    with Database(postgres.database_uri_for(name)) as database:
        states: dict[int, str] = {}
        current = 0
        for number, version in enumerate(versions):
            rows = [
                PublishRow(chunk(f"d{key}.md", ordinal, f"{word} {ordinal}"), np.ones(8, np.float32))
                for key, (count, word) in sorted(version.items())
                for ordinal in range(count)
            ]
            current = put(database, rows, str(number), approve_deletions=True).publication_id
            states[current] = state(database)
            earlier = [publication for publication in states if publication != current]
            if earlier and data.draw(st.booleans()):
                target = data.draw(st.sampled_from(earlier))
                current = rollback(database, REF, to=target, run_id="r").publication_id
                assert state(database) == states[target]
                states[current] = states[target]
        for target in sorted(states, reverse=True):
            if target != current:
                current = rollback(database, REF, to=target, run_id="r").publication_id
                assert state(database) == states[target]


def test_readers_see_the_old_state_or_the_new_during_rollbacks(database: Database) -> None:
    """A reader never meets a mix while an instance is rolled back and forth."""
    ids = [put(database, documents(60, word=f"v{version}"), str(version)).publication_id for version in range(2)]
    seen: set[frozenset[str]] = set()
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            with database.connection() as connection:
                rows = connection.execute("select distinct split_part(content, ' ', 1) from doc_chunks").fetchall()
            seen.add(frozenset(word for (word,) in rows))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for target in (ids[0], ids[1], ids[0], ids[1]):
            rollback(database, REF, to=target, run_id="r")
    finally:
        stop.set()
        reader.join()
    assert seen <= {frozenset({"v0"}), frozenset({"v1"})}


def test_what_is_kept_is_what_was_changed(database: Database) -> None:
    """The first publication keeps nothing; a change keeps the rows it replaced and names the ids it added, and no other."""

    def kept() -> tuple[int, ...]:
        with database.connection() as connection:
            counts = (
                connection.execute(f"select count(*) from {table}").fetchone()
                for table in ("chunks_1_history", "chunk_arrivals", "documents_history")
            )
            return tuple(row[0] for row in counts if row)

    rows = documents(100)
    put(database, rows, "1")
    assert kept() == (0, 0, 0)
    put(database, rows, "2")
    assert kept() == (0, 0, 0)
    rows[7] = PublishRow(chunk("d003.md", 1, "edited"), rows[7].vector)
    put(database, [*rows, PublishRow(chunk("new.md"), rows[0].vector)], "3")
    assert kept() == (1, 1, 1)


def test_another_instance_is_left_alone(database: Database) -> None:
    """Rolling one instance back changes no row of another."""
    put(database, documents(3), "1")
    put(database, documents(3), "1", ref=OTHER)
    put(database, documents(3, word="new"), "2")
    put(database, documents(3, word="new"), "2", ref=OTHER)
    before = state(database, OTHER)
    rollback(database, REF, run_id="r")
    assert state(database, OTHER) == before
    assert put(database, documents(3, word="new"), "2", ref=OTHER).status == "unchanged"


def test_impossible_targets_are_refused_by_name(database: Database) -> None:
    """Unknown, current, foreign and never-served targets are each refused with what to do, and nothing changes."""
    with pytest.raises(RejectedInput, match="nothing is published yet"):
        rollback(database, REF, run_id="r")
    first = put(database, documents(2), "1").publication_id
    foreign = put(database, documents(2), "1", ref=OTHER).publication_id
    current = put(database, documents(2, word="new"), "2").publication_id
    before = state(database)
    for target, said in ((999, "has no publication #999"), (foreign, f"no publication #{foreign}"), (current, "is served")):
        with pytest.raises(RejectedInput, match=said):
            rollback(database, REF, to=target, run_id="r")
    with pytest.raises(RejectedInput, match="mdx/never is not served"):
        rollback(database, InstanceRef("mdx", "never"), run_id="r")
    assert state(database) == before
    assert [kept.publication_id for kept in kept_publications(database, REF)] == [current, first]


def test_a_dropped_instance_has_no_past(database: Database) -> None:
    """What is kept of an instance goes with it; published again, its history begins anew."""
    put(database, documents(2), "1")
    put(database, documents(2, word="new"), "2")
    drop_instance(database, REF)
    with database.connection() as connection:
        for table in ("chunks_1_history", "documents_history", "chunk_arrivals"):
            assert connection.execute(f"select count(*) from {table}").fetchone() == (0,)
    again = put(database, documents(2), "1").publication_id
    assert [kept.publication_id for kept in kept_publications(database, REF)] == [again]


def test_the_content_rolled_away_is_held_for_another_model_too(database: Database) -> None:
    """A new embedding space is not filled with rolled-away content, and not switched to when it already was."""

    def other_model(word: str, content: str, ref: InstanceRef = REF) -> str:
        rows = [PublishRow(row.chunk, np.concatenate([row.vector, row.vector])) for row in documents(2, word=word)]
        return publish(
            database,
            ref,
            rows=lambda: iter(rows),
            fingerprint="wide:16",
            dimension=16,
            input_version=f"wide {content}",
            content_version=content,
            run_id="r",
            code_versions={},
        ).status

    for ref in (REF, OTHER):
        put(database, documents(2), "1", ref=ref)
    put(database, documents(2, word="bad"), "2")
    assert other_model("bad", "2") == "published"
    rollback(database, REF, run_id="r")
    assert other_model("text", "1", ref=OTHER) == "published"
    assert "bad" not in {content.split()[0] for _, _, content in served(database)}
    assert other_model("bad", "2") == "held"
    assert {row.space_state for row in status(database)} == {"active", "filling"}
    assert other_model("good", "3") == "published"
    assert {row.space_state for row in status(database)} == {"active"}


def test_history_has_every_column_of_the_chunks(database: Database) -> None:
    """A column added to one of the two tables and not to the other would be lost in a rollback."""
    put(database, documents(1), "1")
    columns = "select column_name, udt_name from information_schema.columns where table_name = %s order by 1"
    with database.connection() as connection:
        chunks = connection.execute(columns, ("chunks_1",)).fetchall()
        history = connection.execute(columns, ("chunks_1_history",)).fetchall()
    assert sorted([*chunks, ("valid_until", "int8")]) == history


def test_a_database_of_the_first_schema_can_be_rolled_back_after_migrating(empty_database: Database) -> None:
    """Spaces made before there was a history get one; what is current then is the earliest state that can come back."""
    first = migration_files()[0]
    with empty_database.direct_connection() as connection:
        connection.execute("create table schema_migrations (name text primary key, checksum text, applied_at timestamptz)")
        text = first.read_text(encoding="utf-8")
        connection.execute(text)
        checksum = hashlib.sha256(text.encode()).hexdigest()
        connection.execute("insert into schema_migrations values (%s, %s, now())", (first.stem, checksum))
        connection.execute(
            "insert into embedding_spaces (fingerprint, dimension, state) values ('test:8', 8, 'active');"
            "insert into publications (space_id, kind, instance, run_id, input_version, counts, code_versions, complete,"
            " is_current) select 1, 'mdx', 'docs', 'r', 'old', '{}', '{}', true, n = 2 from generate_series(1, 2) as n"
        )
        templates = first.parent.parent / "templates"
        for name in ("chunks_table", "doc_chunks_view"):
            statement = (templates / f"{name}.sql").read_text(encoding="utf-8")
            for placeholder, value in (("chunks", "chunks_1"), ("dimension", "8"), ("storage", "plain"), ("space_id", "1")):
                statement = statement.replace("{" + placeholder + "}", value)
            connection.execute(statement)
    migrate(empty_database)
    assert [kept.publication_id for kept in kept_publications(empty_database, REF)] == [2]
    put(empty_database, documents(2), "1")
    assert len(served(empty_database)) == 4
    result = rollback(empty_database, REF, to=2, run_id="r")
    assert (result.deleted, served(empty_database)) == (4, [])
