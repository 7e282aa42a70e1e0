"""Turns an extracted file into blocks: headings at their places, furniture out, the rest assembled.

The steps live in ``lines``, ``headings``, ``furniture`` and ``assemble``; here they are put in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bbj_pipeline.records import Block
from bbj_pipeline.sources.pdf.assemble import assemble, measure
from bbj_pipeline.sources.pdf.extract import Extracted
from bbj_pipeline.sources.pdf.furniture import furniture
from bbj_pipeline.sources.pdf.headings import Heading, below_outline, body_size, by_outline, by_type
from bbj_pipeline.sources.pdf.lines import Line, page_lines

__all__ = ["LaidOut", "lay_out"]

_COVER = 1.6
"""A line on the first page this much larger than the body is the title of a document whose metadata has none."""
_PLACEHOLDER = re.compile(
    r"untitled.*|my document|toc|(table of )?contents|enscript output|document ?\d*|microsoft (word|powerpoint).*"
    r"|title|slide 1|\W*|\(?none\)?"
    r"|.*\.(docx?|odt|rtf|pdf|indd|qxd|fm|book|ps|dvi|tex|html?|xml|pptx?|xlsx?|txt)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class LaidOut:
    """A file's blocks, its title (``None`` when the file shows none) and how many running lines were taken out."""

    blocks: tuple[Block, ...]
    title: str | None
    running_lines: int


def lay_out(extracted: Extracted) -> LaidOut:
    """Lay the pages of a file out as blocks in reading order."""
    pages = [page_lines(page) for page in extracted.pages]
    by_page: dict[int, Sequence[Line]] = {page.number: lines for page, lines in zip(extracted.pages, pages, strict=True)}
    running = furniture(pages, [page.height for page in extracted.pages])
    cover = _cover(pages, running)
    if extracted.outline:
        headings = by_outline(extracted.outline, by_page)
        headings += below_outline(headings, pages, running)
        kept = _without(pages, running, {(h.page, index) for h in headings for index in range(h.start, h.end)})
    else:
        kept = _without(pages, running, set())
        headings = by_type([[line for _, line in lines] for lines in kept])
        headings = _original_indexes(headings, kept)
    blocks = tuple(_blocks(kept, headings, extracted))
    first = next((block.text for block in blocks if block.type == "heading"), "")
    meta = extracted.title if extracted.title and not _PLACEHOLDER.fullmatch(extracted.title) else None
    # "1. Introduction" names a section, not a document
    return LaidOut(blocks, meta or cover or (None if first[:1].isdigit() else first or None), len(running))


_Kept = list[list[tuple[int, Line]]]


def _without(pages: list[list[Line]], running: frozenset[tuple[int, int]], headings: set[tuple[int, int]]) -> _Kept:
    """Return each page's lines with their indexes, running lines left out unless they are headings."""
    return [
        [
            (index, line)
            for index, line in enumerate(lines)
            if line.text and ((number, index) not in running or (line.page, index) in headings)
        ]
        for number, lines in enumerate(pages)
    ]


def _original_indexes(headings: list[Heading], kept: _Kept) -> list[Heading]:
    index_of = {lines[0][1].page: [index for index, _ in lines] for lines in kept if lines}
    return [Heading(h.page, h.level, h.text, index_of[h.page][h.start], index_of[h.page][h.end - 1] + 1) for h in headings]


def _blocks(kept: _Kept, headings: list[Heading], extracted: Extracted) -> Iterator[Block]:
    measures = measure([[line for _, line in lines] for lines in kept])
    waiting: list[Line] = []
    for page, lines in zip(extracted.pages, kept, strict=True):
        here = [heading for heading in headings if heading.page == page.number]
        position = 0
        for heading in sorted(here, key=lambda item: item.start):
            while position < len(lines) and lines[position][0] < heading.start:
                waiting.append(lines[position][1])
                position += 1
            yield from assemble(waiting, measures)
            waiting = []
            text = measures.hyphens.join(heading.text.split("\n"))
            yield Block("heading", text, level=heading.level, page=page.number, anchor=f"page={page.number}")
            while position < len(lines) and lines[position][0] < heading.end:
                position += 1
        waiting += [line for _, line in lines[position:]]
    yield from assemble(waiting, measures)


def _cover(pages: list[list[Line]], running: frozenset[tuple[int, int]]) -> str | None:
    """Return the largest type on the first page, when it is a title's."""
    lines = [line for index, line in enumerate(pages[0]) if (0, index) not in running and line.text.strip()] if pages else []
    if not lines:
        return None
    largest = max(line.size for line in lines)
    if largest < _COVER * body_size(pages):
        return None
    text = " ".join(line.text.strip() for line in lines if line.size == largest)
    return text if 2 < len(text) <= 160 and not _PLACEHOLDER.fullmatch(text) else None
