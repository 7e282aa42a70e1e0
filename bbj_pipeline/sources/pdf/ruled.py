"""Puts the text of a page into the cells of its drawn grids: each grid that holds a table becomes one span of the page.

What is no table (a drawing, a form, columns of prose between rules) is left as the lines it is. Tables that no rules draw
are found in ``tables``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from bbj_pipeline.sources.pdf.extract import Fill, Page, Span
from bbj_pipeline.sources.pdf.grids import Grid, find_grids
from bbj_pipeline.sources.pdf.letters import line_text

__all__ = ["Table", "TableSpan", "with_tables"]

_Place = tuple[int, int]

_PROSE_LINES = 5
"""Where every cell has this many lines, columns of prose stand between rules."""
_MOST_ACROSS = 0.1
"""Share of spans that may reach over an edge: where more do, the text does not keep to the grid."""
_MOST_GROUNDS = 1_000_000
"""Cells times fills that are looked at for the colour of a header."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells, each cell the lines of its text; a merged cell stands at its first place, the others are empty."""

    rows: tuple[tuple[tuple[str, ...], ...], ...]
    header_rows: int


@dataclass(frozen=True, slots=True)
class TableSpan(Span):
    """A whole table in the place of its text; ``text`` is that text in one line."""

    table: Table


def with_tables(page: Page) -> Page:
    """Return the page with each ruled table's spans replaced by one ``TableSpan`` where the first of them was."""
    for grid in find_grids(page.rules, page.fills):
        placed = _placed(page, grid)
        table = _table(page, grid, placed)
        if table is not None:
            page = replace(page, spans=_replaced(page, table, frozenset(index for cell in placed.values() for index in cell)))
    return page


def _placed(page: Page, grid: Grid) -> dict[_Place, list[int]]:
    """Return the indexes of the spans in each cell; a blank belongs to the text before it."""
    placed: dict[_Place, list[int]] = {}
    place: _Place | None = None
    for index, span in enumerate(page.spans):
        if span is None:
            continue
        if isinstance(span, TableSpan):
            place = None
        elif span.text.strip():
            place = grid.cell_at(span.x + min(span.width, span.size) / 2, span.y + 0.3 * span.size)
        if place is not None:
            placed.setdefault(place, []).append(index)
    return placed


def _table(page: Page, grid: Grid, placed: dict[_Place, list[int]]) -> TableSpan | None:
    spans = {place: [span for index in indexes if (span := page.spans[index])] for place, indexes in placed.items()}
    lines = {place: _lines(cell) for place, cell in spans.items()}
    filled = {place for place, cell in lines.items() if cell}
    rows = sorted({row for row, _ in filled})
    columns = sorted({column for _, column in filled})
    full = sum(count >= 2 for count in Counter(row for row, _ in filled).values())
    if len(columns) < 2 or full < 2 or filled & grid.open or all(len(lines[place]) >= _PROSE_LINES for place in filled):
        return None
    solid = [(place, span) for place, cell in spans.items() for span in cell if span.text.strip()]
    ends = {first: grid.xs[column + 1] for (_, column), first in sorted(grid.cells.items())}
    if sum(_reaches_over(span, ends[place]) for place, span in solid) > _MOST_ACROSS * len(solid):
        return None
    cells = tuple(tuple(tuple(map(_text, lines.get((row, column), []))) for column in columns) for row in rows)
    sizes = Counter(span.size for _, span in solid)
    return TableSpan(
        x=grid.xs[0],
        y=max(span.y for _, span in solid),
        size=sizes.most_common(1)[0][0],
        mono=False,
        bold=False,
        width=grid.xs[-1] - grid.xs[0],
        text=" ".join(" ".join(cell) for row in cells for cell in row if cell),
        table=Table(cells, _header_rows(grid, rows, spans, page.fills)),
    )


def _reaches_over(span: Span, edge: float) -> bool:
    return span.x + span.width - edge > max(span.size, 0.25 * span.width)


def _lines(spans: list[Span]) -> list[list[Span]]:
    """Group the spans of one cell into lines from the top."""
    lines: list[list[Span]] = []
    for span in spans:
        if lines and (not span.text.strip() or abs(lines[-1][0].y - span.y) < 0.5 * max(span.size, lines[-1][0].size)):
            lines[-1].append(span)
        elif span.text.strip():
            lines.append([span])
    return sorted(lines, key=lambda line: -line[0].y)


def _text(line: list[Span]) -> str:
    """Join a line's spans; those apart from one another without a blank are two words."""
    parts: list[Span] = []
    end: float | None = None
    for span in line:
        if end is not None and span.text.strip() and span.x - end > 0.3 * span.size:
            parts.append(replace(span, text=" "))
        parts.append(span)
        end = None if span.text != span.text.rstrip() else span.x + span.width
    return " ".join(line_text(parts).split())


def _header_rows(grid: Grid, rows: list[int], spans: dict[_Place, list[Span]], fills: tuple[Fill, ...]) -> int:
    """Count the leading rows that are set in bold, or on a colour no other row has, where the rest are not."""
    count = _leading([_is_bold(row, spans) for row in rows])
    if count or len(grid.cells) * len(fills) > _MOST_GROUNDS:
        return count
    colours = [_colours(grid, row, fills) for row in rows]
    return _leading([bool(colour) and colour == colours[0] for colour in colours])


def _leading(marked: list[bool]) -> int:
    """Count the marks at the beginning, if there are no others and something follows."""
    count = next((index for index, mark in enumerate(marked) if not mark), 0)
    return 0 if any(marked[count:]) else count


def _is_bold(row: int, spans: dict[_Place, list[Span]]) -> bool:
    words = [span for (of, _), cell in spans.items() if of == row for span in cell if any(map(str.isalnum, span.text))]
    return bool(words) and all(span.bold for span in words)


def _colours(grid: Grid, row: int, fills: tuple[Fill, ...]) -> frozenset[str]:
    """Return the colour that all cells of a row stand on, as a set; it is empty where they stand on several or on none."""
    y = (grid.ys[row] + grid.ys[row + 1]) / 2
    found = {
        next((fill.colour for fill in fills if fill.left <= x <= fill.right and fill.bottom <= y <= fill.top), "")
        for x in ((left + right) / 2 for left, right in zip(grid.xs, grid.xs[1:], strict=False))
    }
    return frozenset(found) if len(found) == 1 and "" not in found else frozenset()


def _replaced(page: Page, table: TableSpan, taken: frozenset[int]) -> tuple[Span | None, ...]:
    first = min(taken)
    spans: list[Span | None] = []
    for index, span in enumerate(page.spans):
        if index == first:
            spans += [None, table, None]
        elif index not in taken:
            spans.append(span)
    return tuple(spans)
