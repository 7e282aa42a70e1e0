"""The embedding cache in PostgreSQL."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from bbj_pipeline.errors import SchemaError
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.embedding_cache import DatabaseEmbeddingCache


def _vectors(count: int, dimension: int = 384) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    return {
        hashlib.sha256(str(n).encode()).hexdigest(): rng.standard_normal(dimension).astype(np.float32) for n in range(count)
    }


def test_vectors_come_back_bit_for_bit(database: Database) -> None:
    """What was put is read back exactly, across batches and by another cache on the same database; unknown ones are absent."""
    vectors = _vectors(2500)
    DatabaseEmbeddingCache(database).put("model:384", vectors)
    unknown = "f" * 64
    found = DatabaseEmbeddingCache(database).get("model:384", [*vectors, unknown])
    assert found.keys() == vectors.keys()
    assert all(np.array_equal(found[name], vector) and found[name].dtype == np.float32 for name, vector in vectors.items())


def test_fingerprints_do_not_mix(database: Database) -> None:
    """The same text under another model is another vector."""
    name = "a" * 64
    cache = DatabaseEmbeddingCache(database)
    cache.put("one:2", {name: np.array([1, 0], np.float32)})
    cache.put("two:3", {name: np.array([0, 1, 0], np.float32)})
    assert cache.get("one:2", [name])[name].tolist() == [1, 0]
    assert cache.get("two:3", [name])[name].tolist() == [0, 1, 0]
    assert cache.get("three:2", [name]) == {}


def test_putting_again_is_no_error_and_keeps_the_first(database: Database) -> None:
    """A vector that is known stays as it was, so what was published from it stays reproducible."""
    name = "b" * 64
    cache = DatabaseEmbeddingCache(database)
    cache.put("one:2", {name: np.array([1, 0], np.float32)})
    cache.put("one:2", {name: np.array([0, 1], np.float32)})
    cache.put("one:2", {})
    assert cache.get("one:2", [name])[name].tolist() == [1, 0]


def test_another_dimension_is_refused(database: Database) -> None:
    """A fingerprint that changes its dimension is a mistake in the fingerprint."""
    cache = DatabaseEmbeddingCache(database)
    cache.put("one:2", {"c" * 64: np.array([1, 0], np.float32)})
    with pytest.raises(SchemaError, match="put the dimension into the embedder's fingerprint"):
        cache.put("one:2", {"d" * 64: np.array([1, 0, 0], np.float32)})
