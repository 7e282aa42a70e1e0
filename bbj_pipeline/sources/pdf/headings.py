"""Decides which lines are headings: those the outline names and those below them in larger type than the body; without an
outline those set in larger type, or else numbered ones.

Works on lines by page; making blocks of the rest is the business of ``assemble``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bbj_pipeline.sources.pdf.extract import OutlineEntry
from bbj_pipeline.sources.pdf.lines import Line

__all__ = ["Heading", "below_outline", "body_size", "by_outline", "by_type"]

_DEEPEST = 6
_LARGER = 1.15
"""A heading's type is at least this much larger than the body's."""
_LONGEST = 200
_LONGEST_BELOW = 120
_MOST_LINES_BELOW = 3
_HEADING_STEP = 1.75
"""The lines of one heading are at most this many type sizes apart."""
_SMALLER = 0.97
"""A heading the outline does not name is set in smaller type than the one it stands under."""
_MOST_LINES = 4
_WORD = re.compile(r"\w+")
_NUMBERING = re.compile(r"^(?:(?:chapter|appendix|part|section)\s+)?(?:\d+|[A-Z])(?:\.\d+)*\.?\s+", re.IGNORECASE)
_NUMBERED = re.compile(r"^(\d{1,2}(?:\.\d{1,2}){0,4})\.?\s{1,4}[A-Z][^.]{1,70}$")
_LEADERS = re.compile(r"\.\s?\.\s?\.|\s\d+$")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading on one page: before or instead of the lines ``start`` to ``end`` (indexes, ``end`` exclusive).

    ``text`` has as many lines as the page shows where it comes from the page, and one where it comes from the outline.
    """

    page: int
    level: int
    text: str
    start: int
    end: int


def body_size(pages: Sequence[Sequence[Line]]) -> float:
    """Return the type size most letters of the file are set in; 0 for a file without letters."""
    sizes: Counter[float] = Counter()
    for lines in pages:
        for line in lines:
            sizes[line.size] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def by_outline(outline: Sequence[OutlineEntry], lines_by_page: dict[int, Sequence[Line]]) -> list[Heading]:
    """Return one heading an outline entry, in its order: the lines with its title on its page, or a place before a line.

    Where the title stands nowhere on the page, it goes before the first line below the height the entry leads to.
    """
    found: list[Heading] = []
    taken: set[tuple[int, int]] = set()
    for entry in outline:
        lines = lines_by_page.get(entry.page, ())
        level = min(entry.level, _DEEPEST)
        span = _matching_lines(entry, lines, taken)
        if span is None:
            at = _line_below(entry.top, lines)
            found.append(Heading(entry.page, level, entry.title, at, at))
        else:
            taken.update((entry.page, index) for index in range(*span))
            found.append(Heading(entry.page, level, entry.title, *span))
    return found


def below_outline(
    outlined: Sequence[Heading], pages: Sequence[Sequence[Line]], running: frozenset[tuple[int, int]]
) -> list[Heading]:
    """Return headings that an outline of few levels leaves out: lines in type between the body's and the heading's above.

    ``running`` are the places (index of page, index of line) of running lines. A size counts if it is used twice at least,
    for a cover has lines in many sizes; levels go down by size from the heading above.
    """
    body = body_size(pages)
    by_start = {(heading.page, heading.start): heading for heading in outlined}
    inside = {(heading.page, index) for heading in outlined for index in range(heading.start, heading.end)}
    runs: list[tuple[tuple[int, float], list[tuple[int, Line]]]] = []
    above: tuple[int, float] | None = None
    for number, lines in enumerate(pages):
        for index, line in enumerate(lines):
            heading = by_start.get((line.page, index))
            if heading:
                above = (heading.level, line.size) if heading.end > heading.start else None
            if above is None or (line.page, index) in inside or (number, index) in running:
                continue
            if runs and _continues(runs[-1][1][-1], (index, line)):
                runs[-1][1].append((index, line))
            elif body * _LARGER <= line.size < _SMALLER * above[1] and not (line.table or line.contents or line.mono):
                runs.append((above, [(index, line)]))
    found = [run for run in runs if _is_title([line for _, line in run[1]])]
    counted = Counter(run[0][1].size for _, run in found)
    sizes = [size for size, count in counted.items() if count >= 2]
    return [
        Heading(
            page=run[0][1].page,
            level=min(level + 1 + sum(run[0][1].size < size < _SMALLER * largest for size in sizes), _DEEPEST),
            text="\n".join(line.text.strip() for _, line in run),
            start=run[0][0],
            end=run[-1][0] + 1,
        )
        for (level, largest), run in found
        if run[0][1].size in sizes
    ]


def _is_title(lines: Sequence[Line]) -> bool:
    text = " ".join(line.text.strip() for line in lines)
    letters = any(letter.isalpha() for letter in text)
    return letters and len(lines) <= _MOST_LINES_BELOW and len(text) <= _LONGEST_BELOW and not text.endswith((".", ",", ";"))


def by_type(pages: Sequence[Sequence[Line]]) -> list[Heading]:
    """Return headings by type size, levels from the largest size down; when there are none, isolated numbered lines."""
    body = body_size(pages)
    candidates = [
        (index, line)
        for lines in pages
        for index, line in enumerate(lines)
        if not line.table
        and line.size >= body * _LARGER
        and len(line.text) <= _LONGEST
        and any(letter.isalpha() for letter in line.text)
    ]
    sizes = sorted({line.size for _, line in candidates}, reverse=True)
    found: list[Heading] = []
    previous: tuple[int, Line] | None = None
    for index, line in candidates:
        level = min(sizes.index(line.size) + 1, _DEEPEST)
        if previous and _continues(previous, (index, line)):
            last = found.pop()
            found.append(Heading(last.page, last.level, f"{last.text}\n{line.text.strip()}", last.start, index + 1))
        else:
            found.append(Heading(line.page, level, line.text.strip(), index, index + 1))
        previous = (index, line)
    return found or _numbered(pages)


def _continues(before: tuple[int, Line], after: tuple[int, Line]) -> bool:
    (index, line), (next_index, following) = before, after
    return (
        following.page == line.page
        and next_index == index + 1
        and following.size == line.size
        and 0 <= line.y - following.y < _HEADING_STEP * line.size
    )


def _numbered(pages: Sequence[Sequence[Line]]) -> list[Heading]:
    found: list[Heading] = []
    for lines in pages:
        margin = min((line.x for line in lines), default=0.0)
        for index, line in enumerate(lines):
            match = _NUMBERED.match(line.text)
            if (
                match
                and not line.table
                and line.x < margin + line.size
                and not _LEADERS.search(line.text)
                and _stands_alone(lines, index)
            ):
                level = min(match.group(1).count(".") + 1, _DEEPEST)
                found.append(Heading(line.page, level, line.text.strip(), index, index + 1))
    return found


def _stands_alone(lines: Sequence[Line], index: int) -> bool:
    line = lines[index]
    above = lines[index - 1].y - line.y if index else 99.0
    below = line.y - lines[index + 1].y if index + 1 < len(lines) else 0.0
    return above > 1.5 * line.size and below > 1.5 * line.size


def _letters(text: str) -> str:
    return "".join(_WORD.findall(text)).casefold()


def _matching_lines(entry: OutlineEntry, lines: Sequence[Line], taken: set[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the range of lines that are the entry's title, with or without numbering; the largest type wins."""
    wanted = {_letters(entry.title), _letters(_NUMBERING.sub("", entry.title))} - {""}
    best: tuple[float, float, tuple[int, int]] | None = None
    for start in range(len(lines)):
        text = ""
        for end in range(start + 1, min(start + _MOST_LINES, len(lines)) + 1):
            if (entry.page, end - 1) in taken or lines[end - 1].table:
                break
            text += " " + lines[end - 1].text
            if {_letters(text), _letters(_NUMBERING.sub("", text.strip()))} & wanted:
                away = abs(lines[start].y - entry.top) if entry.top is not None else 0.0
                rank = (-lines[start].size, away, (start, end))
                best = rank if best is None or rank < best else best
                break
            if len(_letters(text)) > max(map(len, wanted), default=0) + 12:
                break
    return best[2] if best else None


def _line_below(top: float | None, lines: Sequence[Line]) -> int:
    if top is None:
        return 0
    return next((index for index, line in enumerate(lines) if line.y <= top), len(lines))
