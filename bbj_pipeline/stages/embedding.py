"""The embed stage: gives every chunk its vector, computing only the texts that the cache does not know.

No model and no storage live here; both are passed in. A vector is checked before it is stored: one bad vector in the cache
would be served for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bbj_pipeline.errors import ModelError
from bbj_pipeline.records import Chunk
from bbj_pipeline.stages.contract import Embedder, EmbeddingCache, Vector, Vectors

__all__ = ["EMBED_VERSION", "EmbedResult", "embed"]

EMBED_VERSION = "1"
_NORM_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class EmbedResult:
    """Vectors aligned with the chunks, shape (chunks, dimension); how many texts were computed, how many chunks reused one.

    ``computed + reused`` is the number of chunks: a text that stands in several chunks is computed once and reused after.
    """

    vectors: Vectors
    computed: int
    reused: int


def embed(chunks: Sequence[Chunk], embedder: Embedder, cache: EmbeddingCache, *, batch: int) -> EmbedResult:
    """Return a unit vector for every chunk.

    Identical texts are embedded once; the cache is asked in one call; missing texts go to the model by length, so that a
    batch pads little, and every finished batch is stored at once, so that a killed run resumes where it stopped.
    Raises ``ModelError`` naming the chunk when a vector is not finite, not of length 1 or of another dimension.
    """
    hashes = [chunk.text_hash for chunk in chunks]
    first_chunk = dict(zip(reversed(hashes), reversed(chunks), strict=True))
    known = dict(cache.get(embedder.fingerprint, list(first_chunk))) if first_chunk else {}
    for text_hash, vector in known.items():
        _check(vector, first_chunk[text_hash], embedder.dimension)

    missing = [(text_hash, chunk) for text_hash, chunk in first_chunk.items() if text_hash not in known]
    missing.sort(key=lambda item: (-item[1].tokens, item[0]))
    for start in range(0, len(missing), batch):
        part = missing[start : start + batch]
        fresh = _compute(part, embedder)
        cache.put(embedder.fingerprint, fresh)
        known.update(fresh)

    vectors = np.empty((len(chunks), embedder.dimension), dtype=np.float32)
    for row, text_hash in enumerate(hashes):
        vectors[row] = known[text_hash]
    return EmbedResult(vectors=vectors, computed=len(missing), reused=len(chunks) - len(missing))


def _compute(part: Sequence[tuple[str, Chunk]], embedder: Embedder) -> dict[str, Vector]:
    """Embed one batch and check every vector of it."""
    vectors = embedder.embed_documents([chunk.embedding_text for _, chunk in part])
    if len(vectors) != len(part):
        raise ModelError(
            f"the embedding model returned {len(vectors)} vectors for {len(part)} texts",
            remedy="check the model's adapter; every text needs its own vector",
        )
    fresh = {}
    for (text_hash, chunk), vector in zip(part, vectors, strict=True):
        _check(vector, chunk, embedder.dimension)
        fresh[text_hash] = np.asarray(vector, dtype=np.float32)
    return fresh


def _check(vector: Vector, chunk: Chunk, dimension: int) -> None:
    where = f"{chunk.kind} {chunk.key} chunk {chunk.ordinal}"
    if vector.shape != (dimension,):
        raise ModelError(
            f"the vector of {where} has shape {vector.shape}, expected ({dimension},)",
            remedy="check BBJ_EMBEDDING_MODEL, and run `bbj-pipeline doctor`",
        )
    norm = float(np.linalg.norm(vector))
    if not abs(norm - 1) <= _NORM_TOLERANCE:  # also true for NaN and infinity
        raise ModelError(
            f"the vector of {where} has length {norm:.4g}, expected 1",
            remedy="the model returned an unusable vector; check its files and number format",
        )
