"""Embedding spaces: when search switches, and what the view shows meanwhile."""

from __future__ import annotations

import numpy as np
import pytest

from bbj_pipeline.errors import SchemaError
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.publications import drop_instance, status
from bbj_pipeline.storage.publishing import PublishRow
from bbj_pipeline_tests.storage.chunk_factory import chunk, documents, put, served, unit

OTHER = InstanceRef("mdx", "other")


def _wide(count: int, word: str) -> list[PublishRow]:
    return [PublishRow(row.chunk, np.concatenate([row.vector, row.vector])) for row in documents(count, word=word)]


def _served_dimension(database: Database) -> int:
    with database.connection() as connection:
        row = connection.execute("select vector_dims(embedding) from doc_chunks limit 1").fetchone()
    assert row is not None
    return int(row[0])


def test_search_stays_on_the_old_space_until_every_instance_is_complete(database: Database) -> None:
    """A new fingerprint fills beside the served space; the last instance's publication switches, and all at once."""
    put(database, documents(3, word="old"), "1")
    put(database, documents(2, word="old"), "1", ref=OTHER)
    first = put(database, _wide(3, "new"), "2", fingerprint="wide:16", dimension=16)
    assert not first.active
    assert {content.split()[0] for _, _, content in served(database)} == {"old"}
    incomplete = put(database, _wide(2, "new"), "2", ref=OTHER, fingerprint="wide:16", dimension=16, complete=False)
    assert not incomplete.active
    second = put(database, _wide(2, "new"), "2", ref=OTHER, fingerprint="wide:16", dimension=16)
    assert second.active
    assert {content.split()[0] for _, _, content in served(database)} == {"new"}
    assert _served_dimension(database) == 16
    assert {(row.instance, row.space_state) for row in status(database)} == {("docs", "active"), ("other", "active")}


def test_going_back_to_a_retired_space_needs_every_instance_again(database: Database) -> None:
    """A retired space's rows are of the past: it is served again only when each instance was published to it anew."""
    put(database, documents(3, word="old"), "1")
    put(database, documents(2, word="old"), "1", ref=OTHER)
    put(database, _wide(3, "new"), "2", fingerprint="wide:16", dimension=16)
    put(database, _wide(2, "new"), "2", ref=OTHER, fingerprint="wide:16", dimension=16)
    back = put(database, documents(3, word="old"), "1")
    assert (back.active, back.unchanged) == (False, 6)
    assert put(database, documents(2, word="old"), "1", ref=OTHER).active
    assert _served_dimension(database) == 8


def test_a_removed_instance_does_not_hold_up_the_switch(database: Database) -> None:
    """When the only instance that was missing is dropped, the new space becomes the served one."""
    put(database, documents(3, word="old"), "1")
    put(database, documents(2, word="old"), "1", ref=OTHER)
    put(database, _wide(3, "new"), "2", fingerprint="wide:16", dimension=16)
    drop_instance(database, OTHER)
    assert {content.split()[0] for _, _, content in served(database)} == {"new"}


def test_one_fingerprint_has_one_dimension(database: Database) -> None:
    """Vectors of another length under a known fingerprint are refused with the remedy."""
    put(database, documents(1), "1")
    with pytest.raises(SchemaError, match=r"is 8-dimensional, 16 dimensions were given: put the dimension into"):
        put(database, _wide(1, "new"), "2", dimension=16)


def test_too_long_vectors_are_refused_before_anything_is_made(database: Database) -> None:
    """What pgvector cannot index is said at once, with the way out."""
    with pytest.raises(SchemaError, match=r"3000 dimensions cannot be indexed"):
        put(database, [PublishRow(chunk(), unit(1, dimension=3000))], "1", dimension=3000)
