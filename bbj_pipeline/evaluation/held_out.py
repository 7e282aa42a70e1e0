"""Whether the fusion in use holds on queries that did not choose it: random halves of the judged queries. Pure and seeded.

The best of many configurations on some queries is partly luck. Here one half chooses, the other half judges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["HeldOut", "held_out"]

SPLITS = 1000
_SEED = 20_250_101
_NORMAL_95 = 1.96


@dataclass(frozen=True, slots=True)
class HeldOut:
    """What ``splits`` halvings say about the configuration ``ours``, by the primary metric.

    ``chosen`` counts how often each configuration was the best of a choosing half. ``chosen_mean`` and ``ours_mean`` are the
    means on the judging halves of what was chosen and of ``ours``. ``within_noise`` counts the splits whose judging half gives
    the chosen one no significant lead over ``ours`` (paired, 95 %).
    """

    ours: str
    splits: int
    chosen: Mapping[str, int]
    chosen_mean: float
    ours_mean: float
    within_noise: int

    def __str__(self) -> str:
        most = ", ".join(f"{name} ({count})" for name, count in Counter(self.chosen).most_common(3))
        return (
            f"Of {self.splits} random halves, most chose {most}; on the other halves what was chosen has nDCG@10"
            f" {self.chosen_mean:.3f} and {self.ours} has {self.ours_mean:.3f}, within noise of it in {self.within_noise}."
        )


def held_out(scores: Mapping[str, Sequence[float]], ours: str, *, splits: int = SPLITS) -> HeldOut:
    """Choose among ``scores``, by configuration and over the same queries (two at least), and judge ``ours``, one of them."""
    names = list(scores)
    table = np.array([scores[name] for name in names], dtype=np.float64)
    mine = names.index(ours)
    count = table.shape[1]
    rng = np.random.default_rng(_SEED)
    chosen: Counter[str] = Counter()
    chosen_sum = ours_sum = 0.0
    within = 0
    for _ in range(splits):
        order = rng.permutation(count)
        choosing, judging = order[: count // 2], order[count // 2 :]
        best = int(table[:, choosing].mean(axis=1).argmax())
        lead = table[best, judging] - table[mine, judging]
        error = float(lead.std(ddof=1)) / np.sqrt(len(lead)) if len(lead) > 1 else np.inf
        chosen[names[best]] += 1
        chosen_sum += float(table[best, judging].mean())
        ours_sum += float(table[mine, judging].mean())
        within += bool(lead.mean() <= _NORMAL_95 * error)
    return HeldOut(ours, splits, dict(chosen), chosen_sum / splits, ours_sum / splits, within)
