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
def test_a_broken_model_is_refused_and_nothing_is_stored(vector: list[float]) -> None:
    """A model none of whose vectors is finite, of length 1 and of its dimension is named with the first chunk it failed at."""
    cache = MemoryCache()
    with pytest.raises(ModelError, match=r"mdx 0\.md chunk 0"):
        embed(chunks_of("a b", "c"), BadEmbedder(vector), cache, batch=4)
    assert not cache.vectors


class SpoiltEmbedder(CountingEmbedder):
    """Gives NaN for every text of a batch in which a bad text stands, as padding together does."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        vectors = super().embed_documents(texts)
        return np.full_like(vectors, np.nan) if any("bad" in text for text in texts) else vectors


def test_a_text_without_a_usable_vector_is_bisected_out() -> None:
    """Of 32 texts with two bad ones, 30 get their vectors and are stored; the two are reported by hash, with zeros as rows."""
    texts = [f"text {number}" for number in range(32)]
    texts[5], texts[20] = "bad one", "another bad"
    chunks = chunks_of(*texts)
    embedder, cache = SpoiltEmbedder(), MemoryCache()
    result = embed(chunks, embedder, cache, batch=32)
    assert set(result.unusable) == {chunks[5].text_hash, chunks[20].text_hash}
    assert not result.vectors[[5, 20]].any()
    assert len(cache.vectors) == 30
    good = [row for row in range(32) if row not in (5, 20)]
    assert np.array_equal(result.vectors[good], np.stack([embedder.vector(texts[row]) for row in good]))
    assert embedder.calls <= 2 * 2 * 6  # two searches by halves among 32 texts, both halves asked


def test_only_bad_texts_left_do_not_condemn_the_model() -> None:
    """When everything else is cached and the rest is bad, the model is asked for a plain word before it is called broken."""
    chunks = chunks_of("fine", "bad one", "another bad")
    cache = MemoryCache()
    embed(chunks, SpoiltEmbedder(), cache, batch=8)
    again = embed(chunks, SpoiltEmbedder(), cache, batch=8)
    assert len(again.unusable) == 2
    assert again.vectors[0].any()


def test_progress_counts_every_computed_text() -> None:
    """The listener hears each batch: in all as many texts as were computed."""
    heard: list[int] = []
    embed(
        chunks_of(*(f"text {n}" for n in range(7)), "text 0"), CountingEmbedder(), MemoryCache(), batch=3, progress=heard.append
    )
    assert heard == [3, 3, 1]


def test_no_chunks_are_no_work() -> None:
    """An empty document gives an array of no rows and asks nobody."""
    embedder, cache = CountingEmbedder(), MemoryCache()
    assert embed([], embedder, cache, batch=4).vectors.shape == (0, 8)
    assert (embedder.calls, cache.gets) == (0, 0)
