"""embeddings: a vector for every chunk, each distinct text computed once in the life of the cache."""

from __future__ import annotations

import logging
from itertools import islice

from bbj_pipeline.orchestration.stage_names import EMBEDDINGS
from bbj_pipeline.orchestration.steps.workplace import StepResult, Workplace, abandon_on_error
from bbj_pipeline.records import content_hash
from bbj_pipeline.stages.contract import Embedder, EmbeddingCache
from bbj_pipeline.stages.embedding import EMBED_VERSION, embed
from bbj_pipeline.storage import stage_records
from bbj_pipeline.storage.stage_files import StageFile
from bbj_pipeline.storage.stage_units import read_rows
from bbj_pipeline.storage.stage_vectors import VectorWriter, vector_schema

__all__ = ["embed_chunks"]

log = logging.getLogger(__name__)

_WINDOW = 2048
"""Chunks looked at together: enough to fill length-sorted batches, few enough to hold their vectors in memory."""


def embed_chunks(at: Workplace, chunks: StageFile, embedder: Embedder, cache: EmbeddingCache, *, batch: int) -> StepResult:
    """Embed one instance's chunks; ``counts`` says how many were computed and how many came from the cache."""
    version = content_hash([EMBED_VERSION, embedder.fingerprint])
    earlier = at.unchanged(EMBEDDINGS, chunks, version)
    if earlier is not None:
        return StepResult(earlier, earlier.info, {"computed": 0, "reused": earlier.info.rows})
    draft = at.store.draft(at.instance.ref, EMBEDDINGS, vector_schema(embedder.dimension))
    total = chunks.info.rows - chunks.info.rejects
    computed = reused = 0
    with abandon_on_error(draft):
        writer = VectorWriter(draft, embedder.dimension, embedder.fingerprint)
        rows = ((row.item_hash, row.record()) for row in read_rows(chunks, stage_records.CHUNKS) if row.reject is None)
        while window := list(islice(rows, _WINDOW)):
            result = embed([chunk for _, chunk in window], embedder, cache, batch=batch)
            writer.add(window, result.vectors)
            computed += result.computed
            reused += result.reused
            log.info("%s: %d of %d chunks have vectors, %d computed", at.instance.ref, computed + reused, total, computed)
        info = writer.finish(
            stage=EMBEDDINGS,
            stage_version=version,
            input_version=chunks.info.data_version,
            complete=chunks.info.complete,
            run_id=at.run_id,
        )
    return StepResult(draft, info, {"computed": computed, "reused": reused})
