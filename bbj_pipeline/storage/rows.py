"""Turns a chunk and its vector into the values of one database row, and into the hash that tells whether it changed.

Pure: no connection, no transaction. Column names and their PostgreSQL types stand here once, in one order.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from psycopg.types.json import Jsonb

from bbj_pipeline.errors import ModelError, RejectedInput
from bbj_pipeline.records import Chunk, InstanceRef
from bbj_pipeline.stages.contract import Vector
from bbj_pipeline.stages.identifiers import identifiers
from bbj_pipeline.storage.lexical import term_counts

__all__ = [
    "CHUNK_COLUMNS",
    "COPIED_COLUMNS",
    "ROW_VERSION",
    "STAGED_TYPES",
    "Identity",
    "PublishRow",
    "chunk_values",
    "identify",
    "staged_values",
]

ROW_VERSION = 2
"""Raised when a row's values are derived differently (terms, identifiers, search vector): every row is then written anew."""

STAGED_TYPES = ("int8", "text", "text", "text", "text", "timestamptz")
CHUNK_COLUMNS = {
    "id": "text",
    "kind": "text",
    "instance": "text",
    "doc_key": "text",
    "ordinal": "int4",
    "section_ordinal": "int4",
    "title": "text",
    "heading_path": "text[]",
    "contextual_header": "text",
    "content": "text",
    "generation": "text[]",
    "doc_type": "text",
    "embedding": "vector",
    "url": "text",
    "anchor": "text",
    "page": "int4",
    "tokens": "int4",
    "overlap": "int4",
    "since_version": "text",
    "deprecated_in": "text",
    "still_valid": "bool",
    "supersedes": "text[]",
    "superseded_by": "text[]",
    "migration_note": "text",
    "keywords": "text[]",
    "metadata": "jsonb",
    "text_hash": "text",
    "row_hash": "bytea",
    "publication_id": "int8",
    "terms": "text[]",
    "tfs": "int2[]",
}
_LISTS = {"term_list": "text", "tf_list": "text", "identifier_list": "text"}
COPIED_COLUMNS = {name: kind for name, kind in CHUNK_COLUMNS.items() if name not in ("terms", "tfs")} | _LISTS
"""What is copied to the database: long lists go as one text each, words apart by a space. The driver writes an array item by
item, which took as long as all the rest of a row."""


@dataclass(frozen=True, slots=True)
class PublishRow:
    """A chunk with its vector, shape (dimension,)."""

    chunk: Chunk
    vector: Vector


class Identity(NamedTuple):
    """The id of a row, and the hash that tells whether it changed."""

    id: str
    row_hash: bytes


def identify(chunk: Chunk, ref: InstanceRef) -> Identity:
    """Return the identity of a chunk's row; raise ``RejectedInput`` when it is of another kind than the instance."""
    if chunk.kind != ref.kind:
        raise RejectedInput(f"a chunk of kind {chunk.kind!r} in {ref}", remedy="publish each instance's own chunks")
    return Identity(chunk.chunk_id(ref), row_hash(chunk))


def staged_values(n: int, chunk: Chunk, identity: Identity) -> tuple[Any, ...]:
    """Return position, id and document of a chunk, in the order of the table ``staged``."""
    return (n, identity.id, chunk.key, chunk.raw_key, chunk.raw_sha256, _time(chunk.metadata.get("last_updated")))


def chunk_values(
    row: PublishRow, ref: InstanceRef, identity: Identity, *, dimension: int, publication_id: int
) -> tuple[Any, ...]:
    """Return the values of ``COPIED_COLUMNS``; raise ``ModelError`` for a vector that is none."""
    chunk, vector = row.chunk, row.vector
    if vector.shape != (dimension,) or not np.isfinite(vector).all() or not vector.any():
        raise ModelError(
            f"the vector of {chunk.key} chunk {chunk.ordinal} is not {dimension} finite numbers",
            remedy="check the embedding model and embed again",
        )
    metadata = _lasting(chunk.metadata)
    words = f"{chunk.title}\n{chunk.contextual_header}\n{chunk.content}"
    terms, tfs = term_counts(words)
    return (
        identity.id,
        chunk.kind,
        ref.instance,
        chunk.key,
        chunk.ordinal,
        chunk.section_ordinal,
        chunk.title,
        list(chunk.heading_path),
        chunk.contextual_header,
        chunk.content,
        list(chunk.generations),
        chunk.doc_type,
        vector,
        chunk.url,
        chunk.anchor,
        chunk.page,
        chunk.tokens,
        chunk.overlap,
        _text(metadata.get("since_version")),
        _text(metadata.get("deprecated_in")),
        _flag(metadata.get("still_valid")),
        _texts(metadata.get("supersedes")),
        _texts(metadata.get("superseded_by")),
        _text(metadata.get("migration_note")),
        _texts(metadata.get("keywords")),
        Jsonb(metadata),
        chunk.text_hash,
        identity.row_hash,
        publication_id,
        " ".join(terms),
        " ".join(map(str, tfs)),
        " ".join(identifiers(words)),
    )


def row_hash(chunk: Chunk) -> bytes:
    """Return the SHA-256 of all that a row serves; what belongs to the document as a whole is left out."""
    values = (
        ROW_VERSION, chunk.key, chunk.ordinal, chunk.section_ordinal, chunk.title, chunk.heading_path,
        chunk.contextual_header, chunk.content, chunk.tokens, chunk.doc_type, chunk.generations, chunk.url,
        chunk.anchor, chunk.page, chunk.overlap, _lasting(chunk.metadata),
    )  # fmt: skip
    canonical = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).digest()


def _lasting(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata without the document's time, which stands in ``documents``."""
    return {name: value for name, value in metadata.items() if name != "last_updated"}


def _text(value: Any) -> str | None:
    return None if value is None or value == "" else str(value)


def _texts(value: Any) -> list[str]:
    if value is None or value == "":
        return []
    items: Iterable[Any] = value if isinstance(value, list | tuple) else [value]
    return [str(item) for item in items]


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _time(value: Any) -> datetime.datetime | None:
    """Return an ISO 8601 time with a zone, UTC when it names none; ``None`` for anything else."""
    if not isinstance(value, str):
        return None
    try:
        time = datetime.datetime.fromisoformat(value)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=datetime.UTC)
