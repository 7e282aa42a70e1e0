"""Confidence intervals of means and of paired differences, by the bootstrap over queries. Pure and seeded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["CONFIDENCE", "RESAMPLES", "Interval", "mean_interval", "paired_interval"]

CONFIDENCE = 0.95
RESAMPLES = 10_000
"""The ends of an interval then move by about a hundredth of its width from seed to seed."""
_SEED = 20_250_101


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the ends of its interval, over ``count`` queries."""

    mean: float
    low: float
    high: float
    count: int

    @property
    def is_below_zero(self) -> bool:
        """Whether even the upper end lies below zero: a loss that is no accident of the queries."""
        return self.high < 0

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"

    @property
    def signed(self) -> str:
        """The same for a difference, with signs."""
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


def mean_interval(values: Sequence[float]) -> Interval:
    """Return the mean of ``values``, one a query and not empty, with its percentile interval (Efron 1979)."""
    sample = np.asarray(values, dtype=np.float64)
    picks = np.random.default_rng(_SEED).integers(0, len(sample), size=(RESAMPLES, len(sample)))
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(sample[picks].mean(axis=1), [tail, 1 - tail])
    return Interval(float(sample.mean()), float(low), float(high), len(sample))


def paired_interval(values: Sequence[float], baseline: Sequence[float]) -> Interval:
    """Return the interval of the mean of ``values - baseline``; both hold the same queries in the same order.

    Pairing takes the difficulty of the queries out: two searches of one question resemble each other far more than two
    questions do, so the interval is much narrower than that of either mean.
    """
    return mean_interval([value - before for value, before in zip(values, baseline, strict=True)])
