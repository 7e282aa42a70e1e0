"""Which labels a heap of cues gives: weights, the threshold, and the few rules of judgement.

The heap may be a document's or a section's; how it came about is not known here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from bbj_pipeline.records import GENERATIONS, Generation
from bbj_pipeline.stages.generations.cues import Hit

__all__ = ["ALL", "HINTS", "MOST_BLOCKS", "NONE", "RUNNING", "THRESHOLD", "Labels", "choose", "in_order"]

THRESHOLD = 1.0
"""Weight at which a label is given: one cue of code, or two weak ones."""
MOST_BLOCKS = 3
"""A cue counts once a block, in at most this many blocks: a word repeated all through a page proves no more than that."""
_PASSING = 3.0
"""From this weight on running text alone gives a label to a page whose title names another generation; below, it mentions."""

RUNNING = frozenset({"prose", "identifier"})
HINTS = frozenset({"path", "condition"})

Labels = frozenset[Generation]
ALL: Labels = frozenset({"all"})
NONE: Labels = frozenset()


def in_order(labels: Collection[Generation]) -> tuple[Generation, ...]:
    """Return the labels in the order of the closed list."""
    return tuple(label for label in GENERATIONS if label in labels)


def choose(hits: Iterable[Hit], about: Labels, *, by_name: bool = True) -> Labels:
    """Return the labels that the weights give.

    Beside the threshold: hints (path, condition) support what the text says and decide only where it says nothing. A title
    says what a page is about, so what only its running text mentions must be mentioned often. ``by_name``: names are enough
    where nothing gives a label.
    """
    said, hinted, firm, named = _weights(hits)
    labels = {label for label, weight in said.items() if weight + hinted.get(label, 0.0) >= THRESHOLD}
    if about:
        kept = about | firm | ALL
        labels = {label for label in labels if label in kept or said[label] >= _PASSING}
    if labels - ALL:
        labels.discard("all")
    if by_name and not labels:
        labels = named - ALL
    return frozenset(labels or {label for label, weight in hinted.items() if weight >= THRESHOLD})


def _weights(
    hits: Iterable[Hit],
) -> tuple[Mapping[Generation, float], Mapping[Generation, float], set[Generation], set[Generation]]:
    """Return by label what the text weighs and what hints weigh; the labels with more than running text; those named."""
    counts: defaultdict[tuple[int, bool], int] = defaultdict(int)
    said: defaultdict[Generation, float] = defaultdict(float)
    hinted: defaultdict[Generation, float] = defaultdict(float)
    firm: set[Generation] = set()
    named: set[Generation] = set()
    for hit in hits:
        rule = hit.rule
        cue = (id(rule), hit.place in RUNNING)
        counts[cue] += 1
        if counts[cue] > MOST_BLOCKS:
            continue
        if hit.place in HINTS:
            hinted[rule.label] += rule.weight
            continue
        said[rule.label] += rule.weight
        if hit.place not in RUNNING:
            firm.add(rule.label)
        if rule.names:
            named.add(rule.label)
    return said, hinted, firm, named
