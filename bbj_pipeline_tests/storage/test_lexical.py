"""The lexical index: true after every kind of write, and no more work than what changed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from psycopg import sql

from bbj_pipeline.records import InstanceRef
from bbj_pipeline.stages.terms import terms
from bbj_pipeline.storage.database import Connection, Database
from bbj_pipeline.storage.lexical import find_terms, near_terms
from bbj_pipeline.storage.publications import drop_instance
from bbj_pipeline.storage.publishing import PublishRow
from bbj_pipeline.storage.queries import template
from bbj_pipeline.storage.spaces import active_space, register_space
from bbj_pipeline_tests.storage.chunk_factory import REF, chunk, documents, put, unit

OTHER = InstanceRef("mdx", "other")


def _index(connection: Connection) -> dict[str, Any]:
    """The whole index as the database holds it, in words instead of numbers."""
    postings = connection.execute(
        "select term.term, chunk.id, posting.tf, posting.length from postings_1 as posting"
        " join terms_1 as term on term.id = posting.term join chunks_1 as chunk on chunk.number = posting.chunk"
    ).fetchall()
    counted = connection.execute("select count(*) from postings_1").fetchone()
    frequencies = connection.execute("select term, df from terms_1 where df <> 0").fetchall()
    facets = connection.execute("select kind, instance, generation, chunks, terms from facets where chunks <> 0 or terms <> 0")
    return {
        "postings": {(term, identity): (tf, length) for term, identity, tf, length in postings},
        "rows": counted,
        "frequencies": dict(frequencies),
        "facets": Counter({(kind, instance, tuple(labels)): (n, int(length)) for kind, instance, labels, n, length in facets}),
    }


def _expected(connection: Connection) -> dict[str, Any]:
    """The same, counted anew from the texts of the chunks."""
    rows = connection.execute(
        "select id, kind, instance, generation, title, contextual_header, content from chunks_1"
    ).fetchall()
    postings, frequencies, facets = {}, Counter[str](), Counter[Any]()
    totals: Counter[Any] = Counter()
    for identity, kind, instance, labels, *texts in rows:
        counts = Counter(terms("\n".join(texts)))
        postings |= {(term, identity): (tf, counts.total()) for term, tf in counts.items()}
        frequencies.update(counts.keys())
        facets[kind, instance, tuple(labels)] += 1
        totals[kind, instance, tuple(labels)] += counts.total()
    return {
        "postings": postings,
        "rows": (len(postings),),
        "frequencies": dict(frequencies),
        "facets": {key: (n, totals[key]) for key, n in facets.items()},
    }


def _assert_true(database: Database) -> None:
    with database.connection() as connection:
        assert _index(connection) == _expected(connection)


def test_the_index_is_true_after_every_publication(database: Database) -> None:
    """Inserted, edited, relabelled and deleted chunks of two instances: postings, frequencies, lengths are as counted anew."""
    put(database, documents(5, word="Window opens"), "1")
    put(database, documents(3, word="BBjSysGui.addWindow()"), "1", ref=OTHER)
    _assert_true(database)
    rows = documents(6, word="Window opens")
    rows[1] = PublishRow(chunk("d000.md", 1, "PROCESS_EVENTS waits for windows"), rows[1].vector)
    rows[2] = PublishRow(chunk("d001.md", 0, rows[2].chunk.content, generations=("vpro5",)), rows[2].vector)
    del rows[6:8]
    put(database, rows, "2")
    _assert_true(database)
    drop_instance(database, OTHER)
    _assert_true(database)
    drop_instance(database, REF)
    with database.connection() as connection:
        assert connection.execute("select count(*) from postings_1").fetchone() == (0,)


def test_the_index_follows_rows_that_are_moved_by_hand(database: Database) -> None:
    """Rows taken to another table and brought back by SQL alone, as a rollback does, leave and enter the index with it."""
    put(database, documents(4), "1")
    with database.connection() as connection:
        before = _index(connection)
        connection.execute("create table kept (like chunks_1)")
        connection.execute(
            "with moved as (delete from chunks_1 where doc_key > 'd001' returning *) insert into kept select * from moved"
        )
        assert _index(connection) == _expected(connection)
        connection.execute("insert into chunks_1 select * from kept")
        assert _index(connection) == before


def test_a_failed_publication_leaves_the_index(database: Database) -> None:
    """The index is part of the transaction: what is not published is not in it."""
    put(database, documents(3), "1")
    with database.connection() as connection:
        before = _index(connection)
    broken = [*documents(4, word="other")[:-1], PublishRow(chunk("z.md"), np.zeros(8, np.float32))]
    with pytest.raises(Exception, match="not 8 finite numbers"):
        put(database, broken, "2")
    with database.connection() as connection:
        assert _index(connection) == before


def test_only_postings_of_changed_chunks_are_written(database: Database) -> None:
    """One edited chunk among many leaves the postings of all others untouched."""
    rows = documents(100)
    put(database, rows, "1")
    read = "select term, chunk, xmin::text from postings_1"
    with database.connection() as connection:
        before = set(connection.execute(read).fetchall())
        rows[7] = PublishRow(chunk("d003.md", 1, "quite another text"), rows[7].vector)
        put(database, rows, "2")
        after = set(connection.execute(read).fetchall())
    assert len({number for _, number, _ in before ^ after}) == 1
    assert len(after & before) > 0.98 * len(before)


def test_a_chunks_table_from_before_gets_an_index(database: Database) -> None:
    """The migration gives rows that were published without terms a facet, so that filters find them at once."""
    with database.connection() as connection:
        space = register_space(connection, "old:8", 8)
        connection.execute(template("chunks_table", chunks=space.chunks, dimension=sql.Literal(8), storage=sql.SQL("plain")))
        connection.execute(
            "insert into publications"
            " (space_id, kind, instance, run_id, input_version, content_version, counts, code_versions, complete)"
            " values (%s, 'mdx', 'docs', 'r', '1', '1', '{}', '{}', true)", (space.id,)
        )  # fmt: skip
        connection.execute(
            "insert into chunks_1 (id, kind, instance, doc_key, ordinal, section_ordinal, title, heading_path,"
            " contextual_header, content, generation, doc_type, embedding, search_vector, tokens, overlap, supersedes,"
            " superseded_by, keywords, metadata, text_hash, row_hash, publication_id, since_version, still_valid) values"
            " ('a', 'mdx', 'docs', 'a.md', 0, 0, 't', '{}', 'h', 'c', '{dwc}', 'concept', %s, '', 3, 0, '{}', '{}', '{}', '{}',"
            " 'x', '', 1, '19.10', false)", (unit(1),)
        )  # fmt: skip
        connection.execute("select add_lexical_index(%s)", (space.id,))
        row = connection.execute(
            "select kind, instance, generation, doc_type, since, deprecated, chunks, terms from facets"
        ).fetchone()
    assert row == ("mdx", "docs", ["dwc"], "concept", 1910, True, 1, 0)


@pytest.mark.parametrize(
    ("version", "number"),
    [
        ("19.10", 1910),
        ("7", 700),
        ("7.0", 700),
        ("6.00", 600),
        ("BBj 12.01 and later", 1201),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_versions_become_comparable_numbers(database: Database, version: str | None, number: int | None) -> None:
    """However a document writes the version it came with, the first number in it counts."""
    with database.connection() as connection:
        assert connection.execute("select version_number(%s)", (version,)).fetchone() == (number,)


def test_near_terms_contain_every_term_within_the_distance(database: Database) -> None:
    """No term one or two edits away is missed, wherever the edits are; wild cards in a word are letters."""
    names = ["addWindow", "adWindow", "addWindows", "xaddWindow", "addWidnow", "process_events", "processXevents"]
    put(database, [PublishRow(chunk(f"{n}.md", content=name), unit(1)) for n, name in enumerate(names)], "1")
    with database.connection() as connection:
        space = active_space(connection)
        assert space is not None
        near = {term.text for term in near_terms(connection, space, "addwindow", 2)}
        assert near >= {"addwindow", "adwindow", "addwindows", "xaddwindow", "addwidnow"}
        assert {term.text for term in near_terms(connection, space, "%%%%%%%%%", 2)} == set()
        assert [(term.text, term.df) for term in find_terms(connection, space, ["process_events", "nowhere"])] == [
            ("process_events", 1)
        ]
