"""BM25's arithmetic: how much a term weighs, and which terms of a question are too common to look for. Pure.

The formula is Robertson's with Lucene's IDF, as bm25s computes by default ("lucene"): a term that stands in a chunk adds
``idf * tf / (tf + k1 * (1 - b + b * length / average))``, less than its IDF, and IDF is never negative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from bbj_pipeline.storage.lexical import Admitted, Term

__all__ = ["K1", "B", "Plan", "idf", "plan", "proving_plan"]

K1 = 1.2
B = 0.75


@dataclass(frozen=True, slots=True)
class Plan:
    """Terms by id with their weights: those that find candidates, and the ``common`` ones that only count in them.

    ``base`` and ``slope`` make the denominator: ``tf + base + slope * length``.
    """

    weights: dict[int, float]
    common: dict[int, float]
    base: float
    slope: float

    @property
    def rest(self) -> float:
        """What a chunk without any of the finding terms scores less than: so high the last result must be to be proven."""
        return sum(self.common.values())


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
