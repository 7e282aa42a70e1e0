"""The embed stage: gives every chunk its vector, computing only the texts that the cache does not know.

No model and no storage live here; both are passed in. A vector is checked before it is stored: one bad vector in the cache
would be served for ever. A text whose vector is unusable is found by halving its batch and reported; the others go on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bbj_pipeline.errors import ModelError
from bbj_pipeline.records import Chunk
from bbj_pipeline.stages.contract import Embedder, EmbeddingCache, Vector, Vectors

__all__ = ["EMBED_VERSION", "EmbedResult", "embed"]

EMBED_VERSION = "2"
_NORM_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class EmbedResult:
    """Vectors aligned with the chunks, shape (chunks, dimension); how many texts were computed, how many chunks reused one.

    ``computed + reused`` is the number of chunks: a text that stands in several chunks is computed once and reused after.
    ``unusable`` says by text hash why the model gives no vector for a text; the rows of its chunks are zeros.
    """

    vectors: Vectors
    computed: int
    reused: int
    unusable: Mapping[str, str]


def embed(
    chunks: Sequence[Chunk],
    embedder: Embedder,
    cache: EmbeddingCache,
    *,
    batch: int,
    progress: Callable[[int], None] = lambda texts: None,
) -> EmbedResult:
    """Return a unit vector for every chunk.

    Identical texts are embedded once; the cache is asked in one call; missing texts go to the model by length, so that a
    batch pads little, and every finished batch is stored at once, so that a killed run resumes where it stopped; after each,
    ``progress`` hears how many texts it had. Raises ``ModelError`` when a cached vector is unusable, when vectors have
    another shape than the model's, or when no text of a batch has a usable one, nor a plain word: then not a text is bad, but
    the model.
    """
    hashes = [chunk.text_hash for chunk in chunks]
    first_chunk = dict(zip(reversed(hashes), reversed(chunks), strict=True))
    known = dict(cache.get(embedder.fingerprint, list(first_chunk))) if first_chunk else {}
    for text_hash, vector in known.items():
        _check(vector, first_chunk[text_hash], embedder.dimension)

    missing = [(text_hash, chunk) for text_hash, chunk in first_chunk.items() if text_hash not in known]
    missing.sort(key=lambda item: (-item[1].tokens, item[0]))
    unusable: dict[str, str] = {}
    for start in range(0, len(missing), batch):
        part = missing[start : start + batch]
        fresh = _compute(part, embedder)
        if not fresh and not _works(embedder):
            raise ModelError(
                f"the embedding model gives no usable vector, not even of one word; the first text was {_where(part[0][1])}",
                remedy="check the model's files and number format, and run `bbj-pipeline doctor`",
            )
        cache.put(embedder.fingerprint, fresh)
        known.update(fresh)
        unusable.update({text_hash: _UNUSABLE for text_hash, _ in part if text_hash not in fresh})
        progress(len(part))

    vectors = np.zeros((len(chunks), embedder.dimension), dtype=np.float32)
    for row, text_hash in enumerate(hashes):
        if text_hash in known:
            vectors[row] = known[text_hash]
    return EmbedResult(vectors=vectors, computed=len(missing), reused=len(chunks) - len(missing), unusable=unusable)


_UNUSABLE = "the model's vector is not finite or zero, alone as in a batch"


def _compute(part: Sequence[tuple[str, Chunk]], embedder: Embedder) -> dict[str, Vector]:
    """Return the usable vectors of a batch by text hash.

    One text can spoil the others of its batch (a NaN spreads over what is padded together), so what is unusable is asked
    again by halves, down to the single text.
    """
    vectors = embedder.embed_documents([chunk.embedding_text for _, chunk in part])
    if vectors.shape != (len(part), embedder.dimension):
        raise ModelError(
            f"the embedding model returned vectors of shape {vectors.shape} for {len(part)} texts, the first of them "
            f"{_where(part[0][1])}; expected ({len(part)}, {embedder.dimension})",
            remedy="check BBJ_EMBEDDING_MODEL, and run `bbj-pipeline doctor`",
        )
    usable = [bool(flag) for flag in _usable(vectors)]
    fresh = {part[row][0]: np.asarray(vectors[row], dtype=np.float32) for row, good in enumerate(usable) if good}
    again = [part[row] for row, good in enumerate(usable) if not good]
    if len(part) > 1 and again:
        middle = -(-len(again) // 2)
        for half in (again[:middle], again[middle:]):
            fresh.update(_compute(half, embedder) if half else {})
    return fresh


def _works(embedder: Embedder) -> bool:
    return bool(_usable(embedder.embed_documents(["window"])).all())


def _usable(vectors: Vectors) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Tell for each row whether its length is 1; NaN and infinity compare false."""
    usable: np.ndarray[tuple[int], np.dtype[np.bool_]] = np.abs(np.linalg.norm(vectors, axis=1) - 1) <= _NORM_TOLERANCE
    return usable


def _check(vector: Vector, chunk: Chunk, dimension: int) -> None:
    if vector.shape != (dimension,) or not _usable(vector[np.newaxis])[0]:
        raise ModelError(
            f"the cached vector of {_where(chunk)} is unusable (shape {vector.shape}, expected ({dimension},) of length 1)",
            remedy="delete this fingerprint's rows of embedding_cache; they are computed again",
        )


def _where(chunk: Chunk) -> str:
    return f"{chunk.kind} {chunk.key} chunk {chunk.ordinal}"
