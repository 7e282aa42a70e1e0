"""The metrics of one ranked list of documents against graded judgements. Pure arithmetic.

Definitions are trec_eval's, so that the numbers can be checked with any tool that reads its files: the gain is the grade, the
discount log2(rank + 1), and a document is relevant from grade 1 on.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

__all__ = ["DEPTH", "METRICS", "PRIMARY", "Scores", "score"]

DEPTH = 10
"""Documents of a ranking that are looked at; nobody reads on."""
METRICS = ("MRR", "nDCG@10", "recall@5", "recall@10")
PRIMARY = "nDCG@10"
"""The one metric that decides: it sees grades and all ten places. Deciding by four would err four times as often."""

Scores = Mapping[str, float]
"""A value in 0..1 for each name in ``METRICS``."""
Item = TypeVar("Item", bound=Hashable)


def score(ranked: Sequence[Item], grades: Mapping[Item, int]) -> Scores:
    """Return the metrics of ``ranked``, distinct items best first, of which ``DEPTH`` count; ``grades`` are above 0, not empty.

    The reciprocal rank is that of the first relevant item (Voorhees 1999), nDCG is by Järvelin and Kekäläinen (2002) with the
    best order of all judged items as ideal, recall the share of all judged items among the first.
    """
    first = ranked[:DEPTH]
    gain = _discounted([grades.get(item, 0) for item in first])
    ideal = _discounted(sorted(grades.values(), reverse=True)[:DEPTH])
    reciprocal = next((1 / rank for rank, item in enumerate(first, start=1) if item in grades), 0.0)
    recall = {cut: sum(item in grades for item in first[:cut]) / len(grades) for cut in (5, 10)}
    return {"MRR": reciprocal, "nDCG@10": gain / ideal, "recall@5": recall[5], "recall@10": recall[10]}


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))
