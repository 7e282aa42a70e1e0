"""The section tree of a topic: headings and what stands under them, as pieces. No sizes are decided here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bbj_pipeline.records import Topic
from bbj_pipeline.stages.chunks.pieces import Counter, Piece, render

__all__ = ["Section", "build_sections"]

_LONG_HEADING = 24
"""Tokens above which a heading is also content, because a header bounded to about 48 tokens would shorten it."""


@dataclass(slots=True)
class Section:
    """A heading with its own pieces and the sections below it; the root has no heading, level 0 and index 0."""

    index: int
    level: int = 0
    title: str = ""
    heading: Piece | None = None
    anchor: str | None = None
    pieces: list[Piece] = field(default_factory=list)
    children: list[Section] = field(default_factory=list)

    def flat(self) -> list[Piece]:
        """Return everything in and under this section in reading order, without its own heading."""
        pieces = list(self.pieces)
        for child in self.children:
            if child.heading is not None:
                pieces.append(child.heading)
            pieces.extend(child.flat())
        return pieces


def build_sections(topic: Topic, counter: Counter, names: Sequence[str] = ()) -> Section:
    """Return the topic's tree; all blocks are rendered and, with ``names``, counted in one batch.

    A heading that has nothing under it becomes content of its own section, and so does one too long for a header.
    """
    texts = [render(block) for block in topic.blocks]
    tokens = counter.count([*texts, *names])
    root = Section(index=0)
    stack = [root]
    made = 0
    for position, block in enumerate(topic.blocks):
        if not texts[position]:
            continue
        if block.type == "heading":
            made += 1
            level = block.level or 1
            while stack[-1].level >= level:
                stack.pop()
            heading = Piece("heading", texts[position], position, made, tokens[position])
            title = " ".join(block.text.split())
            section = Section(made, level, title, heading, block.anchor)
            if heading.tokens > _LONG_HEADING:
                section.pieces.append(replace(heading, kind="paragraph", text=title))
            stack[-1].children.append(section)
            stack.append(section)
        else:
            stack[-1].pieces.append(Piece(block.type, texts[position], position, stack[-1].index, tokens[position]))
    _fill_empty(root)
    return root


def _fill_empty(section: Section) -> None:
    for child in section.children:
        if child.heading is not None and not child.pieces and not child.children:
            child.pieces.append(replace(child.heading, kind="paragraph", text=child.title))
        _fill_empty(child)
