"""The embedding cache in PostgreSQL: a vector by fingerprint and text hash, kept across runs and shared by all instances.

Implements ``stages.contract.EmbeddingCache``. It embeds nothing and decides nothing about spaces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bbj_pipeline.stages.contract import Vector
from bbj_pipeline.storage.database import Connection, Database
from bbj_pipeline.storage.queries import query
from bbj_pipeline.storage.spaces import register_space

__all__ = ["DatabaseEmbeddingCache"]

BATCH = 1000
"""Vectors in one statement: 4 MB at 1,024 dimensions."""
_STORED = np.dtype("<f4")


class DatabaseEmbeddingCache:
    """Vectors as little-endian float32 in the table ``embedding_cache``; each ``put`` is committed when it returns."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, fingerprint: str, text_hashes: Sequence[str]) -> Mapping[str, Vector]:
        """Return the known vectors by text hash (hex SHA-256); unknown ones are absent."""
        return self._database.read(lambda connection: _get(connection, fingerprint, text_hashes))

    def put(self, fingerprint: str, vectors: Mapping[str, Vector]) -> None:
        """Store vectors of one dimension; a known text hash keeps the vector it has.

        Raises ``SchemaError`` when the dimension is not the one the fingerprint was registered with.
        """
        if not vectors:
            return
        self._database.retried(lambda connection: _put(connection, fingerprint, vectors))


def _get(connection: Connection, fingerprint: str, text_hashes: Sequence[str]) -> dict[str, Vector]:
    found: dict[str, Vector] = {}
    keys = [bytes.fromhex(text_hash) for text_hash in dict.fromkeys(text_hashes)]
    with connection.cursor(binary=True) as cursor:
        for start in range(0, len(keys), BATCH):
            values = {"fingerprint": fingerprint, "text_hashes": keys[start : start + BATCH]}
            for text_hash, embedding in cursor.execute(query("select_cached_embeddings"), values):
                found[text_hash.hex()] = np.frombuffer(embedding, dtype=_STORED).astype(np.float32)
    return found


def _put(connection: Connection, fingerprint: str, vectors: Mapping[str, Vector]) -> None:
    items = sorted(vectors.items())  # one order of locks for all writers
    with connection.transaction():
        space = register_space(connection, fingerprint, int(items[0][1].shape[0]))
        if any(vector.shape != (space.dimension,) for _, vector in items):
            raise ValueError(f"vectors of shape ({space.dimension},) expected")
        for start in range(0, len(items), BATCH):
            batch = items[start : start + BATCH]
            values = {
                "fingerprint": fingerprint,
                "text_hashes": [bytes.fromhex(text_hash) for text_hash, _ in batch],
                "embeddings": [vector.astype(_STORED).tobytes() for _, vector in batch],
            }
            connection.execute(query("insert_cached_embeddings"), values)
