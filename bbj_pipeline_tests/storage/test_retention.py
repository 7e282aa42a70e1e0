"""Retention: what goes, what must stay, and that a look removes nothing."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import numpy as np
import pytest

from bbj_pipeline.errors import ConfigurationError, RejectedInput
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.embedding_cache import DatabaseEmbeddingCache
from bbj_pipeline.storage.file_store import FileStore
from bbj_pipeline.storage.publications import status, switch_waits
from bbj_pipeline.storage.publishing import PublishRow
from bbj_pipeline.storage.refresh_requests import claim, enqueue, finish
from bbj_pipeline.storage.retention import VECTOR_BATCH, Retention, prune, unconfigured
from bbj_pipeline.storage.rollback import kept_publications, rollback
from bbj_pipeline.storage.stage_files import StageStore
from bbj_pipeline.storage.stage_records import MANIFEST, ManifestEntry
from bbj_pipeline.storage.stage_units import UnitWriter
from bbj_pipeline_tests.storage.chunk_factory import REF, chunk, documents, put, served, unit

OTHER = InstanceRef("mdx", "other")
NOTHING_OLD = Retention(publications=1, days=0)


@pytest.fixture
def store(tmp_path: Path) -> StageStore:
    return StageStore(str(tmp_path))


def wide(count: int) -> list[PublishRow]:
    return [PublishRow(row.chunk, np.concatenate([row.vector, row.vector])) for row in documents(count, word="new")]


def removed(db: Database, store: StageStore, retention: Retention = NOTHING_OLD, **options: object) -> dict[str, int]:
    known = {"configured": [REF, OTHER]} | options
    return {removal.what: removal.amount for removal in prune(db, store, retention=retention, **known)}  # type: ignore[arg-type]


def stored(store: StageStore, content: bytes, *, days_old: float = 100) -> str:
    """Put raw bytes that were written so many days ago; return their name."""
    name = hashlib.sha256(content).hexdigest()
    store.blobs.put(name, content)
    then = time.time() - days_old * 86400
    os.utime(store.blobs.locate(name), (then, then))
    return name


def test_only_the_newest_publications_can_be_brought_back(database: Database, store: StageStore) -> None:
    """History beyond both bounds goes, the newest kept publication still comes back, a forgotten one is refused by name."""
    for version in range(5):
        put(database, documents(3, word=f"v{version}"), str(version))
    assert removed(database, store, Retention(publications=2, days=30)) == {"raw bytes without a document": 0}
    with database.connection() as connection:
        connection.execute("update publications set published_at = now() - interval '31 days' where id <= 3")
    before = served(database)
    assert removed(database, store, Retention(publications=2, days=30)) == {
        "history of mdx/docs before publication #4, 3 publications": 18,
        "raw bytes without a document": 0,
    }
    assert [kept.publication_id for kept in kept_publications(database, REF)] == [5, 4]
    assert served(database) == before
    with pytest.raises(RejectedInput, match="publication #3 of mdx/docs is no longer kept"):
        rollback(database, REF, to=3, run_id="r")
    rollback(database, REF, run_id="r")
    assert {content.split()[0] for _, _, content in served(database)} == {"v3"}


def test_a_look_removes_nothing(database: Database, store: StageStore) -> None:
    """A dry run names what the real run then removes, with the same numbers."""
    for version in range(3):
        put(database, documents(3, word=f"v{version}"), str(version))
        put(database, documents(2, word=f"v{version}"), str(version), ref=OTHER)
    stored(store, b"nobody's")
    options = {"configured": [REF], "instances": [OTHER], "spaces": True}
    seen = removed(database, store, dry_run=True, **options)
    assert len(kept_publications(database, OTHER)) == 3
    assert len(served(database)) == 10
    assert removed(database, store, dry_run=True, **options) == seen
    done = removed(database, store, **options)
    # the instance takes its own history along
    assert {
        what: amount for what, amount in seen.items() if what != "history of mdx/other before publication #6, 2 publications"
    } == done
    assert len(served(database)) == 6


def test_an_instance_is_only_removed_when_named_and_not_configured(database: Database, store: StageStore) -> None:
    """What is configured is refused, what is unknown is refused, what is merely no longer configured stays until named."""
    put(database, documents(2), "1")
    put(database, documents(2), "1", ref=OTHER)
    with pytest.raises(ConfigurationError, match="mdx/other is still configured: remove it from"):
        removed(database, store, instances=[OTHER])
    with pytest.raises(ConfigurationError, match="nothing is known of mdx/never"):
        removed(database, store, instances=[InstanceRef("mdx", "never")])
    removed(database, store, configured=[REF])
    assert unconfigured(database, [REF]) == [OTHER]
    assert len(served(database)) == 8
    removed(database, store, configured=[REF], instances=[OTHER])
    assert unconfigured(database, [REF]) == []
    assert len(served(database)) == 4


def test_a_removed_instance_blocks_the_switch_until_it_is_pruned(database: Database, store: StageStore) -> None:
    """What the switch waits for is said, with the reason; pruning the removed instance makes the switch."""
    put(database, documents(3), "1")
    put(database, documents(2), "1", ref=OTHER)
    new = {"fingerprint": "wide:16", "dimension": 16}
    assert not put(database, wide(3), "2", **new).active
    (wait,) = switch_waits(database)
    assert (wait.kind, wait.instance, wait.reason) == ("mdx", "other", "not published with the new model yet")
    put(database, wide(2), "2", ref=OTHER, complete=False, **new)
    assert [wait.reason for wait in switch_waits(database)] == ["its last export was incomplete"]
    removed(database, store, configured=[REF], instances=[OTHER])
    assert switch_waits(database) == []
    assert {(row.instance, row.space_state, row.fingerprint) for row in status(database)} == {("docs", "active", "wide:16")}


def test_retired_spaces_go_when_asked_for(database: Database, store: StageStore) -> None:
    """Pruning spaces takes everything of a model no longer served; the served one stays; the old may be filled again."""
    put(database, documents(3), "1")
    new = {"fingerprint": "wide:16", "dimension": 16}
    put(database, wide(3), "2", **new)
    before = served(database)
    assert "retired embedding space 1 (test:8)" not in removed(database, store)
    assert removed(database, store, spaces=True)["retired embedding space 1 (test:8)"] == 6
    with database.connection() as connection:
        left = connection.execute(
            "select relname from pg_class where relkind = 'r' and relname ~ '_1(_history)?$'"
            " union all select 'documents' from documents where space_id = 1"
        ).fetchall()
    assert left == []
    assert served(database) == before
    put(database, wide(2), "3", **new)
    rollback(database, REF, run_id="r")
    assert served(database) == before
    assert put(database, documents(3), "1").active
    assert len(served(database)) == 6


def test_a_space_that_is_being_filled_is_left_alone(database: Database, store: StageStore) -> None:
    """A new model's space is pruned only when nothing was published to it for the retention's days."""
    put(database, documents(3), "1")
    put(database, documents(2), "1", ref=OTHER)
    put(database, wide(3), "2", fingerprint="wide:16", dimension=16)
    assert not any("space" in what for what in removed(database, store, Retention(1, 30), spaces=True))
    with database.connection() as connection:
        connection.execute("update publications set published_at = now() - interval '31 days'")
    assert any(what.startswith("filling embedding space") for what in removed(database, store, Retention(1, 30), spaces=True))
    assert len(served(database)) == 10


def test_finished_requests_are_forgotten_and_waiting_ones_are_not(database: Database, store: StageStore) -> None:
    """What was done before the bound goes, and only that; a day stays always, so that a request sent again counts once."""
    for number in ("old", "young", "waiting", "claimed"):
        assert enqueue(database, InstanceRef("mdx", number), delivery_id=number, reason="push")
    keys = {item.ref.instance: item.run_key for item in claim(database)}
    with database.connection() as connection:
        connection.execute("update refresh_requests set requested_at = now() - interval '99 days'")
        connection.execute("update refresh_requests set run_key = null where instance = 'waiting'")
    for number in ("old", "young"):
        finish(database, keys[number], run_id="r")
    month = Retention(publications=1, days=30)
    assert "finished refresh requests" not in removed(database, store, NOTHING_OLD)
    with database.connection() as connection:
        connection.execute("update refresh_requests set done_at = now() - interval '31 days' where instance = 'old'")
    assert removed(database, store, month, dry_run=True)["finished refresh requests"] == 1
    assert removed(database, store, month)["finished refresh requests"] == 1
    assert "finished refresh requests" not in removed(database, store, month)
    assert not enqueue(database, InstanceRef("mdx", "young"), delivery_id="young", reason="push")
    assert {item.ref.instance for item in claim(database)} == {"waiting", "claimed"}
    assert enqueue(database, InstanceRef("mdx", "old"), delivery_id="old", reason="push")


def test_files_of_any_store_are_listed_with_size_and_time() -> None:
    """A store that is no local disk says as well what lies below a folder, how large it is and since when."""
    store = FileStore("memory://retention")
    before = time.time()
    store.write("raw/ab/abc", b"12345")
    store.write("other/x", b"")
    ((path, size, modified),) = store.files("raw")
    assert (path, size) == ("raw/ab/abc", 5)
    assert before - 5 <= modified <= time.time() + 5
    assert list(store.files("nowhere")) == []


def test_drafts_of_any_store_are_known_by_their_age() -> None:
    """On a store that is no local disk a fresh draft stays and an old one goes; a file that is no draft always stays."""
    store = FileStore("memory://drafts")
    draft = store.temporary("stages/mdx/guide/chunks.parquet")
    for path in (draft, "stages/mdx/guide/chunks.parquet"):
        with store.create(path) as out:
            out.write(b"x")
    store.remove_stale("stages/mdx/guide", older_than=3600)
    assert store.exists(draft)
    store.remove_stale("stages/mdx/guide", older_than=-3600)  # as seen an hour later
    assert [path for path, _, _ in store.files("stages")] == ["stages/mdx/guide/chunks.parquet"]


def test_raw_bytes_stay_while_anything_refers_to_them(database: Database, store: StageStore) -> None:
    """Bytes of a served document, of one that a rollback could bring back, of a manifest, and young ones stay."""
    names = {name: stored(store, name.encode()) for name in ("served", "kept", "listed", "nobody's")}
    young = stored(store, b"young", days_old=1)
    put(database, [PublishRow(chunk(raw_sha256=names["kept"]), unit(1))], "1")
    put(database, [PublishRow(chunk(raw_sha256=names["served"]), unit(1))], "2")
    draft = store.draft(REF, "raw_export", MANIFEST.schema)
    writer = UnitWriter(draft, MANIFEST)
    writer.add("k", "h", [("k", ManifestEntry("k", names["listed"], 6, "text/markdown", "document"))])
    writer.finish(stage="raw_export", stage_version="1", input_version="", complete=True, run_id="run")
    month = Retention(publications=10, days=30)
    assert removed(database, store, month) == {"raw bytes without a document": 0}  # a manifest is being written
    draft.commit()
    assert removed(database, store, month) == {"raw bytes without a document": 1}
    for name in (names["served"], names["kept"], names["listed"], young):
        assert store.blobs.get(name)
    with pytest.raises(KeyError):
        store.blobs.get(names["nobody's"])
    removed(database, store, Retention(publications=1, days=30))
    with database.connection() as connection:
        connection.execute("update publications set published_at = now() - interval '31 days'")
    assert removed(database, store, Retention(publications=1, days=30))["raw bytes without a document"] == 1
    with pytest.raises(KeyError):
        store.blobs.get(names["kept"])


def cached(db: Database) -> set[str]:
    """The text hashes in the embedding cache of the served model."""
    with db.connection() as connection:
        return {row[0].hex() for row in connection.execute("select text_hash from embedding_cache where space_id = 1")}


def test_vectors_of_texts_that_are_gone_go_when_they_are_old(database: Database, store: StageStore) -> None:
    """Old vectors that neither a served nor a kept chunk needs go, over several batches; served, kept and young ones stay."""
    cache = DatabaseEmbeddingCache(database)
    kept, now = documents(3, word="kept"), documents(3, word="served")
    put(database, kept, "1")
    put(database, now, "2")
    needed = {row.chunk.text_hash for row in kept} | {row.chunk.text_hash for row in now}
    nobodys = {hashlib.sha256(f"gone {n}".encode()).hexdigest() for n in range(2 * VECTOR_BATCH + 1)}
    cache.put("test:8", dict.fromkeys(needed | nobodys, unit(1)))
    with database.connection() as connection:
        connection.execute("update embedding_cache set added_at = now() - interval '31 days'")
    young = hashlib.sha256(b"young").hexdigest()
    cache.put("test:8", {young: unit(1)})
    month = Retention(publications=10, days=30)
    what = "vectors of texts that are gone"
    assert removed(database, store, month, dry_run=True)[what] == len(nobodys)
    assert cached(database) == needed | nobodys | {young}
    assert removed(database, store, month)[what] == len(nobodys)
    assert cached(database) == needed | {young}
    assert what not in removed(database, store, month)


def test_the_vectors_of_a_forgotten_publication_go_with_it(database: Database, store: StageStore) -> None:
    """Once a publication can no longer be brought back, its texts keep no vector; a look before says less, never more."""
    cache = DatabaseEmbeddingCache(database)
    old, now = documents(3, word="old"), documents(3, word="served")
    for version, rows in enumerate((old, now)):
        put(database, rows, str(version))
        cache.put("test:8", {row.chunk.text_hash: row.vector for row in rows})
    assert removed(database, store)["vectors of texts that are gone"] == 6
    assert cached(database) == {row.chunk.text_hash for row in now}
