"""Makes lines of spans and brings them into reading order: positions, fonts, ligatures, two columns.

Geometry only. Running headers are taken out in ``furniture``, blocks are made in ``layout``.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from bbj_pipeline.sources.pdf.extract import Page, Span
from bbj_pipeline.sources.pdf.letters import line_text, text_of
from bbj_pipeline.sources.pdf.ruled import Table, TableSpan, with_tables

__all__ = ["Cell", "Line", "page_lines"]

_LEAST_COLUMN_LINES = 5
_LEAST_FILLED = 0.6
_LEAST_LETTERS = 25
_INDENT = 30.0
"""Points a line of the right column may begin further right than the column does."""
_LEADERS = re.compile(r"(?:\s?[.·…_]){4,}\s*(\d{1,4}|[ivxlc]{1,6})$")
_MOST_LEADERS = 500
_CONTENTS_GAP = 3.0
_GAP = 1.5
"""Em of empty space that part two texts on one height into two columns."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A part of a line that wide spaces set apart, and where it begins."""

    x: float
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a page. ``x`` is where its first letter stands, ``end`` about where its last one ends, in points.

    ``column`` is 0, or 1 and 2 on a page whose text stands in two columns. ``y`` falls from the top of the page down.
    ``contents`` marks a line of a table of contents: words, then dots or a wide space, then a page number.
    ``cells`` are the line's parts if wide spaces part it, else empty. ``table`` is the ruled table that stands in its place.
    """

    page: int
    text: str
    x: float
    end: float
    y: float
    size: float
    mono: bool
    bold: bool
    column: int = 0
    contents: bool = False
    cells: tuple[Cell, ...] = ()
    table: Table | None = None


def page_lines(page: Page) -> list[Line]:
    """Return the lines of a page in reading order, each ruled table as one line."""
    page = with_tables(page)
    rows = _rows(page)
    gutter = _gutter(page, rows)
    if gutter is None:
        return [_line(page, row) for row in rows]
    return _by_column(page, [part for row in rows for part in _split_row(row, gutter)], gutter)


def _rows(page: Page) -> list[list[Span]]:
    """Group spans of one line; spans that are only white space at its start are dropped.

    A line that pypdf ends, because the next text is set anew, goes on where that text stands at its height further right.
    """
    rows: list[list[Span]] = [[]]
    ended = False
    reach = -math.inf
    for span in page.spans:
        if span is None:
            ended = True
            continue
        if ended and span.text.strip():
            if rows[-1] and _goes_on(rows[-1][-1], span, reach):
                rows[-1][-1] = replace(rows[-1][-1], text=rows[-1][-1].text.rstrip() + " ")
            elif rows[-1]:
                rows.append([])
                reach = -math.inf
            ended = False
        if not ended and (rows[-1] or span.text.strip()):
            rows[-1].append(span)
            reach = max(reach, _end(span))
    return [row for row in rows if row]


def _goes_on(last: Span, span: Span, reach: float) -> bool:
    """Say whether ``span`` stands on the line that ends with ``last`` and reaches to ``reach``."""
    if isinstance(last, TableSpan) or isinstance(span, TableSpan):
        return False
    return abs(last.y - span.y) < 0.2 * span.size and span.x > reach - 0.3 * span.size


def _line(page: Page, row: list[Span], column: int = 0) -> Line:
    if isinstance(row[0], TableSpan):
        return _table_line(page, row[0], column)
    text = line_text(row)
    first = row[0]
    solid = [span for span in row if span.text.strip()]
    letters = sum(len(span.text.strip()) for span in solid)
    sizes: Counter[float] = Counter()
    for span in solid:
        sizes[span.size] += len(span.text.strip())
    mono = sum(len(span.text.strip()) for span in solid if span.mono)
    bold = sum(len(span.text.strip()) for span in solid if span.bold)
    if len(solid) > 1 and first.text.strip() == "o" and first.mono and not solid[1].mono:
        text = text.replace("o", "◦", 1)  # the second level's bullet as word processors set it
    last = solid[-1]
    numbered = len(solid) > 1 and last.text.strip().isdigit() and last.x - _end(solid[-2]) > _CONTENTS_GAP * last.size
    leaders = _LEADERS.search(text, max(0, len(text) - _MOST_LEADERS))
    text = f"{text[: leaders.start()]} {leaders[1]}" if leaders else text
    indent = (len(text) - len(text.lstrip())) * first.width / max(1, len(first.text.rstrip()))
    return Line(
        page=page.number,
        text=text.lstrip(),
        x=first.x + indent - page.left,
        end=_row_end(row) - page.left,
        y=first.y - page.bottom,
        size=round(sizes.most_common(1)[0][0] * 2) / 2,
        mono=mono >= 0.9 * letters,
        bold=bold >= 0.9 * letters,
        column=column,
        contents=numbered or leaders is not None,
        cells=_cells(page, row),
    )


def _table_line(page: Page, span: TableSpan, column: int) -> Line:
    return Line(
        page=page.number,
        text=span.text,
        x=span.x - page.left,
        end=_end(span) - page.left,
        y=span.y - page.bottom,
        size=round(span.size * 2) / 2,
        mono=False,
        bold=False,
        column=column,
        table=span.table,
    )


def _cells(page: Page, row: list[Span]) -> tuple[Cell, ...]:
    cells: list[list[Span]] = []
    for span in row:
        if not span.text.strip():
            continue
        if not cells or span.x - _end(cells[-1][-1]) > _GAP * span.size:
            cells.append([])
        cells[-1].append(span)
    if len(cells) < 2:
        return ()
    return tuple(Cell(cell[0].x - page.left, " ".join(text_of(cell).split())) for cell in cells)


def _end(span: Span) -> float:
    return span.x + span.width


def _row_end(row: list[Span]) -> float:
    return max(_end(span) for span in row)


def _gutter(page: Page, rows: list[list[Span]]) -> float | None:
    """Return where the right of two text columns begins, or ``None`` for a page that does not have two.

    A table's cells also stand in columns, but do not fill them: a column of text is as wide as its lines.
    """
    starts: Counter[int] = Counter()
    for row in rows:
        previous: Span | None = None
        for span in row:
            apart = previous is None or span.x - _end(previous) > _GAP * span.size
            if apart and 0.4 < (span.x - page.left) / page.width < 0.7:
                starts[round(span.x)] += 1
            previous = span if span.text.strip() else previous
    if not starts:
        return None
    edge, count = starts.most_common(1)[0]
    if count < _LEAST_COLUMN_LINES:
        return None
    parts = [part for row in rows for part in _split_row(row, edge)]
    left = [part for part in parts if part[0].x < edge - 2]
    right = [part for part in parts if edge - 2 <= part[0].x < edge + _INDENT]
    beside = [part for part in left if min(r[0].y for r in right) - 2 <= part[0].y <= max(r[0].y for r in right) + 2]
    inside = [part for part in beside if _row_end(part) < edge + 4]
    if len(inside) < _LEAST_COLUMN_LINES or len(inside) < 0.8 * len(beside):
        return None
    return float(edge) if _is_text_column(inside) and _is_text_column(right) else None


def _is_text_column(parts: list[list[Span]]) -> bool:
    """Whether parts are lines of running text: mostly full, long, and without the wide spaces between a table's cells."""
    left, end = min(part[0].x for part in parts), max(_row_end(part) for part in parts)
    filled = median((_row_end(part) - part[0].x) / max(end - left, 1.0) for part in parts)
    letters = median(sum(len(span.text) for span in part) for part in parts)
    return filled > _LEAST_FILLED and letters >= _LEAST_LETTERS and sum(map(_gapped, parts)) < 0.3 * len(parts)


def _gapped(part: list[Span]) -> bool:
    return any(b.x - _end(a) > _GAP * b.size for a, b in pairwise(part))


def _split_row(row: list[Span], edge: float) -> list[list[Span]]:
    """Part a row where a span begins at the edge of the right column after an empty space."""
    for index in range(1, len(row)):
        before = next((span for span in reversed(row[:index]) if span.text.strip()), None)
        if abs(row[index].x - edge) <= 2 and before is not None and row[index].text.strip() and _end(before) < edge + 2:
            return [row[:index], row[index:]]
    return [row]


def _by_column(page: Page, parts: list[list[Span]], edge: float) -> list[Line]:
    """Order lines: between two lines that belong to no column, first the left column, then the right one."""
    top_down = sorted(parts, key=lambda part: -round(part[0].y))
    columns = _columns(top_down, edge)
    ordered: list[Line] = []
    band: list[Line] = []
    for part in top_down:
        line = _line(page, part, _column(part, columns, band))
        if line.column == 0:
            ordered += _band(band)
            band = []
            ordered.append(line)
        else:
            band.append(line)
    return ordered + _band(band)


@dataclass(frozen=True, slots=True)
class _Columns:
    """Where the left column and the right one (``edge``) begin, the heights between which the right one stands, and whether
    text as wide as the page follows below it."""

    left: float
    edge: float
    top: float
    bottom: float
    wide_below: bool


def _columns(parts: list[list[Span]], edge: float) -> _Columns:
    heights = [part[0].y for part in parts if edge - 2 <= part[0].x < edge + _INDENT]
    top, bottom = max(heights), min(heights)
    beside = [round(part[0].x) for part in parts if part[0].x < edge - 2 and bottom - 2 <= part[0].y <= top + 2]
    left = float(Counter(beside).most_common(1)[0][0])
    wide = any(
        part[0].y < bottom - 2 and abs(part[0].x - left) <= _INDENT and _row_end(part) >= edge + 4 and not _gapped(part)
        for part in parts
    )
    return _Columns(left, edge, top, bottom, wide)


def _column(part: list[Span], columns: _Columns, band: list[Line]) -> int:
    """Return a part's column. A short line on the left is in the left column beside the right one, and going on below it,
    unless it may belong to text as wide as the page that follows there."""
    if part[0].x >= columns.edge - 2:
        return 2
    if _row_end(part) >= columns.edge + 4 or part[0].y > columns.top + 2:
        return 0
    if part[0].y >= columns.bottom - 2:
        return 1
    above = next((line for line in reversed(band) if line.column == 1), None)
    if above is None or abs(above.size - part[0].size) >= 1:
        return 0
    if not columns.wide_below:
        return 1 if columns.left - 2 <= part[0].x <= columns.left + _INDENT else 0
    return 1 if above.y - part[0].y < 1.6 * above.size else 0


def _band(band: list[Line]) -> list[Line]:
    return [line for line in band if line.column == 1] + [line for line in band if line.column == 2]
