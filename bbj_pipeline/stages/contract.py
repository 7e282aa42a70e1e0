"""What the stages need from outside, as protocols: a tokenizer, an embedder, an embedding cache.

``models`` and ``storage`` implement them; tests pass small real or counting ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Embedder", "EmbeddingCache", "Tokenizer", "Vector", "Vectors"]

Vector = NDArray[np.float32]
"""One embedding, shape (dimension,)."""
Vectors = NDArray[np.float32]
"""Embeddings, shape (n, dimension)."""


class Tokenizer(Protocol):
    """Counts text in the embedding model's own tokens."""

    @property
    def name(self) -> str:
        """Name and revision, part of the chunker's version: other tokens, other chunks."""

    @property
    def window(self) -> int:
        """Tokens the model reads at most, special tokens included."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text as the model would read it alone, special tokens included, no truncation."""


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def fingerprint(self) -> str:
        """What decides a vector: provider, model, revision, pooling, prompt, max length, normalisation, dimension."""

    @property
    def dimension(self) -> int:
        """Length of every vector."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors of shape (len(texts), dimension) and length 1; NaN where the model gave nothing usable.

        Raises ``ModelError`` for a text over the window.
        """

    def embed_query(self, text: str) -> Vector:
        """Return the query's float32 vector of shape (dimension,) and length 1; raises ``ModelError`` when it is unusable."""


class EmbeddingCache(Protocol):
    """Vectors by (text hash, fingerprint); kept across runs."""

    def get(self, fingerprint: str, text_hashes: Sequence[str]) -> Mapping[str, Vector]:
        """Return the vectors that are known, by text hash."""

    def put(self, fingerprint: str, vectors: Mapping[str, Vector]) -> None:
        """Store vectors durably; storing a known one again is no error."""
