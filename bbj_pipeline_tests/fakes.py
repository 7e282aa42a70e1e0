"""Small deterministic stand-ins passed in as values: an embedder and a cache that count calls, a tokenizer of words.

And a real embedder that is asked for each text once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from bbj_pipeline.stages.contract import Embedder, Vector, Vectors

__all__ = ["CountingEmbedder", "EmbedsOnce", "MemoryCache", "WordTokenizer"]


class CountingEmbedder:
    """Unit vectors that depend on the text alone; ``calls``, ``texts`` and ``queries`` say how often it was asked for what."""

    def __init__(self, dimension: int = 8, fingerprint: str = "counting:1") -> None:
        self._dimension = dimension
        self._fingerprint = fingerprint
        self.calls = 0
        self.texts: list[str] = []
        self.queries: list[str] = []

    @property
    def fingerprint(self) -> str:
        return self._fingerprint

    @property
    def dimension(self) -> int:
        return self._dimension

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.calls += 1
        self.texts.extend(texts)
        if not texts:
            return np.empty((0, self._dimension), dtype=np.float32)
        return np.stack([self.vector(text) for text in texts])

    def embed_query(self, text: str) -> Vector:
        self.queries.append(text)
        return self.vector(text)

    def vector(self, text: str) -> Vector:
        """The vector of a text: normal numbers seeded by its digest, scaled to length 1."""
        seed = int.from_bytes(hashlib.sha256(f"{self._fingerprint}\0{text}".encode()).digest()[:8], "big")
        values = np.random.default_rng(seed).standard_normal(self._dimension)
        return (values / np.linalg.norm(values)).astype(np.float32)


class EmbedsOnce:
    """Another embedder's vectors, computed once for each document and query of a process."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.fingerprint = embedder.fingerprint
        self.dimension = embedder.dimension
        self._documents: dict[str, Vector] = {}
        self._queries: dict[str, Vector] = {}

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if text not in self._documents]
        if new:
            self._documents.update(zip(new, self._embedder.embed_documents(new), strict=True))
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        return np.stack([self._documents[text] for text in texts])

    def embed_query(self, text: str) -> Vector:
        if text not in self._queries:
            self._queries[text] = self._embedder.embed_query(text)
        return self._queries[text]


class MemoryCache:
    """An embedding cache in a dictionary; ``gets`` and ``puts`` count calls, ``vectors`` is what it holds."""

    def __init__(self) -> None:
        self.vectors: dict[tuple[str, str], Vector] = {}
        self.gets = 0
        self.puts = 0

    def get(self, fingerprint: str, text_hashes: Sequence[str]) -> Mapping[str, Vector]:
        self.gets += 1
        known = ((name, self.vectors.get((fingerprint, name))) for name in text_hashes)
        return {name: vector for name, vector in known if vector is not None}

    def put(self, fingerprint: str, vectors: Mapping[str, Vector]) -> None:
        self.puts += 1
        for name, vector in vectors.items():
            self.vectors[fingerprint, name] = vector


class WordTokenizer:
    """Counts white-space separated words, plus two special tokens."""

    def __init__(self, window: int = 512) -> None:
        self._window = window
        self.calls = 0
        self.texts = 0

    @property
    def name(self) -> str:
        return f"words/{self._window}"

    @property
    def window(self) -> int:
        return self._window

    def count(self, texts: Sequence[str]) -> list[int]:
        self.calls += 1
        self.texts += len(texts)
        return [len(text.split()) + 2 for text in texts]
