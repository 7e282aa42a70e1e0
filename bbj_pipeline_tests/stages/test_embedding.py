"""The embed stage: no text twice, work kept when killed, bad vectors refused."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from bbj_pipeline.errors import ModelError
from bbj_pipeline.records import Chunk
from bbj_pipeline.stages.contract import Vectors
from bbj_pipeline.stages.embedding import embed
from bbj_pipeline_tests.fakes import CountingEmbedder, MemoryCache


def chunks_of(*texts: str) -> list[Chunk]:
    return [
        Chunk("mdx", f"{number}.md", number, 0, "T", (), "", text, len(text.split()), "concept", ())
        for number, text in enumerate(texts)
    ]


def test_vectors_are_aligned_and_identical_texts_are_embedded_once() -> None:
    """Row i is the vector of chunk i; a text that stands in three chunks goes to the model once."""
    embedder, cache = CountingEmbedder(), MemoryCache()
    chunks = chunks_of("one", "two words", "one", "three of them", "one")
    result = embed(chunks, embedder, cache, batch=2)
    assert np.array_equal(result.vectors, np.stack([embedder.vector(chunk.embedding_text) for chunk in chunks]))
    assert sorted(embedder.texts) == ["one", "three of them", "two words"]
    assert (result.computed, result.reused) == (3, 2)
    assert cache.gets == 1


def test_longest_texts_come_first_and_every_batch_is_stored() -> None:
    """Texts are batched by length, and each batch is stored when it is done."""
    embedder, cache = CountingEmbedder(), MemoryCache()
    embed(chunks_of("a", "a b c d", "a b", "a b c", "a b c d e"), embedder, cache, batch=2)
    assert embedder.texts == ["a b c d e", "a b c d", "a b c", "a b", "a"]
    assert (embedder.calls, cache.puts) == (3, 3)


def test_a_known_text_is_never_computed() -> None:
    """A second run over the same chunks asks the model for nothing."""
    embedder, cache = CountingEmbedder(), MemoryCache()
    first = embed(chunks_of("a", "b"), embedder, cache, batch=8)
    again = CountingEmbedder()
    second = embed(chunks_of("a", "b"), again, cache, batch=8)
    assert again.calls == 0
    assert (second.computed, second.reused) == (0, 2)
    assert np.array_equal(first.vectors, second.vectors)


def test_another_fingerprint_is_another_space() -> None:
    """Vectors of one model are never taken for another's."""
    cache = MemoryCache()
    embed(chunks_of("a"), CountingEmbedder(), cache, batch=8)
    other = CountingEmbedder(fingerprint="counting:2")
    assert embed(chunks_of("a"), other, cache, batch=8).computed == 1


class FailingEmbedder(CountingEmbedder):
    """Stops at its second call, as a killed run does."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if self.calls == 1:
            raise KeyboardInterrupt
        return super().embed_documents(texts)


def test_a_killed_run_resumes_where_it_stopped() -> None:
    """What was embedded before the kill is in the cache, and the next run computes only the rest."""
    cache = MemoryCache()
    chunks = chunks_of("a", "b c", "d e f")
    with pytest.raises(KeyboardInterrupt):
        embed(chunks, FailingEmbedder(), cache, batch=2)
    embedder = CountingEmbedder()
    assert embed(chunks, embedder, cache, batch=2).computed == 1
    assert embedder.texts == ["a"]


class BadEmbedder(CountingEmbedder):
    """Returns one given vector for every text."""

    def __init__(self, vector: list[float]) -> None:
        super().__init__(dimension=3)
        self.bad = np.array(vector, dtype=np.float32)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.bad for _ in texts])


@pytest.mark.parametrize("vector", [[np.nan, 0, 1], [np.inf, 0, 0], [0, 0, 0], [2, 0, 0], [1, 0]], ids=str)
def test_an_unusable_vector_is_refused_and_not_stored(vector: list[float]) -> None:
    """A vector that is not finite, not of length 1 or of another dimension names its chunk and never reaches the cache."""
    cache = MemoryCache()
    with pytest.raises(ModelError, match=r"mdx 0\.md chunk 0"):
        embed(chunks_of("a"), BadEmbedder(vector), cache, batch=4)
    assert not cache.vectors


def test_no_chunks_are_no_work() -> None:
    """An empty document gives an array of no rows and asks nobody."""
    embedder, cache = CountingEmbedder(), MemoryCache()
    assert embed([], embedder, cache, batch=4).vectors.shape == (0, 8)
    assert (embedder.calls, cache.gets) == (0, 0)
