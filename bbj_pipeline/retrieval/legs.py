"""The two legs of a search inside one database snapshot: nearest vectors, and any of the words by BM25.

A leg returns ids best first. Which way a search takes is decided here from exact counts; the SQL is in ``sql/queries``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bbj_pipeline.records import DocType, Generation
from bbj_pipeline.retrieval.bm25 import Plan, plan, proving_plan
from bbj_pipeline.retrieval.spelling import edit_distance, tolerated
from bbj_pipeline.stages.contract import Vector
from bbj_pipeline.stages.terms import terms
from bbj_pipeline.storage.database import Connection
from bbj_pipeline.storage.lexical import Admitted, Term, find_terms, near_terms, score_postings
from bbj_pipeline.storage.queries import query
from bbj_pipeline.storage.spaces import Space

__all__ = ["DenseLeg", "Filter", "LexicalLeg", "Ranked", "ids"]

EF_SEARCH = 200
"""Candidates HNSW keeps while it searches, at least."""
EF_FACTOR = 2
"""Otherwise so many times what is wanted, divided by the share of the rows that a filter admits. Twice as many cost twice the
time and changed no judged query's first ten."""
MAX_EF_SEARCH = 1000
ROWS_PER_CANDIDATE = 8
"""Comparing so many rows one by one takes as long as one more candidate of an index scan; exact where that is less."""
FIRST_POSTINGS = 30_000
"""Postings read to find the first candidates: so many that a second look is rare. With a third, p95 was 2.5 times as long."""
MAX_CORRECTED = 3
"""Misspelt words of one question that are corrected; the longest, whose neighbours are fewest."""
MAX_SPELLINGS = 3
"""Terms that one misspelt word may stand for."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which chunks may be found; ``None`` means all. ``hinted`` generations filter nothing: they get places of their own.

    ``sources`` are ``kind/instance``; ``version`` is a version number (1910 for 19.10) and admits what came by then or names
    no version; ``current`` leaves out what is deprecated.
    """

    kinds: tuple[str, ...] | None = None
    sources: tuple[str, ...] | None = None
    generations: tuple[Generation, ...] | None = None
    doc_types: tuple[DocType, ...] | None = None
    version: int | None = None
    current: bool = False
    hinted: tuple[Generation, ...] | None = None

    @property
    def is_open(self) -> bool:
        """Whether all chunks are admitted."""
        lists = (self.kinds, self.sources, self.generations, self.doc_types, self.version)
        return not self.current and all(value is None for value in lists)

    @property
    def values(self) -> dict[str, Any]:
        """Named parameters of ``select_admitted.sql``."""
        lists = {
            "kinds": self.kinds,
            "instances": self.sources,
            "generations": self.generations,
            "doc_types": self.doc_types,
            "hinted": self.hinted,
        }
        arrays = {name: None if value is None else list(value) for name, value in lists.items()}
        return {**arrays, "version": self.version, "current": self.current}


@dataclass(frozen=True, slots=True)
class Ranked:
    """What a leg found: ``(id, score)`` best first; ``path`` tells how, ``details`` what else there is to explain.

    ``places`` gives each id's rank (from 1) and score.
    """

    items: tuple[tuple[str, float], ...]
    path: str
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def places(self) -> dict[str, tuple[int, float]]:
        """Rank (from 1) and score by id."""
        return {identity: (rank, score) for rank, (identity, score) in enumerate(self.items, start=1)}


@dataclass(frozen=True, slots=True)
class DenseLeg:
    """Nearest vectors by cosine."""

    connection: Connection
    space: Space
    embedding: Vector

    def search(self, among: Admitted, candidates: int) -> Ranked:
        """Return min(``candidates``, matching) chunks by cosine similarity, and as many of those that fit the hint."""
        if among.hinted is None or among.matching <= candidates:
            return self._nearest(among, among.facets, among.matching, candidates)
        if _is_worth_an_index(among, among.hinted_matching, candidates):
            both = self._by_index(among, among.facets, among.hinted, among.hinted_matching, candidates)
            if sum(is_hinted for _, _, is_hinted in both) >= candidates:
                return Ranked(_items(both), "hnsw", {"matching": among.matching})
        # Few rows fit the hint, or what fits it lies further away than what does not.
        found = self._nearest(among, among.facets, among.matching, candidates)
        own = self._nearest(among, among.hinted, among.hinted_matching, candidates)
        items = sorted((dict(found.items) | dict(own.items)).items(), key=lambda item: (-item[1], item[0]))
        return Ranked(tuple(items), found.path, found.details)

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
        missed = [item for item in _items(rows) if item[1] > found.items[candidates - 1][1]]
        items = tuple(sorted([*found.items, *missed], key=lambda item: (-item[1], item[0])))
        return Ranked(items, found.path, {**found.details, "missed_by_index": len(missed)})

    def _nearest(self, among: Admitted, facets: Sequence[int] | None, matching: int, candidates: int) -> Ranked:
        if _is_worth_an_index(among, matching, candidates):
            rows = self._by_index(among, facets, None, matching, candidates)
            if len(rows) >= min(candidates, matching):
                return Ranked(_items(rows), "hnsw", {"matching": matching})
        # Few rows match, or the index scan reached its own bounds before it had enough.
        values = {"facets": _array(facets), "embedding": self.embedding, "candidates": candidates}
        rows = self.connection.execute(query("select_dense_exact", chunks=self.space.chunks), values).fetchall()
        return Ranked(_items(rows), "exact", {"matching": matching})

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
            "scanned": round(2 * candidates * matching / wanted),
        }
        self.connection.execute(query("set_hnsw_scan"), {"ef_search": str(_breadth(among, wanted, candidates))})
        rows = self.connection.execute(query("select_dense_hnsw", chunks=self.space.chunks), values).fetchall()
        self.connection.execute(query("reset_hnsw_scan"))
        return rows


@dataclass(frozen=True, slots=True)
class LexicalLeg:
    """BM25 with any-term semantics; a question without a single known term finds nothing."""

    connection: Connection
    space: Space
    question: str
    first_postings: int = FIRST_POSTINGS

    def search(self, among: Admitted, candidates: int) -> Ranked:
        """Return the ``candidates`` chunks of the highest BM25 score, and as many of those that fit the hint; exact.

        Candidates are first looked for by the rarest terms. That is enough when the last of the best scores as much as all
        the other terms together could give; if not, that score tells which of them must take part in the search too.
        """
        words = list(dict.fromkeys(terms(self.question)))
        known = find_terms(self.connection, self.space, words)
        weighted, corrected = self._with_spellings(words, known)
        details: dict[str, Any] = {"terms": {term.text: term.df for term, _ in weighted}, "corrected": corrected or None}
        if not weighted:
            return Ranked((), "no terms", details)
        bounds = plan(weighted, among, self.first_postings)
        best, own = self._scored(bounds, among, candidates)
        reached = min(_reached(best, candidates, among.matching), _reached(own, candidates, among.hinted_matching))
        if bounds.rest > reached:
            bounds = proving_plan(weighted, among, reached)
            best, own = self._scored(bounds, among, candidates)
        items = sorted({*best, *own}, key=lambda item: (-item[1], item[0]))
        details["common"] = len(bounds.common)
        return Ranked(tuple(items), "bm25", details)

    def _scored(
        self, bounds: Plan, among: Admitted, candidates: int
    ) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
        """Return the best chunks, and the best of those that fit the hint."""
        found = score_postings(
            self.connection,
            self.space,
            weights=bounds.weights,
            common=bounds.common,
            base=bounds.base,
            slope=bounds.slope,
            facets=among.facets,
            hinted=among.hinted,
            limit=candidates,
        )
        return _best(found, candidates), _best([row for row in found if row[1]], candidates)

    def _with_spellings(
        self, words: Sequence[str], known: Sequence[Term]
    ) -> tuple[list[tuple[Term, float]], dict[str, list[str]]]:
        """Return the known terms and, for words that no chunk has, the terms they may be misspelt for, with factors."""
        weighted = dict.fromkeys(known, 1.0)
        texts = {term.text for term in known}
        corrected: dict[str, list[str]] = {}
        unknown = sorted((word for word in words if word not in texts and tolerated(word)), key=lambda word: (-len(word), word))
        for word in unknown[:MAX_CORRECTED]:
            most = tolerated(word)
            near = [(edit_distance(word, term.text, most), term) for term in self._near(word, most)]
            spellings = sorted(((distance, -term.df, term.text, term) for distance, term in near if distance <= most))
            chosen = [item for item in spellings if item[0] == spellings[0][0]][:MAX_SPELLINGS]
            for distance, _, text, term in chosen:
                corrected.setdefault(word, []).append(text)
                weighted[term] = max(weighted.get(term, 0.0), 1 / (1 + distance))
        return sorted(weighted.items(), key=lambda item: (item[0].df, item[0].text)), corrected

    def _near(self, word: str, most: int) -> list[Term]:
        return near_terms(self.connection, self.space, word, most)


def _breadth(among: Admitted, wanted: int, candidates: int) -> int:
    """Return how many candidates HNSW keeps to meet ``candidates`` of the ``wanted`` rows."""
    return min(MAX_EF_SEARCH, max(EF_SEARCH, round(EF_FACTOR * candidates * among.chunks / wanted)))


def _is_worth_an_index(among: Admitted, wanted: int, candidates: int) -> bool:
    """Tell whether an index scan for the ``wanted`` rows is faster than comparing each of them."""
    return wanted > 0 and wanted > ROWS_PER_CANDIDATE * _breadth(among, wanted, candidates)


def ids(items: Sequence[tuple[str, float]]) -> list[str]:
    """Return the ids in order."""
    return [identity for identity, _ in items]


def _best(found: Sequence[tuple[str, bool, float]], count: int) -> list[tuple[str, float]]:
    """Return the best, equal scores by id; the last digits, which depend on the order of addition, are left out."""
    return sorted(((identity, round(score, 9)) for identity, _, score in found), key=lambda item: (-item[1], item[0]))[:count]


def _reached(best: Sequence[tuple[str, float]], count: int, matching: int) -> float:
    """Return the score that a chunk must exceed to be among the best: none while there are places left to fill."""
    if len(best) >= matching:
        return math.inf
    return best[-1][1] if len(best) >= count else 0.0


def _items(rows: Sequence[tuple[Any, ...]]) -> tuple[tuple[str, float], ...]:
    return tuple((row[0], float(row[1])) for row in rows)


def _array(values: Sequence[int] | None) -> list[int] | None:
    return None if values is None else list(values)
