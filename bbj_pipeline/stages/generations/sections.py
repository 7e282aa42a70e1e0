"""How a document's labels spread over its sections: which blocks belong together, what each says, what it takes from above.

The labels of one heap of cues are chosen in ``labels``; here the heaps are made and the ranges that differ are named.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from bbj_pipeline.records import Block, SectionLabels
from bbj_pipeline.stages.generations.choice import ALL, NONE, Labels, choose, in_order
from bbj_pipeline.stages.generations.cues import AROUND, Hit

__all__ = ["Outline", "outline"]


@dataclass(frozen=True, slots=True)
class _Section:
    """Blocks ``start`` to ``end`` (excluded) that stand together; ``parent`` is the position of the section above.

    ``shared`` marks what stands before the first heading.
    """

    start: int
    end: int
    parent: int | None
    shared: bool = False


class Outline:
    """The sections of a topic in reading order; they tile its blocks."""

    def __init__(self, sections: Sequence[_Section]) -> None:
        self._sections = sections
        self._owners = [number for number, section in enumerate(sections) for _ in range(section.start, section.end)]

    def owner(self, block: int) -> int:
        """Return the position of the section that a block belongs to."""
        return self._owners[block]

    def labels(
        self, hits: Iterable[Hit], of_document: Labels, about: Labels, *, by_name: bool
    ) -> tuple[Labels, tuple[SectionLabels, ...]]:
        """Return the document's labels with those its sections add, and the ranges of blocks whose labels are others.

        ``by_name`` says that the document only names its generations; a section that names one then speaks of it.
        """
        cues: defaultdict[int, list[Hit]] = defaultdict(list)
        for hit in hits:
            if hit.block != AROUND:
                cues[self._owners[hit.block]].append(hit)
        own = [self._own(number, cues.get(number, []), of_document, about, by_name) for number in range(len(self._sections))]
        resolved = self._resolved(own, cues)
        labels = of_document.union(*resolved)
        return labels, self._ranges(resolved, labels)

    def _own(self, number: int, hits: Sequence[Hit], of_document: Labels, about: Labels, by_name: bool) -> Labels:
        """Return what a section says itself, within what the document speaks of; nothing where it has no cue of its own."""
        first = self._sections[number].start
        headed = frozenset(hit.rule.label for hit in hits if hit.place == "heading" and hit.block == first)
        own = choose(hits, headed, by_name=by_name) & of_document
        # a page about the browser client that shows the objects of the BBj GUI shows its own
        return own | {"dwc"} if own == {"bbj-gui"} and "dwc" in about & of_document else own

    def _resolved(self, own: Sequence[Labels], cues: defaultdict[int, list[Hit]]) -> list[Labels]:
        """Return what holds in each section: its own labels or those of the section above; nothing where the document's hold.

        Beside sections of several user interfaces, one that speaks of none and shows the universal language is of all; the
        introduction above such sections is theirs.
        """
        above = {section.parent for section, labels in zip(self._sections, own, strict=True) if labels}
        resolved: list[Labels] = []
        for number, section in enumerate(self._sections):
            labels = own[number]
            if not labels and section.parent is not None:
                labels = resolved[section.parent]
            if (
                not labels
                and not section.shared
                and number not in above
                and choose(cues.get(number, ()), NONE, by_name=False) == ALL
            ):
                labels = ALL
            resolved.append(labels)
        return resolved

    def _ranges(self, resolved: Sequence[Labels], of_document: Labels) -> tuple[SectionLabels, ...]:
        """Return the sections whose labels are not the document's; neighbours of the same labels are one."""
        ranges: list[SectionLabels] = []
        for section, labels in zip(self._sections, resolved, strict=True):
            if not labels or labels == of_document:
                continue
            if ranges and ranges[-1].end_block == section.start and ranges[-1].generations == in_order(labels):
                ranges[-1] = replace(ranges[-1], end_block=section.end)
            else:
                ranges.append(SectionLabels(section.start, section.end, in_order(labels)))
        return tuple(ranges)


def outline(blocks: Sequence[Block], captions: Collection[int]) -> Outline:
    """Return the sections of these blocks: one a heading, and one a caption that names a generation.

    A caption (``captions`` are their block numbers), such as the label of a tab, speaks for what follows up to the next
    caption or heading: to the last code there, or for one block if there is none. What is left goes on with the section above.
    """
    sections: list[_Section] = []
    open_ones: list[tuple[int, int]] = []  # (level, position) of the headings above
    number = 0
    while number < len(blocks):
        block = blocks[number]
        above = open_ones[-1][1] if open_ones else None
        if block.type == "heading":
            level = block.level or 1
            while open_ones and open_ones[-1][0] >= level:
                open_ones.pop()
            above = open_ones[-1][1] if open_ones else None
            open_ones.append((level, len(sections)))
        end = number + 1
        while end < len(blocks) and blocks[end].type != "heading" and end not in captions:
            end += 1
        if number in captions and block.type != "heading":
            last_code = max((at for at in range(number + 1, end) if blocks[at].type == "code"), default=number + 1)
            end = min(last_code + 1, end)
        sections.append(_Section(number, end, above, shared=not open_ones and number not in captions))
        number = end
    return Outline(sections)
