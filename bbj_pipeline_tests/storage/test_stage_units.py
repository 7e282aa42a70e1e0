"""Stage files: what is written comes back, units are reused whole, and a draft is invisible until it is committed."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbj_pipeline.errors import RejectedInput
from bbj_pipeline.records import Block, Chunk, Evidence, InstanceRef, Reject, TaggedDoc, Topic
from bbj_pipeline.storage.stage_files import StageFile, StageStore
from bbj_pipeline.storage.stage_records import CHUNKS, MANIFEST, PARSED, TAGGED, Codec, ManifestEntry
from bbj_pipeline.storage.stage_units import UnitIndex, UnitWriter, read_records, read_rows
from bbj_pipeline.storage.stage_vectors import VectorWriter, keys_without_vectors, read_vectors, vector_schema

REF = InstanceRef("mdx", "guide")
TOPIC = Topic(
    kind="mdx",
    key="a/b.md",
    title="Ä title",
    blocks=(
        Block("heading", "One", level=1, anchor="one"),
        Block("code", "PRINT 'CS'\n", language="bbj", title="x.bbj", lines=(3, 4)),
        Block("table", rows=(("a", "b"), ("c", "")), header_rows=1),
        Block("list_item", "item", level=2, page=3),
    ),
    url="https://example.org/a",
    section_path=("Top", "Sub"),
    metadata={"keywords": ["x", "y"], "since_version": "12.00", "nested": {"a": [1, None, True]}},
    raw_key="a/b.md",
    raw_sha256="0" * 64,
)
DOC = TaggedDoc(TOPIC, ("bbj-gui", "dwc"), (Evidence("dwc", "DWC", "block 1", 0.5),), "api-reference", "because")
CHUNK = Chunk(
    kind="mdx",
    key="a/b.md",
    ordinal=3,
    section_ordinal=1,
    title="Ä title",
    heading_path=("One",),
    contextual_header="Top > One",
    content="text",
    tokens=9,
    doc_type="concept",
    generations=(),
    anchor="one",
    page=3,
    overlap=2,
    metadata={"since_version": "12.00"},
    raw_key="a/b.md",
    raw_sha256="0" * 64,
)
ENTRY = ManifestEntry(
    "k", "f" * 64, 12, "text/markdown", "resource", last_modified="2026-01-01", dependencies=("d",), metadata={"a": 1}
)


def write(store: StageStore, codec: Codec[Any], units: Sequence[tuple[str, str, Sequence[Any]]]) -> StageFile:
    draft = store.draft(REF, "stage", codec.schema)
    writer = UnitWriter(draft, codec)
    for key, unit_hash, items in units:
        writer.add(key, unit_hash, [(getattr(item, "key", key), item) for item in items])
    writer.finish(stage="stage", stage_version="1", input_version="in", complete=True, run_id="run")
    return draft.commit()


@pytest.fixture
def store(tmp_path: Path) -> StageStore:
    return StageStore(str(tmp_path))


@pytest.mark.parametrize(
    ("codec", "record"),
    [(PARSED, TOPIC), (TAGGED, DOC), (CHUNKS, CHUNK), (MANIFEST, ENTRY)],
    ids=lambda item: type(item).__name__,
)
def test_records_come_back_as_they_were(store: StageStore, codec: Codec[Any], record: Any) -> None:
    """Every field of every record survives the file, and a reject survives beside it."""
    reject = Reject("bad.md", "empty", "nothing in it")
    file = write(store, codec, [("u1", "h1", [record]), ("u2", "h2", [reject])])
    assert list(read_records(file, codec)) == [record, reject]
    first, second = read_rows(file, codec)
    assert first.record() == record
    assert second.reject == reject


def test_a_unit_is_found_by_key_and_hash_only(store: StageStore) -> None:
    """A unit made from another input is not found; one made from the same input comes back with all its rows."""
    units = [(f"u{n}", f"h{n}", [TOPIC] * (1 + n % 3)) for n in range(1300)]
    index = UnitIndex(write(store, PARSED, units))
    assert len(index) == 1300
    for n in (0, 511, 512, 640, 1299):
        found = index.find(f"u{n}", f"h{n}")
        assert found is not None
        assert found.column("unit_key").to_pylist() == [f"u{n}"] * (1 + n % 3)
        assert index.find(f"u{n}", "other") is None
    assert index.find("nowhere", "h0") is None
    assert UnitIndex(None).find("u0", "h0") is None


@settings(max_examples=30, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_copying_is_the_same_as_computing(tmp_path_factory: pytest.TempPathFactory, copied: list[bool]) -> None:
    """Whatever is copied and whatever computed again, the rows, their order and the data version are the same."""
    store = StageStore(str(tmp_path_factory.mktemp("store")))
    units = [(f"u{n}", f"h{n}", [TOPIC] if n % 4 else [Reject(f"u{n}", "empty", "x")]) for n in range(len(copied))]
    first = write(store, PARSED, units)
    before = list(read_records(first, PARSED))
    index = UnitIndex(first)
    draft = store.draft(REF, "stage", PARSED.schema)
    writer = UnitWriter(draft, PARSED)
    for copy, (key, unit_hash, items) in zip(copied, units, strict=True):
        known = index.find(key, unit_hash)
        assert known is not None
        if copy:
            writer.copy(known)
        else:
            writer.add(key, unit_hash, [(getattr(item, "key", key), item) for item in items])
    info = writer.finish(stage="stage", stage_version="1", input_version="in", complete=True, run_id="run")
    assert (info.data_version, info.rows, info.rejects) == (first.info.data_version, first.info.rows, first.info.rejects)
    assert list(read_records(draft.commit(), PARSED)) == before


def test_units_of_a_file_without_a_newer_field_are_reused(store: StageStore) -> None:
    """A store written before blocks had lines is read and copied into a file that has them; the field is empty there."""
    block = PARSED.schema.field("blocks").type.value_type
    older_block = pa.struct([field for field in block if field.name != "lines"])
    index = PARSED.schema.get_field_index("blocks")
    older = replace(PARSED, schema=PARSED.schema.set(index, pa.field("blocks", pa.list_(older_block))))
    plain = replace(TOPIC, blocks=tuple(replace(block, lines=None) for block in TOPIC.blocks))
    file = write(store, older, [("u", "h", [plain])])
    assert list(read_records(file, PARSED)) == [plain]
    known = UnitIndex(file).find("u", "h")
    assert known is not None
    draft = store.draft(REF, "other", PARSED.schema)
    writer = UnitWriter(draft, PARSED)
    writer.copy(known)
    writer.add("v", "h", [("v", TOPIC)])
    writer.finish(stage="other", stage_version="1", input_version="in", complete=True, run_id="run")
    assert list(read_records(draft.commit(), PARSED)) == [plain, TOPIC]


def test_the_data_version_follows_content_and_completeness(store: StageStore, tmp_path: Path) -> None:
    """Equal rows give equal data versions; another row, or an incomplete export of the same rows, gives another."""
    same = write(StageStore(str(tmp_path / "other")), PARSED, [("u", "h", [TOPIC])])
    assert write(store, PARSED, [("u", "h", [TOPIC])]).info.data_version == same.info.data_version
    assert write(store, PARSED, [("u", "h", [TOPIC, TOPIC])]).info.data_version != same.info.data_version
    draft = store.draft(REF, "stage", PARSED.schema)
    writer = UnitWriter(draft, PARSED)
    writer.add("u", "h", [("u", TOPIC)])
    info = writer.finish(stage="stage", stage_version="1", input_version="in", complete=False, run_id="run")
    assert info.data_version != same.info.data_version
    draft.abandon()


def test_a_draft_is_nothing_until_committed(store: StageStore, tmp_path: Path) -> None:
    """The earlier file is read until the commit; an abandoned draft leaves no file behind."""
    write(store, PARSED, [("u", "h", [TOPIC])])
    before = store.load(REF, "stage").info
    draft = store.draft(REF, "stage", PARSED.schema)
    UnitWriter(draft, PARSED).add("u", "other", [("u", TOPIC)])
    assert store.load(REF, "stage").info == before
    draft.abandon()
    assert store.load(REF, "stage").info == before
    assert [path.name for path in (tmp_path / "stages" / "mdx" / "guide").iterdir()] == ["stage.parquet"]


def test_a_missing_stage_names_the_remedy(store: StageStore) -> None:
    """A stage that was never materialised says which one to materialise first."""
    with pytest.raises(RejectedInput, match=r"mdx/guide has no chunks: materialise mdx/chunks of guide first"):
        store.load(REF, "chunks")


def test_vectors_come_back_bit_for_bit(store: StageStore) -> None:
    """Vectors and the texts they belong to survive the file in their order."""
    vectors = np.random.default_rng(1).standard_normal((5, 3)).astype(np.float32)
    draft = store.draft(REF, "embeddings", vector_schema(3))
    writer = VectorWriter(draft, 3, "fingerprint")
    writer.add([("item", CHUNK)] * 2, vectors[:2], {})
    writer.add([("item", CHUNK)] * 3, vectors[2:], {})
    writer.finish(stage="embeddings", stage_version="1", input_version="in", complete=True, run_id="run")
    groups = list(read_vectors(draft.commit()))
    assert np.array_equal(np.concatenate([group.vectors for group in groups]), vectors)
    assert [name for group in groups for name in group.text_hashes] == [CHUNK.text_hash] * 5


def test_a_chunk_without_a_vector_is_counted_and_named(store: StageStore) -> None:
    """A chunk whose text has no usable vector keeps its row with a reason, and makes another data version than one with."""
    found = {}
    for unusable in ({}, {CHUNK.text_hash: "not finite"}):
        draft = store.draft(REF, "embeddings", vector_schema(3))
        writer = VectorWriter(draft, 3, "fingerprint")
        writer.add([("item", CHUNK)], np.zeros((1, 3), dtype=np.float32), unusable)
        writer.finish(stage="embeddings", stage_version="1", input_version="in", complete=True, run_id="run")
        file = draft.commit()
        found[len(unusable)] = (file.info.rejects, file.info.data_version, keys_without_vectors(file))
    assert (found[0][0], found[0][2]) == (0, {})
    assert (found[1][0], found[1][2]) == (1, {CHUNK.key: "not finite"})
    assert found[0][1] != found[1][1]


def test_remembered_values_belong_to_one_state(store: StageStore) -> None:
    """A remembered value is recalled for its very token and for no other."""
    store.remember(REF, "check", "token", {"passed": True})
    assert store.recall(REF, "check", "token") == {"passed": True}
    assert store.recall(REF, "check", "another") is None
    assert store.recall(REF, "never", "token") is None


def test_blobs_are_written_once(store: StageStore) -> None:
    """Raw bytes are kept under their hash; storing them again writes nothing, and an unknown hash is a KeyError."""
    name = hashlib.sha256(b"bytes").hexdigest()
    assert store.blobs.put(name, b"bytes")
    assert not store.blobs.put(name, b"bytes")
    assert store.blobs.get(name) == b"bytes"
    with pytest.raises(KeyError):
        store.blobs.get("cd" * 32)


@pytest.mark.parametrize("damage", [b"", b"byte", b"bytes and more", b"other"])
def test_damaged_bytes_never_reach_a_parser(store: StageStore, damage: bytes) -> None:
    """Stored bytes that are not what their name says are an error with a remedy, and the next export writes them anew."""
    name = hashlib.sha256(b"bytes").hexdigest()
    store.blobs.put(name, b"bytes")
    Path(store.blobs.locate(name)).write_bytes(damage)
    with pytest.raises(RejectedInput, match="run it again: the export writes them anew"):
        store.blobs.get(name)
    assert store.blobs.put(name, b"bytes")
    assert store.blobs.get(name) == b"bytes"


@pytest.mark.parametrize("damage", [b"", b"PAR1 not parquet", b"x" * 5000])
def test_a_damaged_stage_file_is_made_anew(store: StageStore, damage: bytes) -> None:
    """A stage file that cannot be read is as good as none: it is found by nobody and replaced by the next draft."""
    file = write(store, PARSED, [("u", "h", [TOPIC])])
    Path(file.location).write_bytes(damage)
    assert store.find(REF, "stage") is None
    write(store, PARSED, [("u", "h", [TOPIC])])
    assert store.load(REF, "stage").info.rows == 1


def test_abandoned_drafts_are_swept(store: StageStore, tmp_path: Path) -> None:
    """A draft that a killed run left yesterday is removed, of whatever stage; a fresh one and committed files stay."""
    write(store, PARSED, [("u", "h", [TOPIC])])
    folder = tmp_path / "stages" / "mdx" / "guide"
    for name, age in (("stage.parquet.1.tmp", 2 * 86400), ("other.parquet.2.tmp", 2 * 86400), ("stage.parquet.3.tmp", 60)):
        (folder / name).write_bytes(b"x")
        os.utime(folder / name, (time.time() - age, time.time() - age))
    os.utime(folder / "stage.parquet", (0, 0))
    store.sweep(REF)
    assert sorted(path.name for path in folder.iterdir()) == ["stage.parquet", "stage.parquet.3.tmp"]


def test_sweeping_an_instance_without_files_is_nothing(store: StageStore) -> None:
    """The first export of an instance has no folder yet."""
    store.sweep(REF)
    assert not store.has(REF)
