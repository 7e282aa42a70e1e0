"""Assembles paragraphs, list items and code blocks from lines that are no headings and no furniture.

What belongs together is read from gaps, indents, bullets and fonts; broken words are mended. Nothing is reordered here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest

from bbj_pipeline.records import Block
from bbj_pipeline.sources.pdf.hyphens import Hyphens
from bbj_pipeline.sources.pdf.lines import Line
from bbj_pipeline.sources.pdf.tables import split_tables

__all__ = ["Measures", "assemble", "measure"]

_BULLET = re.compile(r"^([•◦▪▫●○■□‣⁃∙·➢➤✓\uf0a7\uf0b7\uf0d8]|[-–—*](?=\s))\s*")
_NUMBER = re.compile(r"^(\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])\s+(?=\S)")
_SENTENCE_END = re.compile(r"[.!?:;][\"'”’)\]]*$")
_ICONS = {"\uf05a": "Note", "\uf0eb": "Tip", "\uf071": "Warning", "\uf06d": "Caution", "\uf06a": "Important"}
"""Letters of the font Font Awesome that begin an admonition, by its names (info-circle, lightbulb, exclamation-triangle, fire,
exclamation-circle), as Asciidoctor PDF sets them."""
_MOST_SPACES = 500
"""Spaces set for a gap in code: positions are the file's to choose, and may be anywhere."""
_COLUMNS = re.compile(r"\S {3,}\S")
_GAP = 1.3
"""Lines further apart than this many leadings are not of one paragraph."""
_MOST_MONO = 0.9
"""In a file with more monospaced text than this, the font does not say what is code."""


@dataclass(frozen=True, slots=True)
class Measures:
    """What one looks up in the whole file before assembling its parts."""

    leading: dict[float, float]
    right: dict[int, float]
    hyphens: Hyphens
    all_mono: bool
    indent: float


def measure(pages: Sequence[Sequence[Line]]) -> Measures:
    """Measure leading by type size, the right edge of each page's column, the file's words, and what the fonts are."""
    gaps: dict[float, Counter[float]] = {}
    right: dict[int, float] = {}
    starts: Counter[int] = Counter()
    letters = mono = 0
    for lines in pages:
        plain = [line for line in lines if line.table is None]
        for line, following in zip_longest(plain, plain[1:]):
            right[line.page * 3 + line.column] = max(right.get(line.page * 3 + line.column, 0.0), line.end)
            letters += len(line.text)
            mono += len(line.text) if line.mono else 0
            starts[round(line.x)] += len(line.text)
            if following and following.size == line.size and 0.9 * line.size < line.y - following.y < 2.2 * line.size:
                gaps.setdefault(line.size, Counter())[round((line.y - following.y) * 2) / 2] += 1
    leading = {size: min(counted.items(), key=lambda item: (-item[1], item[0]))[0] for size, counted in gaps.items()}
    hyphens = Hyphens(text for lines in pages for line in lines for text in _texts(line))
    indent = float(starts.most_common(1)[0][0]) if starts else 0.0
    return Measures(leading, right, hyphens, mono > _MOST_MONO * letters, indent)


def _texts(line: Line) -> Iterator[str]:
    if line.table is None:
        yield line.text
    else:
        yield from (text for row in line.table.rows for cell in row for text in cell)


def assemble(lines: Iterable[Line], measures: Measures) -> Iterator[Block]:
    """Yield the blocks of the lines between two headings."""
    groups: list[_Group] = []
    for item in split_tables(list(lines), mono_is_code=not measures.all_mono):
        if item.table is None:
            _take(groups, item, measures)
            continue
        yield from (block for group in groups for block in _blocks(group, measures))
        groups = []
        rows = tuple(tuple(measures.hyphens.join(cell) for cell in row) for row in item.table.rows)
        yield Block("table", rows=rows, header_rows=item.table.header_rows, page=item.page)
    yield from (block for group in groups for block in _blocks(group, measures))


@dataclass(slots=True)
class _Group:
    """Lines that become one block."""

    kind: str
    lines: list[Line] = field(default_factory=list)
    level: int = 1
    mark: str = ""


def _take(groups: list[_Group], line: Line, measures: Measures) -> None:
    """Add a line to the last group, or begin another."""
    last = groups[-1] if groups else None
    if line.mono and not measures.all_mono:
        if last and last.kind == "code":
            last.lines.append(line)
        else:
            groups.append(_Group("code", [line]))
        return
    if line.contents:
        groups.append(_Group("list_item", [line], _list_level(groups, line)))
        return
    if line.text[:1] in _ICONS and line.text[1:2] in {"", " "}:
        groups.append(_Group("note", [line]))
        return
    bullet, number = _BULLET.match(line.text), _NUMBER.match(line.text)
    if bullet or (number and _may_count(last, line, measures)):
        mark = bullet.group(0) if bullet else ""
        groups.append(_Group("list_item", [line], _list_level(groups, line), mark))
    elif last and last.kind != "code" and not last.lines[-1].contents and _continues(last, line, measures):
        last.lines.append(line)
    else:
        groups.append(_Group("paragraph", [line]))


def _may_count(last: _Group | None, line: Line, measures: Measures) -> bool:
    """A number begins a list item, unless it happens to begin a line inside a paragraph."""
    if last is None or last.kind != "paragraph":
        return True
    return not _continues(last, line, measures) or bool(_SENTENCE_END.search(last.lines[-1].text))


def _list_level(groups: list[_Group], line: Line) -> int:
    """Nest under the nearest item further left; items at one x are of one level."""
    for group in reversed(groups):
        if group.kind != "list_item":
            if group.kind == "paragraph" and group.lines[0].x < line.x - 2 and group is not groups[-1]:
                return 1
            continue
        difference = line.x - group.lines[0].x
        if group.lines[0].column != line.column and group.lines[0].page == line.page:
            return group.level
        if abs(difference) <= 3:
            return group.level
        if difference > 3:
            return min(group.level + 1, 6)
    return 1


def _continues(group: _Group, line: Line, measures: Measures) -> bool:
    """Whether a line goes on with the paragraph or list item."""
    last = group.lines[-1]
    if group.kind == "list_item" and group.mark and not _BULLET.sub("", last.text) and abs(last.y - line.y) < last.size:
        return True  # the bullet was a line of its own, at the same height
    if group.kind == "note" and last.text in _ICONS and abs(last.y - line.y) < 2 * last.size:
        return True  # so was the icon, in the middle of the text's height
    if line.size != last.size and abs(line.size - last.size) > 0.1 * last.size:
        return False
    ended = bool(_SENTENCE_END.search(last.text))
    if (line.page, line.column) != (last.page, last.column):
        return not ended and line.text[:1].islower()
    gap = last.y - line.y
    leading = measures.leading.get(last.size, 1.2 * last.size)
    if gap > _GAP * leading or gap < -last.size:
        return False
    if group.kind == "list_item":
        return line.x > group.lines[0].x + 2 or not group.mark
    edge = measures.right.get(last.page * 3 + last.column, last.end)
    short = last.end < last.x + 0.75 * (edge - last.x)
    indented = line.x > last.x + 0.8 * line.size
    return not (ended and (short or indented))


def _blocks(group: _Group, measures: Measures) -> Iterator[Block]:
    page = group.lines[0].page
    if group.kind == "code" or (measures.all_mono and group.kind == "paragraph" and _looks_set(group.lines, measures)):
        yield Block("code", _code(group.lines), page=page)
        return
    text = measures.hyphens.join([line.text for line in group.lines])
    if group.mark:
        text = _BULLET.sub("", text).strip()
    if group.kind == "note":
        text, title = text[1:].strip(), _ICONS[text[0]]
        if text:
            yield Block("note", text, title=title, page=page)
        return
    if not text:
        return
    if group.kind == "list_item":
        yield Block("list_item", text, level=group.level, page=page)
    else:
        yield Block("paragraph", text, page=page)


def _looks_set(lines: list[Line], measures: Measures) -> bool:
    """In a file that is all monospaced: whether lines are set out in columns, or together further in than the text."""
    deeper = min(line.x for line in lines) - measures.indent
    if len(lines) == 1:
        return bool(_COLUMNS.search(lines[0].text)) or deeper > 1.5 * lines[0].size
    return deeper > 1.5 * lines[0].size or sum(bool(_COLUMNS.search(line.text)) for line in lines) >= 2


def _code(lines: list[Line]) -> str:
    """Set lines out as they stand: indents from their positions, an empty line for each line's height left free."""
    left = min(line.x for line in lines)
    pitch = _pitch(lines)
    steps = sorted(a.y - b.y for a, b in pairwise(lines) if a.page == b.page and a.y - b.y > 0.5 * a.size)
    step = steps[len(steps) // 4] if steps else 0.0
    out: list[str] = []
    previous: Line | None = None
    for line in lines:
        text = line.text.replace("\u00ad", "-")
        if previous and step and previous.page == line.page and line.y < previous.y:
            out += [""] * max(0, min(3, round((previous.y - line.y) / step) - 1))
        if previous and abs(previous.y - line.y) < 0.3 * line.size and previous.page == line.page:
            out[-1] += " " * max(1, min(_MOST_SPACES, round((line.x - previous.end) / pitch))) + text
        else:
            out.append(" " * min(_MOST_SPACES, round((line.x - left) / pitch)) + text)
        previous = line
    return "\n".join(out)


def _pitch(lines: list[Line]) -> float:
    """Return how far apart the letters of monospaced lines stand, in points: between 0.4 and 0.8 em, 0.6 in most fonts."""
    pitches = sorted((line.end - line.x) / len(line.text) for line in lines)
    size = lines[0].size or 1.0
    return max(0.4 * size, min(0.8 * size, pitches[len(pitches) // 2]))
