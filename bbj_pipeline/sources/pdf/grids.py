"""Finds the grids that a page's rules and fills draw: where the rows and columns of ruled tables begin and end.

Lines only: no text is looked at, so that a grid is not yet a table. ``ruled`` puts the text into its cells.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from operator import neg

from bbj_pipeline.sources.pdf.extract import Fill, Rule

__all__ = ["Grid", "find_grids"]

_SAME = 2.5
"""Points that lines of one border may lie apart: a border is drawn by both of its cells, and each of their fills ends there."""
_THIN = 3.0
"""A fill not wider than this is a line."""
_WHITE = frozenset({"1", "1 1 1", "1.0", "1.0 1.0 1.0", "0 0 0 0"})
_MOST_CELLS = 20_000
_MOST_CROSSINGS = 100_000


_Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Grid:
    """Edges of columns from the left (``xs``) and of rows from the top (``ys``), in points.

    ``cells`` maps each row and column to the first row and column of its cell: those of a merged cell to one place.
    ``open`` are the first places of cells that lines bound neither above and below nor on the left and right.
    """

    xs: tuple[float, ...]
    ys: tuple[float, ...]
    cells: dict[_Place, _Place]
    open: frozenset[_Place]

    def cell_at(self, x: float, y: float) -> _Place | None:
        """Return the first row and column of the cell at a point, ``None`` outside of the grid."""
        column = bisect_right(self.xs, x) - 1
        row = bisect_right(self.ys, -y, key=neg) - 1
        return self.cells.get((row, column))


def find_grids(rules: Iterable[Rule], fills: Iterable[Fill]) -> list[Grid]:
    """Return the grids of two rows and two columns at least, the largest first."""
    level, upright = _lines([*rules, *(edge for fill in fills for edge in _edges(fill))])
    if len(level) * len(upright) > _MOST_CROSSINGS:
        return []
    grids = [grid for part in _connected(level, upright) if (grid := _grid(*part)) is not None]
    return sorted(grids, key=lambda grid: -(grid.xs[-1] - grid.xs[0]) * (grid.ys[0] - grid.ys[-1]))


def _edges(fill: Fill) -> list[Rule]:
    if fill.colour in _WHITE:
        return []
    left, bottom, right, top = fill.left, fill.bottom, fill.right, fill.top
    if top - bottom <= _THIN:
        return [Rule(left, (bottom + top) / 2, right, (bottom + top) / 2)]
    if right - left <= _THIN:
        return [Rule((left + right) / 2, bottom, (left + right) / 2, top)]
    return [
        Rule(left, bottom, right, bottom),
        Rule(left, top, right, top),
        Rule(left, bottom, left, top),
        Rule(right, bottom, right, top),
    ]


@dataclass(frozen=True, slots=True)
class _Line:
    """A level line at height ``at`` or an upright one at ``at`` from the left, and from where to where it goes."""

    at: float
    start: float
    end: float


def _lines(rules: Sequence[Rule]) -> tuple[list[_Line], list[_Line]]:
    level = [_Line(rule.bottom, rule.left, rule.right) for rule in rules if rule.right - rule.left > rule.top - rule.bottom]
    upright = [_Line(rule.left, rule.bottom, rule.top) for rule in rules if rule.top - rule.bottom > rule.right - rule.left]
    return _joined(level), _joined(upright)


def _joined(lines: list[_Line]) -> list[_Line]:
    """Join lines that go on where another ends, or lie on one another."""
    joined: list[_Line] = []
    for group in _groups(lines):
        at = group[0].at
        start, end = group[0].start, group[0].end
        for line in sorted(group, key=lambda item: item.start):
            if line.start > end + _SAME:
                joined.append(_Line(at, start, end))
                start, end = line.start, line.end
            start, end = min(start, line.start), max(end, line.end)
        joined.append(_Line(at, start, end))
    return joined


def _groups(lines: list[_Line]) -> list[list[_Line]]:
    groups: list[list[_Line]] = []
    for line in sorted(lines, key=lambda item: (item.at, item.start)):
        if groups and line.at - groups[-1][0].at <= _SAME:
            groups[-1].append(line)
        else:
            groups.append([line])
    return groups


def _connected(level: list[_Line], upright: list[_Line]) -> list[tuple[list[_Line], list[_Line]]]:
    """Return the sets of lines that hang together."""
    parent = list(range(len(level) + len(upright)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    for (a, across), (b, down) in product(enumerate(level), enumerate(upright, start=len(level))):
        if across.start - _SAME <= down.at <= across.end + _SAME and down.start - _SAME <= across.at <= down.end + _SAME:
            parent[root(a)] = root(b)
    parts: dict[int, tuple[list[_Line], list[_Line]]] = {}
    for index, line in enumerate((*level, *upright)):
        parts.setdefault(root(index), ([], []))[index >= len(level)].append(line)
    return list(parts.values())


def _grid(level: list[_Line], upright: list[_Line]) -> Grid | None:
    """Return the grid of connected lines; the ends of lines that no border closes are its outer edges."""
    if len(level) < 2 or len(upright) < 1:
        return None
    xs = _places([line.at for line in upright] + [min(line.start for line in level), max(line.end for line in level)])
    ys = _places([line.at for line in level] + [min(line.start for line in upright), max(line.end for line in upright)])[::-1]
    rows, columns = len(ys) - 1, len(xs) - 1
    if rows < 2 or columns < 2 or rows * columns > _MOST_CELLS:
        return None
    walls = [_covered(upright, x, [(a + b) / 2 for a, b in pairwise(ys)]) for x in xs]
    floors = [_covered(level, y, [(a + b) / 2 for a, b in pairwise(xs)]) for y in ys]
    if not _regular(walls):
        return None
    cells = _merged(rows, columns, walls, floors)
    return None if cells is None else Grid(tuple(xs), tuple(ys), cells, _open(cells, walls, floors))


def _places(values: list[float]) -> list[float]:
    places: list[float] = []
    for value in sorted(values):
        if not places or value - places[-1] > 2 * _SAME:
            places.append(value)
    return places


def _covered(lines: list[_Line], at: float, middles: list[float]) -> list[bool]:
    """Say at which of the middles of rows or columns a line lies at a place."""
    here = [line for line in lines if -_SAME <= line.at - at <= 2 * _SAME]
    return [any(line.start - _SAME <= middle <= line.end + _SAME for line in here) for middle in middles]


def _regular(walls: list[list[bool]]) -> bool:
    """A table's columns are those of several rows; boxes behind words that happen to touch share none."""
    inner = [sum(wall) >= 2 for wall in walls[1:-1]]
    return sum(inner) * 3 >= len(inner) * 2


def _merged(rows: int, columns: int, walls: list[list[bool]], floors: list[list[bool]]) -> dict[_Place, _Place] | None:
    """Map each place to its cell's first one; ``None`` if a line ends inside of a cell, or two cells overlap."""
    cells: dict[_Place, _Place] = {}
    for row, column in product(range(rows), range(columns)):
        if (row, column) in cells:
            continue
        right, down = column + 1, row + 1
        while right < columns and not walls[right][row]:
            right += 1
        while down < rows and not floors[down][column]:
            down += 1
        for place in product(range(row, down), range(column, right)):
            if place in cells or (place[1] > column and walls[place[1]][place[0]]):
                return None
            if place[0] > row and floors[place[0]][place[1]]:
                return None
            cells[place] = (row, column)
    return cells


def _open(cells: dict[_Place, _Place], walls: list[list[bool]], floors: list[list[bool]]) -> frozenset[_Place]:
    last = {first: place for place, first in sorted(cells.items())}
    return frozenset(
        (row, column)
        for (row, column), (lowest, rightmost) in last.items()
        if not (floors[row][column] and floors[lowest + 1][column]) and not (walls[column][row] and walls[rightmost + 1][row])
    )
