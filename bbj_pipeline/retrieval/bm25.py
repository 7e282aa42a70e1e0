"""BM25's arithmetic: how much a term weighs, which terms of a question are too common to look for, and the scores. Pure.

The formula is Robertson's with Lucene's IDF, as bm25s computes by default ("lucene"): a term that stands in a chunk adds
``idf * tf / (tf + k1 * (1 - b + b * length / average))``, less than its IDF, and IDF is never negative.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from bbj_pipeline.storage.lexical import Admitted, Postings, Term

__all__ = ["K1", "B", "Plan", "Scores", "first_scores", "idf", "plan", "proving_plan"]

K1 = 1.2
B = 0.75
_ROUNDED = 1e-8
"""More than rounding to nine digits can move a score."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Terms by id with their weights: those that find candidates, and the ``common`` ones that only count in them.

    ``base`` and ``slope`` make the denominator: ``tf + base + slope * length``.
    """

    weights: dict[int, float]
    common: dict[int, float]
    base: float
    slope: float

    def gains(self, postings: Postings, weight: float) -> NDArray[np.float64]:
        """Return what a term of this weight adds to each chunk it stands in."""
        return weight * postings.tfs / (postings.tfs + self.base + self.slope * postings.lengths)

    @property
    def rest(self) -> float:
        """What a chunk without any of the finding terms scores less than: so high the last result must be to be proven."""
        return sum(self.common.values())


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of some chunks, in order of their numbers, and whether each fits the hint: parallel arrays."""

    chunks: NDArray[np.int64]
    hinted: NDArray[np.bool_]
    scores: NDArray[np.float64]

    def hopeful(self, count: int, rest: float) -> Scores:
        """Keep those that ``rest`` more could still lift among the best ``count``, of all or of those that fit the hint."""
        least = np.where(self.hinted, self._last(count, self.hinted), np.inf)
        return self._where(self.scores + rest + _ROUNDED >= np.minimum(least, self._last(count)))

    def completed(self, gains: NDArray[np.float64], chunks: NDArray[np.int64]) -> Scores:
        """Add what one more term gives ``chunks``, as far as they are among these."""
        places = np.minimum(np.searchsorted(self.chunks, chunks), max(0, len(self.chunks) - 1))
        known = self.chunks[places] == chunks if len(self.chunks) else np.zeros(len(chunks), dtype=np.bool_)
        scores = self.scores.copy()
        scores[places[known]] += gains[known]
        return Scores(self.chunks, self.hinted, scores)

    def proven(self, count: int, matching: int, hinted_matching: int) -> float:
        """Return the score that a chunk unseen so far must exceed to be among the best ``count``, of all or of the hinted.

        None can when all that match are seen; any can while there are places left to fill.
        """
        return min(
            math.inf if len(self.scores) >= matching else self._last(count),
            math.inf if int(self.hinted.sum()) >= hinted_matching else self._last(count, self.hinted),
        )

    def best(self, count: int) -> Scores:
        """Keep the best ``count`` and the best of those that fit the hint, with all that score the same as the last.

        Scores are given to nine digits: the last ones depend on the order of addition, and equal scores would not tie.
        """
        rounded = Scores(self.chunks, self.hinted, np.round(self.scores, 9))
        own = rounded.hinted & (rounded.scores >= rounded._last(count, rounded.hinted))
        return rounded._where((rounded.scores >= rounded._last(count)) | own)

    def _last(self, count: int, among: NDArray[np.bool_] | None = None) -> float:
        """Return the score at the place ``count``, 0 when fewer are there."""
        scores = self.scores if among is None else self.scores[among]
        return float(np.partition(scores, -count)[-count]) if len(scores) >= count else 0.0

    def _where(self, kept: NDArray[np.bool_]) -> Scores:
        return Scores(self.chunks[kept], self.hinted[kept], self.scores[kept])


def first_scores(postings: Mapping[int, Postings], plan: Plan) -> Scores:
    """Add up what the finding terms give each chunk that has one of them, the rarest term first."""
    parts = [(postings[term], weight) for term, weight in plan.weights.items() if term in postings]
    if not parts:
        return Scores(np.empty(0, np.int64), np.empty(0, np.bool_), np.empty(0))
    chunks, places = np.unique(np.concatenate([part.chunks for part, _ in parts]), return_inverse=True)
    hinted = np.zeros(len(chunks), dtype=np.bool_)
    hinted[places] = np.concatenate([part.hinted for part, _ in parts])
    gains = np.concatenate([plan.gains(part, weight) for part, weight in parts])
    return Scores(chunks, hinted, np.bincount(places, weights=gains).astype(np.float64))


def idf(df: int, chunks: int) -> float:
    """Return the weight of a term that stands in ``df`` of ``chunks`` chunks (Robertson and Sparck Jones; Lucene's 1 +)."""
    return math.log(1 + (chunks - df + 0.5) / (df + 0.5))


def plan(terms: Sequence[tuple[Term, float]], statistics: Admitted, postings: int) -> Plan:
    """Split terms with their factors, the rarest first, so that some ``postings`` are read to find candidates.

    The rarest term always finds.
    """
    read = list(accumulate(term.df for term, _ in terms))
    return _split(terms, statistics, max(1, sum(count <= postings for count in read)))


def proving_plan(terms: Sequence[tuple[Term, float]], statistics: Admitted, score: float) -> Plan:
    """Split the same terms so that those not looked for give less than ``score`` together (MaxScore, Turtle and Flood 1995).

    With the score of the last of the best known so far, what this finds needs no further proof: that score only rises.
    """
    rests = list(accumulate(factor * idf(term.df, statistics.chunks) for term, factor in reversed(terms)))
    return _split(terms, statistics, len(terms) - sum(rest <= score for rest in rests))


def _split(terms: Sequence[tuple[Term, float]], statistics: Admitted, finding: int) -> Plan:
    weighted = [(term.id, factor * idf(term.df, statistics.chunks)) for term, factor in terms]
    base, slope = K1 * (1 - B), K1 * B / statistics.average_length
    return Plan(dict(weighted[:finding]), dict(weighted[finding:]), base=base, slope=slope)
