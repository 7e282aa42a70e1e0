"""Makes chunks, vectors and publishing rows for the tests of storage and retrieval."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from bbj_pipeline.records import Chunk, InstanceRef
from bbj_pipeline.stages.contract import Vector
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.publishing import PublishResult, PublishRow, publish

REF = InstanceRef("mdx", "docs")
DIMENSION = 8


def unit(*values: float, dimension: int = DIMENSION) -> Vector:
    """A unit vector from its first coordinates."""
    vector = np.zeros(dimension, dtype=np.float32)
    vector[: len(values)] = values
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def chunk(key: str = "a.md", ordinal: int = 0, content: str = "A window opens.", **fields: Any) -> Chunk:
    """A chunk with sensible defaults."""
    defaults: dict[str, Any] = {
        "kind": "mdx",
        "section_ordinal": ordinal,
        "title": "Windows",
        "heading_path": ("Windows",),
        "contextual_header": "Guide > Windows",
        "tokens": 12,
        "doc_type": "concept",
        "generations": ("dwc",),
        "raw_key": key,
        "raw_sha256": "0" * 64,
    }
    return Chunk(key=key, ordinal=ordinal, content=content, **(defaults | fields))


def documents(count: int, chunks: int = 2, word: str = "text") -> list[PublishRow]:
    """``count`` documents of ``chunks`` chunks each, with random unit vectors that depend on their place alone."""
    rng = np.random.default_rng(7)
    vectors = rng.standard_normal((count * chunks, DIMENSION)).astype(np.float32)
    return [
        PublishRow(chunk(f"d{document:03}.md", ordinal, f"{word} {document} {ordinal}"), vectors[document * chunks + ordinal])
        for document in range(count)
        for ordinal in range(chunks)
    ]


def put(
    database: Database,
    rows: Sequence[PublishRow] | Callable[[], Iterator[PublishRow]],
    version: str,
    ref: InstanceRef = REF,
    fingerprint: str = "test:8",
    dimension: int = DIMENSION,
    **options: Any,
) -> PublishResult:
    """Publish rows with the arguments that the test does not care about filled in."""
    return publish(
        database,
        ref,
        rows=rows if callable(rows) else lambda: iter(rows),
        fingerprint=fingerprint,
        dimension=dimension,
        input_version=version,
        run_id=options.pop("run_id", "run-1"),
        code_versions={"parser": "1", "chunker": "2"},
        **options,
    )


def served(database: Database) -> list[tuple[Any, ...]]:
    """What a reader sees: key, ordinal and content of every served chunk, in order."""
    with database.connection() as connection:
        return connection.execute(
            "select doc_key, ordinal, content from doc_chunks order by source, doc_key, ordinal"
        ).fetchall()
