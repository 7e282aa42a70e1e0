"""embeddings: a vector for every chunk, each distinct text computed once in the life of the cache."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from bbj_pipeline.errors import ModelError
from bbj_pipeline.orchestration.stage_names import EMBEDDINGS
from bbj_pipeline.orchestration.steps.workplace import StepResult, Workplace, abandon_on_error
from bbj_pipeline.records import content_hash
from bbj_pipeline.stages.contract import Embedder, EmbeddingCache
from bbj_pipeline.stages.embedding import EMBED_VERSION, embed
from bbj_pipeline.storage import stage_records
from bbj_pipeline.storage.stage_files import StageFile
from bbj_pipeline.storage.stage_units import read_rows
from bbj_pipeline.storage.stage_vectors import VectorWriter, vector_schema

__all__ = ["EmbeddingProgress", "ProgressListener", "embed_chunks"]

log = logging.getLogger(__name__)

_WINDOW = 2048
"""Chunks looked at together: enough to fill length-sorted batches, few enough to hold their vectors in memory."""
_LOG_SECONDS = 30.0
"""Seconds between two lines in the log: a night's run of hours stays readable, a hanging one is noticed within a minute."""
_TOLERATED, _TOLERATED_SHARE = 10, 0.01
"""Chunks without a usable vector that may stand aside: more of both, and the model is at fault and not the texts."""


@dataclass(frozen=True, slots=True)
class EmbeddingProgress:
    """How far an instance is: chunks with vectors of all its chunks, texts computed so far, seconds since the start."""

    instance: str
    done: int
    total: int
    computed: int
    seconds: float

    @property
    def rate(self) -> float:
        """Texts computed a second."""
        return self.computed / self.seconds if self.seconds > 0 else 0.0

    @property
    def remaining(self) -> float:
        """Seconds to go at the pace of the chunks so far; those that the cache knew make it an under-estimate at worst."""
        return (self.total - self.done) * self.seconds / self.done if self.done else 0.0


ProgressListener = Callable[[EmbeddingProgress], None]


class _Progress:
    """Counts along, tells the listener after each batch and the log from time to time."""

    def __init__(self, instance: str, total: int, listener: ProgressListener | None) -> None:
        self._instance, self._total, self._listener = instance, total, listener
        self._started = self._logged = time.monotonic()
        self.done = self.computed = 0

    def batch(self, texts: int) -> None:
        """Take note of texts that the model has just embedded."""
        self.computed += texts
        self._tell(self.done + texts)

    def window(self, chunks: int) -> None:
        """Take note that all chunks of a window have vectors."""
        self.done += chunks
        self._tell(self.done)

    def _tell(self, done: int) -> None:
        now = time.monotonic()
        state = EmbeddingProgress(self._instance, done, self._total, self.computed, now - self._started)
        if self._listener is not None:
            self._listener(state)
        if now - self._logged >= _LOG_SECONDS or done == self._total:
            self._logged = now
            log.info(
                "%s: %d of %d chunks have vectors, %d texts computed, %.1f a second, about %.0f s to go",
                *(self._instance, done, self._total, self.computed, state.rate, state.remaining),
            )


def embed_chunks(
    at: Workplace,
    chunks: StageFile,
    embedder: Embedder,
    cache: EmbeddingCache,
    *,
    batch: int,
    listener: ProgressListener | None = None,
) -> StepResult:
    """Embed one instance's chunks; ``counts`` says how many were computed, came from the cache, and have no usable vector.

    A file in which vectors are missing is not taken for finished: its texts are tried again. Raises ``ModelError`` when so
    many are missing that the model is at fault.
    """
    version = content_hash([EMBED_VERSION, embedder.fingerprint])
    earlier = at.unchanged(EMBEDDINGS, chunks, version)
    if earlier is not None and earlier.info.rejects == 0:
        return StepResult(earlier, earlier.info, {"computed": 0, "reused": earlier.info.rows, "unusable": 0})
    draft = at.store.draft(at.instance.ref, EMBEDDINGS, vector_schema(embedder.dimension))
    total = chunks.info.rows - chunks.info.rejects
    progress = _Progress(str(at.instance.ref), total, listener)
    with abandon_on_error(draft):
        writer = VectorWriter(draft, embedder.dimension, embedder.fingerprint)
        rows = ((row.item_hash, row.record()) for row in read_rows(chunks, stage_records.CHUNKS) if row.reject is None)
        while window := list(islice(rows, _WINDOW)):
            texts = [chunk for _, chunk in window]
            result = embed(texts, embedder, cache, batch=batch, progress=progress.batch)
            writer.add(window, result.vectors, result.unusable)
            progress.window(len(window))
            for text_hash, reason in result.unusable.items():
                found = next(chunk for chunk in texts if chunk.text_hash == text_hash)
                log.warning("%s: %s chunk %d has no vector: %s", at.instance.ref, found.key, found.ordinal, reason)
        info = writer.finish(
            stage=EMBEDDINGS,
            stage_version=version,
            input_version=chunks.info.data_version,
            complete=chunks.info.complete,
            run_id=at.run_id,
        )
        if info.rejects > max(_TOLERATED, _TOLERATED_SHARE * total):
            raise ModelError(
                f"{info.rejects} of {total} chunks of {at.instance.ref} have no usable vector",
                remedy="check the embedding model; the log names each chunk, and the vectors of the others are kept",
            )
    counts = {"computed": progress.computed, "reused": total - progress.computed, "unusable": info.rejects}
    return StepResult(draft, info, counts)
