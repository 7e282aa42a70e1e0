"""The two legs of a search inside one database snapshot: nearest vectors, and any of the words.

A leg returns ids best first. Which way a filtered vector search takes is decided here from an exact count; the SQL is in
``sql/queries``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bbj_pipeline.records import Generation
from bbj_pipeline.stages.contract import Vector
from bbj_pipeline.stages.identifiers import identifiers
from bbj_pipeline.storage.database import Connection
from bbj_pipeline.storage.queries import query
from bbj_pipeline.storage.spaces import Space

__all__ = ["DenseLeg", "Filter", "LexicalLeg", "Ranked"]

EXACT_ROWS = 2000
"""Up to so many matching rows are compared one by one: exact, and faster than an index scan that discards most it meets."""
EF_SEARCH = 100
"""Candidates HNSW keeps while it searches; pgvector's 40 loses a few per cent of the top 20."""
MAX_EF_SEARCH = 1000


@dataclass(frozen=True, slots=True)
class Filter:
    """Which chunks a leg may return; ``None`` means all."""

    kinds: tuple[str, ...] | None = None
    generations: tuple[Generation, ...] | None = None

    @property
    def values(self) -> dict[str, Any]:
        """Named parameters of the statements."""
        return {
            "kinds": None if self.kinds is None else list(self.kinds),
            "generations": None if self.generations is None else list(self.generations),
        }


@dataclass(frozen=True, slots=True)
class Ranked:
    """What a leg found: ``(id, score)`` best first; ``path`` tells how, ``matching`` how many rows the filter lets through."""

    items: tuple[tuple[str, float], ...]
    path: str
    matching: int | None = None


@dataclass(frozen=True, slots=True)
class DenseLeg:
    """Nearest vectors by cosine."""

    connection: Connection
    space: Space
    embedding: Vector

    def search(self, condition: Filter, hinted: Filter | None, candidates: int) -> Ranked:
        """Return min(``candidates``, matching) chunks by cosine similarity, and as many of those that ``hinted`` admits."""
        found = self._nearest(condition, candidates)
        if hinted is None or len(found.items) < candidates:
            return found
        items = dict(found.items) | dict(self._nearest(hinted, candidates).items)
        return Ranked(tuple(sorted(items.items(), key=lambda item: (-item[1], item[0]))), found.path, found.matching)

    def _nearest(self, condition: Filter, candidates: int) -> Ranked:
        values = {"space_id": self.space.id, "embedding": self.embedding, "candidates": candidates, **condition.values}
        row = self.connection.execute(query("count_matching"), values).fetchone()
        matching = row[0] if row else 0
        if matching > EXACT_ROWS:
            items = self._by_index(values, candidates)
            if len(items) >= min(candidates, matching):
                return Ranked(items, "hnsw", matching)
        # Few rows match, or the index scan reached its own bounds before it had enough.
        return Ranked(_rows(self.connection, "select_dense_exact", self.space, values), "exact", matching)

    def _by_index(self, values: dict[str, Any], candidates: int) -> tuple[tuple[str, float], ...]:
        ef_search = min(MAX_EF_SEARCH, max(EF_SEARCH, 2 * candidates))
        self.connection.execute(query("set_hnsw_scan"), {"ef_search": str(ef_search)})
        items = _rows(self.connection, "select_dense_hnsw", self.space, values)
        self.connection.execute(query("reset_hnsw_scan"))
        return items


class LexicalLeg:
    """PostgreSQL text search with any-term semantics; a question without a single term finds nothing."""

    def __init__(self, connection: Connection, space: Space, question: str) -> None:
        self._connection = connection
        self._space = space
        values = {"query": question, "identifiers": identifiers(question)}
        row = connection.execute(query("select_any_term"), values).fetchone()
        self.any_term: str | None = row[0] if row else None

    def search(self, condition: Filter, hinted: Filter | None, candidates: int) -> Ranked:
        """Return ``candidates`` chunks by ``ts_rank``, length-normalised, and as many of those that ``hinted`` admits."""
        if self.any_term is None:
            return Ranked((), "no terms")
        preferred = None if hinted is None else hinted.values["generations"]
        values = {"any_term": self.any_term, "candidates": candidates, "preferred": preferred, **condition.values}
        return Ranked(_rows(self._connection, "select_lexical", self._space, values), "text search")


def ids(items: Sequence[tuple[str, float]]) -> list[str]:
    """Return the ids in order."""
    return [identity for identity, _ in items]


def _rows(connection: Connection, name: str, space: Space, values: dict[str, Any]) -> tuple[tuple[str, float], ...]:
    return tuple((identity, float(score)) for identity, score in connection.execute(query(name, chunks=space.chunks), values))
