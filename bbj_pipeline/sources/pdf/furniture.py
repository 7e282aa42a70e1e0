"""Finds a page's furniture: running headers, running footers and page numbers, which are no part of the text.

Judged over all pages of a file by text and position; nothing is known of blocks.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from bbj_pipeline.sources.pdf.headings import body_size
from bbj_pipeline.sources.pdf.lines import Line

__all__ = ["furniture"]

_ZONE = 0.13
"""Share of the page's height at its top and bottom where furniture may stand."""
_LARGE = 1.15
"""A line this much larger than the body runs only if it is always the same: "Chapter 1", "Chapter 2" are headings."""
_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(r"^\W*(page\s*)?(\d{1,4}|[ivxlc]{1,7})(\s*(of|/|\|)\s*\d{1,4})?\W*$", re.IGNORECASE)


def furniture(pages: Sequence[Sequence[Line]], heights: Sequence[float]) -> frozenset[tuple[int, int]]:
    """Return the places (index of page, index of line) of running lines.

    A line runs when it stands in the top or bottom margin and its text, numbers aside, stands at that height on at least
    three pages and a quarter of all, or on two where three pages in ten have such a repeated line (a chapter's name); or when
    it is a page number, and two pages at least have one at that height; or when half of the pages end in its text, at whatever
    height (a last page may be short). If that would be all the text there is, none of it runs.
    """
    large = _LARGE * body_size(pages)
    places = [
        (page, index, line)
        for page, lines in enumerate(pages)
        for index, line in enumerate(lines)
        if line.text and _may_run(line, lines, heights[page])
    ]

    def words(line: Line) -> str:
        return _words(line) if line.size < large else line.text

    def slot(line: Line) -> object:
        return words(line), _height(line), line.size

    texts = Counter({slot: len(seen) for slot, seen in _pages_by(places, slot).items()})
    heights_repeated: dict[int, set[int]] = defaultdict(set)
    for page, _, line in places:
        if texts[slot(line)] >= 2:
            heights_repeated[_height(line)].add(page)
    edges = _pages_by([place for place in places if not min(_beyond(place[2], pages[place[0]]))], words)
    numbers = _pages_by([place for place in places if _PAGE_NUMBER.match(place[2].text)], _height)
    found = set()
    for page, index, line in places:
        often = texts[slot(line)] >= max(3, len(pages) / 4)
        chapter = texts[slot(line)] >= 2 and len(heights_repeated[_height(line)]) > max(3, 0.3 * len(pages))
        number = (
            bool(_PAGE_NUMBER.match(line.text))
            and len(numbers.get(_height(line), ())) >= 2
            and min(_beyond(line, pages[page])) <= 2
        )
        at_edge = not min(_beyond(line, pages[page])) and len(edges.get(words(line), ())) >= max(3, len(pages) / 2)
        if often or chapter or number or at_edge:
            found.add((page, index))
    every = {(page, index) for page, lines in enumerate(pages) for index, line in enumerate(lines) if line.text}
    return frozenset(found) if every - found else frozenset()


def _pages_by(places: list[tuple[int, int, Line]], name: Callable[[Line], object]) -> dict[object, set[int]]:
    grouped: dict[object, set[int]] = defaultdict(set)
    for page, _, line in places:
        grouped[name(line)].add(page)
    return grouped


def _may_run(line: Line, lines: Sequence[Line], height: float) -> bool:
    """Whether a line stands where furniture does: near the page's edge, or outermost on the page."""
    return line.y < _ZONE * height or line.y > (1 - _ZONE) * height or not min(_beyond(line, lines))


def _height(line: Line) -> int:
    return round(line.y / 3)


def _words(line: Line) -> str:
    return _DIGITS.sub("#", " ".join(line.text.split()))


def _beyond(line: Line, lines: Sequence[Line]) -> tuple[int, int]:
    """Return how many lines of the page stand above and below this one."""
    return sum(other.y > line.y + 2 for other in lines), sum(other.y < line.y - 2 for other in lines)
