"""How records become typed Parquet rows and back: one codec a stage, beside the unit columns all stages share.

Which rows are written, reused or skipped is decided in ``stage_units``; nothing here opens a file.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import pyarrow as pa

from bbj_pipeline.records import Block, Chunk, Evidence, SectionLabels, TaggedDoc, Topic, to_json
from bbj_pipeline.storage.stage_files import as_json

__all__ = [
    "CHUNKS",
    "MANIFEST",
    "PARSED",
    "TAGGED",
    "Codec",
    "ManifestEntry",
]

RecordT = TypeVar("RecordT")

_TEXTS = pa.list_(pa.string())
_BLOCK = pa.struct(
    [
        ("type", pa.string()),
        ("text", pa.string()),
        ("level", pa.int16()),
        ("language", pa.string()),
        ("title", pa.string()),
        ("rows", pa.list_(_TEXTS)),
        ("header_rows", pa.int32()),
        ("anchor", pa.string()),
        ("page", pa.int32()),
        ("lines", pa.list_(pa.int32())),
    ]
)
_UNIT: list[tuple[str, pa.DataType]] = [
    ("unit_key", pa.string()),
    ("unit_hash", pa.string()),
    ("key", pa.string()),
    ("item_hash", pa.string()),
    ("reject_code", pa.string()),
    ("reject_reason", pa.string()),
]


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """One raw document of an export: everything a ``RawDocument`` has but its bytes, which are a blob.

    ``unfetched`` says why the newest bytes could not be had; the entry then stands for the bytes of an earlier export, or
    for none when ``sha256`` is empty.
    """

    key: str
    sha256: str
    size: int
    media_type: str
    role: str
    url: str | None = None
    last_modified: str | None = None
    dependencies: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    unfetched: str | None = None
    validators: Mapping[str, str] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Codec(Generic[RecordT]):
    """Turns one stage's records into rows of ``schema`` and back."""

    schema: pa.Schema
    to_row: Callable[[RecordT], dict[str, Any]]
    from_row: Callable[[dict[str, Any]], RecordT]


def _fields(record: Any, *, texts: Sequence[str] = (), json_names: Sequence[str] = ("metadata",)) -> dict[str, Any]:
    row = {f.name: getattr(record, f.name) for f in dataclasses.fields(record)}
    for name in texts:
        row[name] = list(row[name])
    for name in json_names:
        row[name] = as_json(row[name])
    return row


def _topic_row(topic: Topic) -> dict[str, Any]:
    row = _fields(topic, texts=("section_path",))
    row["blocks"] = [to_json(block) for block in topic.blocks]
    return row


def _block(row: dict[str, Any]) -> Block:
    rows = row.pop("rows")
    lines = row.pop("lines", None)  # a file written before blocks had lines has no such field
    return Block(
        **row,
        rows=None if rows is None else tuple(tuple(cells) for cells in rows),
        lines=None if lines is None else (lines[0], lines[1]),
    )


def _topic(row: dict[str, Any]) -> Topic:
    return Topic(
        kind=row["kind"],
        key=row["key"],
        title=row["title"],
        blocks=tuple(_block(block) for block in row["blocks"]),
        url=row["url"],
        section_path=tuple(row["section_path"]),
        metadata=json.loads(row["metadata"]),
        raw_key=row["raw_key"],
        raw_sha256=row["raw_sha256"],
    )


def _tagged_row(doc: TaggedDoc) -> dict[str, Any]:
    return _topic_row(doc.topic) | {
        "generations": list(doc.generations),
        "evidence": [to_json(item) for item in doc.evidence],
        "doc_type": doc.doc_type,
        "doc_type_reason": doc.doc_type_reason,
        "sections": [to_json(item) for item in doc.sections],
    }


def _tagged(row: dict[str, Any]) -> TaggedDoc:
    return TaggedDoc(
        topic=_topic(row),
        generations=tuple(row["generations"]),
        evidence=tuple(Evidence(**item) for item in row["evidence"]),
        doc_type=row["doc_type"],
        doc_type_reason=row["doc_type_reason"],
        # a file written before sections had labels has no such column
        sections=tuple(_section_labels(item) for item in row.get("sections") or ()),
    )


def _section_labels(row: dict[str, Any]) -> SectionLabels:
    return SectionLabels(row["first_block"], row["end_block"], tuple(row["generations"]))


def _manifest_row(entry: ManifestEntry) -> dict[str, Any]:
    return _fields(entry, texts=("dependencies",), json_names=("metadata", "validators"))


def _manifest_entry(row: dict[str, Any]) -> ManifestEntry:
    values = {name: row[name] for name in _plain_names(_MANIFEST_FIELDS)}
    values["dependencies"] = tuple(row["dependencies"])
    values["metadata"] = json.loads(row["metadata"])
    # a file written before there were validators has no such column
    values["validators"] = json.loads(row.get("validators") or "{}")
    return ManifestEntry(**values)


def _from_row(record_type: Callable[..., RecordT], names: Sequence[str], texts: Sequence[str]) -> Callable[..., RecordT]:
    def decode(row: dict[str, Any]) -> RecordT:
        values = {name: row[name] for name in names}
        values |= {name: tuple(row[name]) for name in texts}
        return record_type(**values, metadata=json.loads(row["metadata"]))

    return decode


def _chunk_row(chunk: Chunk) -> dict[str, Any]:
    return _fields(chunk, texts=("heading_path", "generations"))


_TOPIC_FIELDS: list[tuple[str, pa.DataType]] = [
    ("kind", pa.string()),
    ("title", pa.string()),
    ("blocks", pa.list_(_BLOCK)),
    ("url", pa.string()),
    ("section_path", _TEXTS),
    ("metadata", pa.string()),
    ("raw_key", pa.string()),
    ("raw_sha256", pa.string()),
]
_TAG_FIELDS: list[tuple[str, pa.DataType]] = [
    ("generations", _TEXTS),
    (
        "evidence",
        pa.list_(
            pa.struct(
                [
                    ("label", pa.string()),
                    ("cue", pa.string()),
                    ("where", pa.string()),
                    ("weight", pa.float64()),
                    ("offset", pa.int32()),
                ]
            )
        ),
    ),
    ("doc_type", pa.string()),
    ("doc_type_reason", pa.string()),
    (
        "sections",
        pa.list_(pa.struct([("first_block", pa.int32()), ("end_block", pa.int32()), ("generations", _TEXTS)])),
    ),
]
_MANIFEST_FIELDS: list[tuple[str, pa.DataType]] = [
    ("sha256", pa.string()),
    ("size", pa.int64()),
    ("media_type", pa.string()),
    ("role", pa.string()),
    ("url", pa.string()),
    ("last_modified", pa.string()),
    ("dependencies", _TEXTS),
    ("metadata", pa.string()),
    ("unfetched", pa.string()),
    ("validators", pa.string()),
]
_CHUNK_FIELDS: list[tuple[str, pa.DataType]] = [
    ("kind", pa.string()),
    ("ordinal", pa.int32()),
    ("section_ordinal", pa.int32()),
    ("title", pa.string()),
    ("heading_path", _TEXTS),
    ("contextual_header", pa.string()),
    ("content", pa.string()),
    ("tokens", pa.int32()),
    ("doc_type", pa.string()),
    ("generations", _TEXTS),
    ("url", pa.string()),
    ("anchor", pa.string()),
    ("page", pa.int32()),
    ("overlap", pa.int32()),
    ("metadata", pa.string()),
    ("raw_key", pa.string()),
    ("raw_sha256", pa.string()),
]


def _plain_names(fields: list[tuple[str, pa.DataType]]) -> list[str]:
    return ["key", *(name for name, kind in fields if kind is not _TEXTS and name not in ("metadata", "validators"))]


MANIFEST: Codec[ManifestEntry] = Codec(pa.schema(_UNIT + _MANIFEST_FIELDS), _manifest_row, _manifest_entry)
PARSED: Codec[Topic] = Codec(pa.schema(_UNIT + _TOPIC_FIELDS), _topic_row, _topic)
TAGGED: Codec[TaggedDoc] = Codec(pa.schema(_UNIT + _TOPIC_FIELDS + _TAG_FIELDS), _tagged_row, _tagged)
CHUNKS: Codec[Chunk] = Codec(
    pa.schema(_UNIT + _CHUNK_FIELDS),
    _chunk_row,
    _from_row(Chunk, _plain_names(_CHUNK_FIELDS), ("heading_path", "generations")),
)
