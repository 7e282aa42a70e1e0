"""What the cues of a topic add up to: its labels, where it speaks of several generations its sections', and the evidence.

Which texts are searched and how a heap of cues is weighed is not known here.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bbj_pipeline.records import Evidence, Generation, SectionLabels, Topic
from bbj_pipeline.stages.generations.choice import ALL, HINTS, MOST_BLOCKS, NONE, RUNNING, THRESHOLD, Labels, choose, in_order
from bbj_pipeline.stages.generations.cues import AROUND, Cues, Hit
from bbj_pipeline.stages.generations.sections import Outline, outline

__all__ = ["Verdict", "judge"]

_ON_THE_WAY = re.compile(r"\b(?:from .+ to|moving|migrat\w+|moderni[sz]\w+|porting|convert\w*)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The labels of a document in the order of the closed list, what they rest on, and the sections that differ from it."""

    generations: tuple[Generation, ...]
    evidence: tuple[Evidence, ...]
    sections: tuple[SectionLabels, ...]


def judge(topic: Topic, cues: Cues, *, by_section: bool) -> Verdict:
    """Return the labels that the cues give; without ``by_section`` the document is taken as one."""
    hits = [hit for hit in cues.hits if cues.of_bbj or not hit.rule.generic]
    if not hits:
        return Verdict((), (), ())
    about = _about(topic.title, {hit.rule.label for hit in hits if hit.place == "title" and hit.rule.weight >= THRESHOLD})
    hits = _without_shared(topic, hits, about)
    shown = choose(hits, about, by_name=False)
    labels = shown or choose(hits, about)
    ranges: tuple[SectionLabels, ...] = ()
    if by_section and len(labels - ALL) > 1:
        labels, ranges = _parts(topic, hits).labels(hits, labels, about, by_name=not shown)
    kept = [hit for hit in hits if hit.rule.label in labels]
    return Verdict(in_order(labels), _evidence(kept, ranges), ranges)


def _about(title: str, titled: Iterable[Generation]) -> Labels:
    """Return what a page with this title confines itself to, nothing where it leads from one generation to another.

    The objects of the BBj GUI are those of the browser client: a title that names one does not rule out the other.
    """
    if _ON_THE_WAY.search(title):
        return NONE
    found = frozenset(titled)
    return found | {"dwc"} if "bbj-gui" in found else found


def _without_shared(topic: Topic, hits: list[Hit], about: Labels) -> list[Hit]:
    """Leave out objects that both clients have where the text is about the browser client.

    Its title says so, or its folder where the text agrees; or a firm cue does for its section.
    """
    if "bbj-gui" in about or not any(hit.rule.shared for hit in hits):
        return hits
    of_dwc = [hit for hit in hits if hit.rule.label == "dwc"]
    hinted = any(hit.place in HINTS for hit in of_dwc) and "dwc" in choose(of_dwc, NONE, by_name=False)
    if "dwc" in about or hinted:
        return [hit for hit in hits if not hit.rule.shared]
    firm = {hit.block for hit in of_dwc if _is_firm(hit)}
    if not firm:
        return hits
    parts = _parts(topic, hits)
    of_browser = {parts.owner(block) for block in firm}
    return [hit for hit in hits if not (hit.rule.shared and hit.block != AROUND and parts.owner(hit.block) in of_browser)]


def _is_firm(hit: Hit) -> bool:
    """Whether a cue stands in a block and is more than a word in running text."""
    return hit.block != AROUND and hit.rule.weight >= THRESHOLD and hit.place not in RUNNING


def _parts(topic: Topic, hits: Iterable[Hit]) -> Outline:
    return outline(topic.blocks, {hit.block for hit in hits if hit.place == "heading"})


def _evidence(hits: Iterable[Hit], ranges: Sequence[SectionLabels]) -> tuple[Evidence, ...]:
    """Return one piece of evidence a cue, kind of text and section that differs, at its first place."""
    of_block = {block: number for number, item in enumerate(ranges) for block in range(item.first_block, item.end_block)}
    groups: defaultdict[tuple[int, bool, int], list[Hit]] = defaultdict(list)
    for hit in hits:
        groups[id(hit.rule), hit.place in RUNNING, of_block.get(hit.block, -1)].append(hit)
    return tuple(
        Evidence(
            label=found[0].rule.label,
            cue=found[0].rule.cue,
            where=found[0].place if found[0].block == AROUND else f"block {found[0].block}",
            weight=found[0].rule.weight * min(len(found), MOST_BLOCKS),
            offset=found[0].offset,
        )
        for found in groups.values()
    )
