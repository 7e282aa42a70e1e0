"""Ablations that need another index: the served chunks without contextual headers, and without overlap.

Each is published to a database of its own, asked, and dropped. What is served is only read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from bbj_pipeline.evaluation.ablations import Ablation, ablation, answers_of
from bbj_pipeline.evaluation.judged import JudgedSet
from bbj_pipeline.evaluation.running import Answer
from bbj_pipeline.records import Chunk, InstanceRef
from bbj_pipeline.retrieval import SearchConfig
from bbj_pipeline.stages.contract import Embedder, Vector
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.publications import status
from bbj_pipeline.storage.publishing import PublishRow, publish
from bbj_pipeline.storage.readback import scratch_database, served_rows

__all__ = ["index_ablations", "without_headers", "without_overlap"]

_BATCH = 64
"""Texts in one call of the model."""
Change = Callable[[Sequence[Chunk]], list[Chunk]]


def without_headers(chunks: Sequence[Chunk]) -> list[Chunk]:
    """Return the chunks without their contextual headers: neither the model nor the words see them."""
    return [replace(chunk, contextual_header="") for chunk in chunks]


def without_overlap(chunks: Sequence[Chunk]) -> list[Chunk]:
    """Return the chunks, in order of document and ordinal, without what they repeat from the end of the chunk before.

    A chunk that is said to overlap and does not begin with the end of its forerunner (a note is repeated without its mark)
    stays as it is.
    """
    changed = []
    before: Chunk | None = None
    for chunk in chunks:
        follows = before is not None and (before.key, before.ordinal + 1) == (chunk.key, chunk.ordinal)
        repeated = _repeated(before.content, chunk.content) if before is not None and follows and chunk.overlap else 0
        rest = chunk.content[repeated:].lstrip()
        changed.append(replace(chunk, content=rest, overlap=0) if repeated and rest else chunk)
        before = chunk
    return changed


def index_ablations(
    database: Database, embedder: Embedder, config: SearchConfig, judged: JudgedSet, baseline: Sequence[Answer]
) -> Iterator[Ablation]:
    """Yield the default configuration over the served chunks without headers, and without overlap.

    ``baseline`` are the default's answers. Texts that change are embedded anew, which takes the model's time.
    """
    variants: Mapping[str, Change] = {"without headers": without_headers, "without overlap": without_overlap}
    for name, change in variants.items():
        with scratch_database(database) as scratch:
            _publish_changed(database, scratch, embedder, change)
            yield ablation(name, answers_of(scratch, embedder, config, judged), baseline, floor=config.confidence_floor)


def _publish_changed(served: Database, scratch: Database, embedder: Embedder, change: Change) -> None:
    for item in status(served):
        ref = InstanceRef(item.kind, item.instance)
        if item.space_state != "active":
            continue
        rows = _changed_rows(served_rows(served, ref), embedder, change)
        publish(
            scratch,
            ref,
            rows=lambda rows=rows: iter(rows),  # type: ignore[misc]  # mypy cannot infer a lambda's default
            fingerprint=embedder.fingerprint,
            dimension=embedder.dimension,
            input_version="ablation",
            run_id="ablation",
            code_versions={},
        )


def _changed_rows(rows: Sequence[PublishRow], embedder: Embedder, change: Change) -> list[PublishRow]:
    chunks = change([row.chunk for row in rows])
    vectors: dict[str, Vector] = {row.chunk.embedding_text: row.vector for row in rows}
    missing = sorted({chunk.embedding_text for chunk in chunks} - vectors.keys())
    for start in range(0, len(missing), _BATCH):
        texts = missing[start : start + _BATCH]
        vectors.update(zip(texts, embedder.embed_documents(texts), strict=True))
    return [PublishRow(chunk, vectors[chunk.embedding_text]) for chunk in chunks]


def _repeated(before: str, content: str) -> int:
    """Return the length of the longest beginning of ``content`` that ends ``before``."""
    for length in range(min(len(before), len(content)), 0, -1):
        if before.endswith(content[:length]):
            return length
    return 0
