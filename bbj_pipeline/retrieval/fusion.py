"""Weighted reciprocal rank fusion of ranked lists, by chunk id. Pure.

By id and never by text: boilerplate that stands in many chunks would add up, once a copy.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["fuse"]


def fuse(legs: Sequence[tuple[float, Sequence[str]]], *, k: int) -> list[tuple[str, float]]:
    """Fuse ``(weight, ids best first)`` legs into ``(id, score)``, best first; equal scores in order of id.

    An id scores the sum of ``weight / (k + rank)`` over the legs it is in (rank from 1; Cormack et al. 2009, k = 60),
    divided by what an id first in every leg would have, so that a score lies in 0..1.
    """
    best = sum(weight for weight, _ in legs) / (k + 1)
    scores: dict[str, float] = {}
    for weight, ids in legs:
        for rank, identity in enumerate(ids, start=1):
            scores[identity] = scores.get(identity, 0.0) + weight / (k + rank)
    if best == 0:
        return sorted(scores.items())
    return sorted(((identity, score / best) for identity, score in scores.items()), key=lambda item: (-item[1], item[0]))
