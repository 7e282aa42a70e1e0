"""Publishing: what is counted, what readers see, what a failure leaves."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from bbj_pipeline.errors import ModelError, RejectedInput
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.publications import drop_instance, status
from bbj_pipeline.storage.publishing import PublishRow
from bbj_pipeline_tests.paths import ROOT
from bbj_pipeline_tests.storage.chunk_factory import DIMENSION, REF, chunk, documents, put, served, unit


def test_counts_are_those_of_the_difference(database: Database) -> None:
    """Inserted, updated, deleted and unchanged chunks are counted one by one, and add up to what is served."""
    first = put(database, documents(5), "1")
    assert (first.status, first.inserted, first.unchanged) == ("published", 10, 0)
    rows = documents(6)  # two new chunks
    rows[3] = PublishRow(chunk("d001.md", 1, "edited"), rows[3].vector)  # one changed
    del rows[8:10]  # document d004 is gone
    second = put(database, rows, "2")
    assert (second.inserted, second.updated, second.deleted, second.unchanged) == (2, 1, 2, 7)
    assert (second.documents_deleted, second.withheld) == (1, ())
    contents = {(key, ordinal): content for key, ordinal, content in served(database)}
    assert len(contents) == 10
    assert contents["d001.md", 1] == "edited"
    assert ("d004.md", 0) not in contents


def test_the_same_input_writes_nothing(database: Database) -> None:
    """Publishing the version that is served reads no row and makes no publication."""
    first = put(database, documents(3), "1")

    def unread() -> Iterator[PublishRow]:
        raise AssertionError("rows were read")

    again = put(database, unread, "1", run_id="run-2")
    assert (again.status, again.publication_id, again.unchanged) == ("unchanged", first.publication_id, 6)
    assert len(status(database)) == 1


def test_equal_rows_under_a_new_version_are_not_rewritten(database: Database) -> None:
    """A new input version with the same rows records a publication and touches no chunk."""
    put(database, documents(3), "1")
    with database.connection() as connection:
        before = connection.execute("select id, ctid from chunks_1 order by id").fetchall()
    again = put(database, documents(3), "2")
    assert (again.status, again.inserted, again.updated, again.deleted, again.unchanged) == ("published", 0, 0, 0, 6)
    with database.connection() as connection:
        assert connection.execute("select id, ctid from chunks_1 order by id").fetchall() == before


def test_a_new_file_time_changes_the_document_and_no_chunk(database: Database) -> None:
    """The raw hash and the time of a document are served anew without rewriting its chunks."""
    put(database, [PublishRow(chunk(metadata={"last_updated": "2024-05-01"}), unit(1))], "1")
    newer = chunk(metadata={"last_updated": "2025-06-02T10:00:00Z"}, raw_sha256="1" * 64)
    result = put(database, [PublishRow(newer, unit(1))], "2")
    assert (result.updated, result.unchanged) == (0, 1)
    with database.connection() as connection:
        row = connection.execute("select last_updated::date::text, raw_sha256 from doc_chunks").fetchone()
    assert row == ("2025-06-02", "1" * 64)


@pytest.mark.parametrize("failing_row", [100, 600])
def test_a_crash_midway_leaves_the_served_rows(database: Database, failing_row: int) -> None:
    """When the rows end in an exception, before or after some of them were copied, readers keep what they had."""
    put(database, documents(700, chunks=1), "1")
    before = served(database)

    def breaking() -> Iterator[PublishRow]:
        for n, row in enumerate(documents(700, chunks=1, word="new")):
            if n == failing_row:
                raise RuntimeError("disk gone")
            yield row

    with pytest.raises(RuntimeError, match="disk gone"):
        put(database, breaking, "2")
    assert served(database) == before
    assert put(database, documents(700, chunks=1, word="new"), "2").updated == 700


def test_an_edit_reads_once_and_writes_what_changed(database: Database) -> None:
    """Rows are asked for once; of chunks and documents only those that the edit changed are written or locked."""
    rows = documents(300, chunks=2)
    put(database, rows, "1")
    read = "select %s, xmin::text, xmax::text from %s"
    tables = {"chunks_1": "id", "documents": "doc_key"}
    with database.connection() as connection:
        before = {name: set(connection.execute(read % (key, name)).fetchall()) for name, key in tables.items()}  # type: ignore[arg-type]
    rows[9] = PublishRow(chunk("d004.md", 1, "edited", raw_sha256="1" * 64), rows[9].vector)
    rows[8] = PublishRow(replace(rows[8].chunk, raw_sha256="1" * 64), rows[8].vector)
    calls = 0

    def counted() -> Iterator[PublishRow]:
        nonlocal calls
        calls += 1
        yield from rows

    result = put(database, counted, "2")
    assert (calls, result.updated, result.unchanged, result.deleted) == (1, 1, 599, 0)
    with database.connection() as connection:
        after = {name: set(connection.execute(read % (key, name)).fetchall()) for name, key in tables.items()}  # type: ignore[arg-type]
    assert {identity for identity, *_ in after["chunks_1"] - before["chunks_1"]} == {rows[9].chunk.chunk_id(REF)}
    assert {key for key, *_ in after["documents"] - before["documents"]} == {"d004.md"}


def test_readers_see_the_old_state_or_the_new(database: Database) -> None:
    """A reader on another connection never meets a mix while an instance is published again and again."""
    put(database, documents(100, word="v0"), "0")
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
        for version in range(1, 6):
            put(database, documents(100, word=f"v{version}"), str(version))
    finally:
        stop.set()
        reader.join()
    assert seen
    assert all(len(words) == 1 for words in seen)


def test_mass_deletion_is_withheld_until_approved(database: Database) -> None:
    """More than 10 documents and more than 10 %: nothing of them is deleted, all are named, and approval deletes them."""
    put(database, documents(40), "1")
    kept = documents(40)[:58]  # eleven documents are gone
    result = put(database, kept, "2")
    assert result.withheld == tuple(f"d{n:03}.md" for n in range(29, 40))
    assert (result.deleted, result.documents_deleted) == (0, 0)
    assert len(served(database)) == 80
    repeated = put(database, kept, "2")
    assert repeated.status == "published"
    assert len(repeated.withheld) == 11
    approved = put(database, kept, "2", approve_deletions=True)
    assert (approved.deleted, approved.documents_deleted, approved.withheld) == (22, 11, ())
    assert put(database, kept, "2").status == "unchanged"


@pytest.mark.parametrize(("served_documents", "gone"), [(40, 10), (120, 12)])
def test_ordinary_deletions_pass_the_guard(database: Database, served_documents: int, gone: int) -> None:
    """Ten documents, or ten per cent, are an ordinary change."""
    put(database, documents(served_documents, chunks=1), "1")
    result = put(database, documents(served_documents, chunks=1)[gone:], "2")
    assert (result.documents_deleted, result.withheld) == (gone, ())


def test_an_incomplete_listing_deletes_no_document(database: Database) -> None:
    """A document that was not fetched stays; a shorter version of one that was is published as it is."""
    put(database, documents(4), "1")
    rows = documents(4)[:5]  # d002 lost its second chunk, d003 was not fetched
    result = put(database, rows, "2", complete=False)
    assert (result.withheld, result.deleted) == (("d003.md",), 1)
    assert [(key, ordinal) for key, ordinal, _ in served(database)][-3:] == [("d002.md", 0), ("d003.md", 0), ("d003.md", 1)]


def test_instances_do_not_touch_each_other(database: Database) -> None:
    """Publishing or dropping one instance leaves the other's chunks."""
    other = InstanceRef("mdx", "other")
    put(database, documents(3), "1")
    put(database, documents(2), "1", ref=other)
    put(database, documents(2), "2")
    assert drop_instance(database, REF) == 4
    assert [(row.instance, row.counts["chunks"]) for row in status(database)] == [("other", 4)]
    assert len(served(database)) == 4
    assert put(database, documents(2), "2").inserted == 4


def test_provenance_of_a_chunk(database: Database) -> None:
    """Every served chunk names its raw document, run, publication and code versions; metadata becomes columns."""
    metadata = {
        "since_version": "12.00",
        "still_valid": True,
        "supersedes": "vpro5-window-create",
        "superseded_by": ["b", "c"],
        "migration_note": "Use addWindow().",
        "keywords": ["window", "gui"],
        "signatures": ["addWindow(int x)"],
    }
    result = put(database, [PublishRow(chunk(metadata=metadata, generations=()), unit(1))], "1", run_id="run-9")
    with database.connection() as connection:
        row = connection.execute(
            "select source, raw_key, raw_sha256, run_id, publication_id, code_versions, generation, since_version,"
            " deprecated_in, still_valid, supersedes, superseded_by, migration_note, keywords, metadata -> 'signatures',"
            " text_hash from doc_chunks"
        ).fetchone()
    assert row == (
        "mdx/docs", "a.md", "0" * 64, "run-9", result.publication_id, {"parser": "1", "chunker": "2"}, [], "12.00", None,
        True, ["vpro5-window-create"], ["b", "c"], "Use addWindow().", ["window", "gui"], ["addWindow(int x)"],
        chunk().text_hash,
    )  # fmt: skip


def test_two_chunks_of_one_identity_are_refused(database: Database) -> None:
    """A numbering mistake is named with its document and leaves nothing behind."""
    rows = [PublishRow(chunk(), unit(1)), PublishRow(chunk(content="other"), unit(2))]
    with pytest.raises(RejectedInput, match=r"mdx/docs has 2 chunks with one identity in 'a.md'"):
        put(database, rows, "1")
    assert status(database) == []


@pytest.mark.parametrize(
    "vector",
    [np.ones(DIMENSION + 1, np.float32), np.full(DIMENSION, np.nan, np.float32), np.zeros(DIMENSION, np.float32)],
)
def test_a_vector_that_is_none_is_refused(database: Database, vector: np.ndarray) -> None:
    """A vector of another length, with NaN, or without direction never reaches the table."""
    with pytest.raises(ModelError, match=r"the vector of a.md chunk 0 is not 8 finite numbers"):
        put(database, [PublishRow(chunk(), vector)], "1")


def test_a_very_long_text_is_published(database: Database) -> None:
    """A search vector has 1 MB at most; a chunk with far more distinct words and names is still served whole."""
    words = " ".join(f"word{n} Name_{n}.method{n}()" for n in range(60_000))
    put(database, [PublishRow(chunk(content=words), unit(1))], "1")
    assert served(database)[0][2] == words


def test_concurrent_publications_of_one_instance_take_turns(database: Database) -> None:
    """Two runs of one instance at once give one of the two states, and both finish."""
    errors: list[BaseException] = []

    def run(word: str) -> None:
        try:
            put(database, documents(50, word=word), word)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(word,)) for word in ("left", "right")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len({content.split()[0] for _, _, content in served(database)}) == 1


_KILLED = """
import os, signal, sys
from pydantic import SecretStr
from bbj_pipeline.storage.database import Database
from bbj_pipeline_tests.storage.chunk_factory import documents, put

def rows():
    for n, row in enumerate(documents(700, chunks=1, word="new")):
        if n == 600:
            os.kill(os.getpid(), signal.SIGKILL)
        yield row

with Database(SecretStr(sys.argv[1])) as database:
    put(database, rows, "2")
"""


def test_a_killed_process_leaves_the_served_rows(database: Database) -> None:
    """After kill -9 in the middle of publishing, readers have the old rows and the next run is not held up."""
    put(database, documents(700, chunks=1), "1")
    before = served(database)
    result = subprocess.run([sys.executable, "-c", _KILLED, database.url.get_secret_value()], cwd=ROOT, check=False)
    assert result.returncode == -signal.SIGKILL
    assert served(database) == before
    assert put(database, documents(700, chunks=1, word="new"), "2").updated == 700
