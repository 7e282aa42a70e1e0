"""Tells whether search became worse between two runs of the same judged queries. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bbj_pipeline.evaluation.intervals import Interval, paired_interval
from bbj_pipeline.evaluation.metrics import METRICS, PRIMARY, Scores

__all__ = ["Comparison", "compare"]

LISTED = 10
"""Queries named as those that lost most."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences to an earlier run by metric, and the queries that lost, (id, difference in the primary metric)."""

    differences: Mapping[str, Interval]
    lost: Sequence[tuple[str, float]]

    @property
    def is_regression(self) -> bool:
        """Whether the whole interval of the primary metric's difference lies below zero."""
        return self.differences[PRIMARY].is_below_zero


def compare(scores: Mapping[str, Scores], baseline: Mapping[str, Scores]) -> Comparison:
    """Compare two runs, metrics by query id, over the same ids."""
    ids = list(scores)
    differences = {
        metric: paired_interval([scores[name][metric] for name in ids], [baseline[name][metric] for name in ids])
        for metric in METRICS
    }
    changes = ((name, scores[name][PRIMARY] - baseline[name][PRIMARY]) for name in ids)
    lost = sorted((change for change in changes if change[1] < 0), key=lambda change: (change[1], change[0]))
    return Comparison(differences, lost[:LISTED])
