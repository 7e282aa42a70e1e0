"""How well a document's generations fit the developer's, and what that does to its relevance. Pure.

The scores are the blueprint's; how much weight they have is decided here and set in ``SearchConfig``.
"""

from __future__ import annotations

from collections.abc import Sequence

from bbj_pipeline.records import Generation

__all__ = ["adjusted", "generation_score"]

_UNIVERSAL = 95
_MATCH = 100
_RELATED = 70
_OTHER = 20
_MODERN_FIRST: dict[Generation, int] = {"dwc": 90, "bbj-gui": 85, "vpro5": 50, "character": 30}
_GUI = frozenset[Generation]({"vpro5", "bbj-gui", "dwc"})


def generation_score(labels: Sequence[Generation], target: Generation | None) -> int:
    """Return the blueprint's score, 20 to 100, of a document with ``labels`` (none: unknown) for ``target`` (None: no hint).

    The best label counts. ``all`` has 95. With a target: the same 100, another of the three graphical generations 70 when
    the target is one of them, else 20. Without one: dwc 90, bbj-gui 85, vpro5 50, character 30.

    Without a target an unknown document counts as a universal one, where the blueprint has 70: that nothing is known of it
    is no mark against it, and against dwc's 90 it lost first places to worse pages. On 77 judged queries without a hint 70
    gave MRR .526 and nDCG@10 .528, 85 .551 and .551, 95 .570 and .567, as good as no preference at all (preference weight .2).
    """
    if not labels:
        return _UNIVERSAL if target is None else _OTHER
    return max(_label_score(label, target) for label in labels)


def _label_score(label: Generation, target: Generation | None) -> int:
    if label == "all":
        return _UNIVERSAL
    if target is None:
        return _MODERN_FIRST[label]
    if label == target:
        return _MATCH
    return _RELATED if {label, target} <= _GUI else _OTHER


def adjusted(relevance: float, score: int, *, weight: float) -> float:
    """Return ``relevance`` (0..1) lowered by what ``score`` (0..100) lacks, at most by the share ``weight``.

    Reciprocal ranks are flat, rank 20 still has 76 % of rank 1: the plain product (weight 1) lets a chunk of the wished
    generation pass a related one (70) some 25 ranks before it, weight .8 some 20, weight .2 some four.
    """
    return relevance * (1 - weight * (1 - score / 100))
