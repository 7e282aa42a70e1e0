"""The dense leg of a search inside one database snapshot: nearest vectors by cosine.

Which way it takes is decided here from exact counts; the SQL is in ``sql/queries``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bbj_pipeline.retrieval.legs import Ranked
from bbj_pipeline.stages.contract import Vector
from bbj_pipeline.storage.database import Connection
from bbj_pipeline.storage.lexical import Admitted
from bbj_pipeline.storage.queries import query
from bbj_pipeline.storage.spaces import Space

__all__ = ["DenseLeg"]

EF_SEARCH = 120
"""Candidates HNSW keeps while it searches, at least. An index scan's time is nearly proportional to it."""
EF_FACTOR = 1.25
"""Otherwise so many times what is wanted, divided by the share of the rows that a filter admits. With up to four times as many
of both the judged queries on 9,919 real chunks had the same nDCG to three digits: what the graph hides the words find."""
HINTED_SCANNED = 1.25
"""With a hint so many times the rows that should hold enough of those that fit it; with 1.1 one scan of ten fell short."""
MAX_EF_SEARCH = 1000
"""The most that pgvector takes; a scan that needs more goes on in rounds."""
ROWS_PER_CANDIDATE = 8
"""Comparing so many rows one by one takes as long as one more candidate of an index scan; exact where that is less."""


@dataclass(frozen=True, slots=True)
class DenseLeg:
    """Nearest vectors by cosine."""

    connection: Connection
    space: Space
    embedding: Vector

    def search(self, among: Admitted, candidates: int) -> Ranked:
        """Return min(``candidates``, matching) chunks by cosine similarity, and as many of those that fit the hint."""
        if among.hinted is None or among.matching <= candidates:
            return self._nearest(among, candidates)
        rows: list[tuple[Any, ...]] = []
        if _is_worth_an_index(among, among.hinted_matching, candidates):
            rows = self._by_index(among, among.facets, among.hinted, among.hinted_matching, candidates)
        enough = len(rows) >= candidates
        found = _ranked(rows, "hnsw", {"matching": among.matching}) if enough else self._nearest(among, candidates)
        if enough and sum(is_hinted for *_, is_hinted in rows) >= candidates:
            return found
        # Few rows fit the hint, or what fits it lies further away than what does not.
        own = self._nearest(replace(among, facets=among.hinted, matching=among.hinted_matching), candidates)
        return _joined(found, own, found.details)

    def completed(self, found: Ranked, others: Sequence[str], candidates: int) -> Ranked:
        """Add those of ``others``, the chunks that another leg found, which the index scan should have met and did not.

        From far away a graph may show no way into a small cluster, say one product's manual among the classes of another:
        the very nearest chunks are missed then, and mostly hold words of the question. A hit is added when it is nearer than
        the last of the ``candidates`` nearest.
        """
        met = found.places
        unmet = [identity for identity in others if identity not in met]
        if found.path != "hnsw" or not unmet or len(found.items) < candidates:
            return found
        values = {"embedding": self.embedding, "ids": unmet}
        rows = self.connection.execute(query("select_similarities", chunks=self.space.chunks), values).fetchall()
        missed = [row for row in rows if row[1] > found.items[candidates - 1][1]]
        return _joined(found, _ranked(missed, found.path, {}), {**found.details, "missed_by_index": len(missed)})

    def _nearest(self, among: Admitted, candidates: int) -> Ranked:
        facets, matching = among.facets, among.matching
        if _is_worth_an_index(among, matching, candidates):
            rows = self._by_index(among, facets, None, matching, candidates)
            if len(rows) >= min(candidates, matching):
                return _ranked(rows, "hnsw", {"matching": matching})
        # Few rows match, or the index scan reached its own bounds before it had enough.
        values = {"facets": _array(facets), "embedding": self.embedding, "candidates": candidates}
        rows = self.connection.execute(query("select_dense_exact", chunks=self.space.chunks), values).fetchall()
        return _ranked(rows, "exact", {"matching": matching})

    def _by_index(
        self, among: Admitted, facets: Sequence[int] | None, hinted: Sequence[int] | None, wanted: int, candidates: int
    ) -> list[tuple[Any, ...]]:
        """Scan until ``candidates`` of the ``wanted`` rows, those that match or that fit the hint, should have been met."""
        matching = wanted if hinted is None else among.matching
        values = {
            "facets": _array(facets),
            "hinted": _array(hinted),
            "embedding": self.embedding,
            "candidates": candidates,
            "scanned": candidates if hinted is None else round(HINTED_SCANNED * candidates * matching / wanted),
        }
        breadth = min(MAX_EF_SEARCH, _breadth(among, wanted, candidates))
        self.connection.execute(query("set_hnsw_scan"), {"ef_search": str(breadth)})
        rows = self.connection.execute(query("select_dense_hnsw", chunks=self.space.chunks), values).fetchall()
        self.connection.execute(query("reset_hnsw_scan"))
        return rows


def _breadth(among: Admitted, wanted: int, candidates: int) -> int:
    """Return how many candidates HNSW looks at to meet ``candidates`` of the ``wanted`` rows."""
    return max(EF_SEARCH, round(EF_FACTOR * candidates * among.chunks / wanted))


def _is_worth_an_index(among: Admitted, wanted: int, candidates: int) -> bool:
    """Tell whether an index scan for the ``wanted`` rows is faster than comparing each of them."""
    return wanted > 0 and wanted > ROWS_PER_CANDIDATE * _breadth(among, wanted, candidates)


def _ranked(rows: Sequence[tuple[Any, ...]], path: str, details: Mapping[str, Any]) -> Ranked:
    """Make a result of rows that begin with id, similarity and generations, the nearest first."""
    return Ranked(tuple((row[0], float(row[1])) for row in rows), {row[0]: tuple(row[2]) for row in rows}, path, dict(details))


def _joined(found: Ranked, more: Ranked, details: Mapping[str, Any]) -> Ranked:
    """Put what two searches found in one order."""
    items = sorted((dict(found.items) | dict(more.items)).items(), key=lambda item: (-item[1], item[0]))
    return Ranked(tuple(items), {**found.generations, **more.generations}, found.path, dict(details))


def _array(values: Sequence[int] | None) -> list[int] | None:
    return None if values is None else list(values)
