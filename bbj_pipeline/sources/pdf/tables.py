"""Finds tables among lines: rows of cells that stand at the same places, with wrapped cells put back together.

Only what the places of text show; ruled tables come from ``ruled``. Monospaced lines are code and never a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from bbj_pipeline.sources.pdf.lines import Line
from bbj_pipeline.sources.pdf.ruled import Table

__all__ = ["split_tables"]

_SAME_PLACE = 4.0
"""Points that the left edges of one column's cells may differ."""
_LEAST_ROWS = 3
_MARK = re.compile(r"\W|o|\(?\w{1,2}[.)]")
"""A bullet or a number, which stands apart from its item as cells do."""
_ROW_GAP = 4.0
"""Rows of one table are at most this many type sizes apart."""


def split_tables(lines: Sequence[Line], *, mono_is_code: bool) -> Iterator[Line]:
    """Yield the lines, with every run of lines that is a table replaced by one that has it as its ``table``."""
    at = 0
    while at < len(lines):
        end, columns = _table_at(lines, at) if mono_is_code else (at, [])
        if end > at:
            yield replace(lines[at], table=_table(lines[at:end], columns))
            at = end
        else:
            yield lines[at]
            at += 1


def _table_at(lines: Sequence[Line], at: int) -> tuple[int, list[float]]:
    """Return where the table that begins at ``at`` ends, and its columns; ``at`` itself when there is none."""
    columns = [cell.x for cell in lines[at].cells]
    if len(columns) < 2 or lines[at].mono or lines[at].contents or _MARK.fullmatch(lines[at].cells[0].text):
        return at, []
    end = at + 1
    full = 1
    while end < len(lines) and _belongs(lines[end], lines[end - 1], columns):
        full += len(lines[end].cells) >= 2
        end += 1
    return (end, columns) if full >= _LEAST_ROWS else (at, [])


def _belongs(line: Line, above: Line, columns: list[float]) -> bool:
    if line.mono or line.contents or line.table or line.page != above.page or line.column != above.column:
        return False
    if not -2 * line.size < above.y - line.y < _ROW_GAP * line.size:
        return False
    starts = [cell.x for cell in line.cells] or [line.x]
    if any(_column(start, columns) is None for start in starts):
        return False
    return len(starts) > 1 or starts[0] > columns[0] + _SAME_PLACE or line.end < columns[1] + _SAME_PLACE


def _column(start: float, columns: list[float]) -> int | None:
    return next((index for index, column in enumerate(columns) if abs(start - column) <= _SAME_PLACE), None)


def _table(lines: Sequence[Line], columns: list[float]) -> Table:
    rows: list[list[list[str]]] = []
    bold: list[bool] = []
    above: Line | None = None
    for line in lines:
        cells = [(_column(cell.x, columns) or 0, cell.text) for cell in line.cells] or [
            (_column(line.x, columns) or 0, line.text)
        ]
        wrapped = above is not None and len(cells) < len(columns) and above.y - line.y < 1.6 * line.size
        if not rows or not (wrapped and (cells[0][0] > 0 or len(cells) == 1)):
            rows.append([[] for _ in columns])
            bold.append(line.bold)
        for column, text in cells:
            rows[-1][column].append(text)
        above = line
    header = 1 if bold[0] and not all(bold) else 0
    return Table(tuple(tuple(tuple(cell) for cell in row) for row in rows), header)
