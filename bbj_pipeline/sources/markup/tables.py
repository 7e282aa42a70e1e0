"""Builds the full grid of one table from its cells as they are read, and says what its markup means for its shape.

The content of cells is read by the walker, not here.
"""

from __future__ import annotations

from itertools import chain, groupby, islice, takewhile

from lxml import etree

from bbj_pipeline.records import Block
from bbj_pipeline.sources.markup.elements import HEADINGS

__all__ = ["TableBuilder", "is_layout", "span_of"]

_MAX_COLSPAN = 1000
"""HTML Living Standard, 4.9.11: a larger ``colspan`` counts as 1000."""
_MAX_CELLS = 500_000
"""Cells that spans may cover in one table; beyond, spans count as 1 and rows are not filled up: those of equal length that
follow each other make a table. Bounds hostile input."""
_MAX_REPEATED = 1_000_000
"""Characters that the rows of one table may repeat from spanning cells and headers; beyond, these stay empty."""


class TableBuilder:
    """Collects rows and cells in reading order; ``blocks`` gives the table and what was found in and around its cells.

    A cell that spans rows has its value in each of them, as in the grid of the HTML Living Standard (4.9.12), so that a row
    can be read without those above it. Columns repeat nothing: their value stands in the same row already.
    """

    def __init__(self) -> None:
        self.before: list[Block] = []
        self._inside: dict[int, list[Block]] = {}
        self._rows: list[dict[int, str]] = []
        self._headers: list[bool] = []
        self._reserved: dict[int, tuple[int, str]] = {}
        self._repeated = 0
        self._open_row = False
        self._column = 0
        self._covered = 0
        self._all_headers = True

    @property
    def only_headers(self) -> bool:
        """Whether all rows so far are header rows; header rows are only counted while they lead."""
        return all(self._headers[-1:])

    def start_row(self, *, header: bool) -> None:
        """Begin a row; ``header`` says that its section or its source makes it a header row."""
        self._rows.append({})
        self._headers.append(header)
        if self._reserved:
            self._reserved = {column: (left - 1, value) for column, (left, value) in self._reserved.items() if left > 1}
        self._covered += len(self._reserved)
        if self._covered > _MAX_CELLS:
            self._reserved = {}
        self._column = 0
        self._open_row = True
        self._all_headers = True

    def end_row(self) -> None:
        """End the row; a row of nothing but header cells is a header row."""
        row = self._rows[-1] if self._rows else {}
        if row and self._all_headers:
            self._headers[-1] = True
        if row and self._reserved:
            for column in sorted(self._reserved.keys() - row.keys()):
                row[column] = self._affordable(self._reserved[column][1])
        self._open_row = False

    def end_section(self) -> None:
        """End a row group: no rowspan reaches beyond it."""
        self._reserved = {}

    def add_cell(self, text: str, *, colspan: int, rowspan: int, header: bool) -> None:
        """Put a cell into the next free column; further columns that it spans stay empty."""
        if not self._open_row:
            self.start_row(header=False)
        self._all_headers = self._all_headers and header
        row = self._rows[-1]
        while self._column in self._reserved:
            row[self._column] = self._affordable(self._reserved[self._column][1])
            self._column += 1
        row[self._column] = text
        self._column += 1
        if colspan != 1 or rowspan != 1:
            self._span(row, min(colspan, _MAX_COLSPAN), rowspan)

    def add_nested(self, blocks: list[Block]) -> None:
        """Keep what a table in a cell of the current row gave: it is read right after that row."""
        if not self._open_row:
            self.start_row(header=False)
        self._inside.setdefault(len(self._rows) - 1, []).extend(blocks)

    def _affordable(self, value: str) -> str:
        """Return a value to be said once more, or nothing when a table has repeated too much already."""
        self._repeated += len(value)
        return value if self._repeated <= _MAX_REPEATED else ""

    def _span(self, row: dict[int, str], colspan: int, rowspan: int) -> None:
        """Cover the columns right of the cell just put with empty cells, and reserve those of the rows below."""
        self._covered += colspan
        start = self._column - 1
        self._column = start + (max(1, colspan) if self._covered <= _MAX_CELLS else 1)
        for covered in range(start, self._column):
            row.setdefault(covered, "")
            if rowspan != 1:
                self._reserved[covered] = (rowspan if rowspan > 1 else _MAX_CELLS, row[covered])

    def blocks(self) -> list[Block]:
        """Return stray text, then the table (when any cell has text) with the tables of its cells where they stood.

        A table is parted after each row that holds another one: there its reader meets the inner one, and behind the last row
        nobody could tell whose it is. Each part shows the header again.
        """
        found = list(self.before)
        rows = [(row, self._inside.get(number, [])) for number, row in enumerate(self._rows) if row]
        width = max((max(row) for row, _ in rows), default=0) + 1
        if width * len(rows) > 2 * _MAX_CELLS:
            parts = [tuple(part) for _, part in groupby((_filled(row, max(row) + 1) for row, _ in rows), key=len)]
            found.extend(Block("table", rows=part, header_rows=0) for part in parts if any(map(any, part)))
            return [*found, *chain.from_iterable(nested for _, nested in rows)]
        grid = [_filled(row, width) for row, _ in rows]
        headers = (header for row, header in zip(self._rows, self._headers, strict=True) if row)
        header_rows = sum(1 for _ in takewhile(bool, headers))
        start = 0
        for end, (_, nested) in enumerate(rows, 1):
            if nested or end == len(rows):
                found.extend(self._part(grid, start, end, header_rows))
                found.extend(nested)
                start = end
        return found

    def _part(self, grid: list[tuple[str, ...]], start: int, end: int, header_rows: int) -> list[Block]:
        """Return the rows from ``start`` to ``end`` as a table below the header rows that came before them, if they say
        anything."""
        own = grid[start:end]
        if not any(map(any, own)):
            return []
        header = grid[: min(start, header_rows)]
        shown = [row for row in header if self._affordable("".join(row))]
        return [Block("table", rows=(*shown, *own), header_rows=len(shown) + max(0, min(end, header_rows) - start))]


def _filled(row: dict[int, str], width: int) -> tuple[str, ...]:
    """Return the cells of a row by column; cells are put from left to right, so a row without gaps is in order."""
    return tuple(row.values()) if len(row) == width else tuple(row.get(column, "") for column in range(width))


def span_of(element: etree._Element, name: str) -> int:
    """Return a span attribute; what is not a number is 1, as in browsers."""
    value = element.get(name)
    if value is None:
        return 1
    value = value.strip()
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 6 else 1


def is_layout(table: etree._Element) -> bool:
    """Say whether a table only places content on the page: it has one cell, or headings stand in its data cells."""
    for heading in table.iterdescendants(*HEADINGS):
        cell = next(heading.iterancestors("td", "th"), None)
        if cell is not None and cell.tag == "td":
            return True
    return len(list(islice(table.iterdescendants("td", "th"), 2))) < 2
