"""Splits a code block that is larger than its room: between declarations, then statements, then lines, then words.

Where to cut says the outline of the code. What fits stays whole, neighbours are packed evenly, and crumbs go with what they
stand beside. Each part repeats what it needs of its surroundings: imports that it uses, and the opening lines
of the declarations around it, parted from its own lines by a comment of three dots.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bbj_pipeline.stages.chunks.outlines import outline
from bbj_pipeline.stages.chunks.pieces import Counter
from bbj_pipeline.stages.chunks.syntax import Span

__all__ = ["CodePart", "split_code"]

_IDENTIFIER = re.compile(r"[A-Za-z_]\w+")
_IMPORT_WORDS = frozenset(
    ("import", "from", "use", "include", "as", "static", "type", "java", "javax", "com", "org", "util", "src", "bbj")
)
"""Words of import lines that say nothing about what is used of them."""
_MOST_IMPORTS = 200
"""Import lines that are looked at."""
_MOST_OPENING = 3
"""Lines of one declaration's opening that are repeated."""
_CRUMB = 1 / 4
"""Share of the room below which a part is put together with its neighbour, across the edge of a declaration if need be."""
_DEEPEST = 40
"""Nested spans that are taken apart; code deeper than this is cut between lines."""

SplitWords = Callable[[str, int, Counter], list[tuple[str, int]]]


@dataclass(frozen=True, slots=True)
class CodePart:
    """Code with its tokens and the names of the declarations around it, from the outermost."""

    code: str
    tokens: int
    scope: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Range:
    """Lines of one part to be, with the spans around them; ``too_long`` is one line over the room."""

    start: int
    end: int
    scope: tuple[Span, ...]
    too_long: bool = False


def split_code(text: str, language: str | None, room: int, counter: Counter, split_words: SplitWords) -> list[CodePart]:
    """Return code as parts of at most ``room`` tokens; no line is lost, and none is cut that fits."""
    lines = text.split("\n")
    return _Splitter(lines, language, room, counter, split_words).parts()


class _Splitter:
    """Packs spans of lines, finer and finer; positions count from 0."""

    def __init__(
        self, lines: Sequence[str], language: str | None, room: int, counter: Counter, split_words: SplitWords
    ) -> None:
        self._lines = lines
        self._outline = outline(lines, language)
        self._room = room
        self._counter = counter
        self._split_words = split_words
        self._imports = [(item, self._text(item), _names(self._text(item))) for item in self._outline.imports[:_MOST_IMPORTS]]

    def parts(self) -> list[CodePart]:
        """Return the parts of the whole."""
        parts: list[CodePart] = []
        for found in self._with_crumbs(self._pack(self._outline.whole, ())):
            made = self._part(found)
            if made is not None:
                parts.append(made)
            elif found.too_long:
                parts.extend(self._words(found))
        return parts

    def _pack(self, span: Span, around: tuple[Span, ...]) -> list[_Range]:
        """Return the parts of a span that is too large: what it consists of, packed or taken apart in turn."""
        scope = (*around, span)
        inner = span.inner() if len(scope) <= _DEEPEST else [Span(at, at + 1) for at in range(span.start, span.end)]
        if not inner:
            return [_Range(span.start, span.end, around, too_long=True)]
        room = self._room - self._reserved(scope)
        sizes = [size + self._counter.joint for size in self._counter.count([self._text(range(i.start, i.end)) for i in inner])]
        found: list[_Range] = []
        at = 0
        while at < len(inner):
            if sizes[at] > room:
                found.extend(self._pack(inner[at], scope))
                at += 1
                continue
            end = at
            while end < len(inner) and sizes[end] <= room:
                end += 1
            found.extend(self._row(inner[at:end], sizes[at:end], room, scope))
            at = end
        return found

    @staticmethod
    def _row(spans: Sequence[Span], sizes: Sequence[int], room: int, scope: tuple[Span, ...]) -> Iterator[_Range]:
        """Yield neighbours that fit each as parts of about the same size."""
        aim = sum(sizes) / max(1, math.ceil(sum(sizes) / room))
        begin, size = spans[0].start, 0
        for span, tokens in zip(spans, sizes, strict=True):
            if size and (size + tokens > room or size >= aim):
                yield _Range(begin, span.start, scope)
                begin, size = span.start, 0
            size += tokens
        yield _Range(begin, spans[-1].end, scope)

    def _with_crumbs(self, ranges: Sequence[_Range]) -> list[_Range]:
        """Put ranges that are small together with their neighbour where the room allows it."""
        sizes = self._counter.count([self._text(range(item.start, item.end)) for item in ranges])
        kept: list[_Range] = []
        before = 0
        for item, size in zip(ranges, sizes, strict=True):
            if kept and not (item.too_long or kept[-1].too_long) and min(before, size) < self._room * _CRUMB:
                together = _Range(kept[-1].start, item.end, kept[-1].scope)
                made = self._part(together)
                if made is None or made.tokens <= self._room:
                    kept[-1], before = together, before + size
                    continue
            kept.append(item)
            before = size
        return kept

    def _part(self, found: _Range) -> CodePart | None:
        start, end = found.start, found.end
        while start < end and not self._lines[start].strip():
            start += 1
        while end > start and not self._lines[end - 1].strip():
            end -= 1
        if start == end or found.too_long:
            return None
        code = self._text(range(start, end))
        enclosing = [span for span in found.scope if span.name and span.start < start]
        openings = self._openings(enclosing, start)
        repeated = [*self._used_imports("\n".join((*openings, code)), start, end), *openings]
        if repeated:
            indent = self._lines[start][: len(self._lines[start]) - len(self._lines[start].lstrip())]
            code = "\n".join((*repeated, f"{indent}{self._outline.comment} ...", code))
        return CodePart(code, self._counter.count([code])[0], tuple(span.name for span in enclosing))

    def _openings(self, enclosing: Sequence[Span], start: int) -> list[str]:
        """Return the opening lines of the declarations around a part, the innermost first to be kept."""
        kept: list[str] = []
        used = 0
        for span in reversed(enclosing):
            lines = span.opening[:_MOST_OPENING]
            if not lines or lines.stop > start:
                continue
            text = self._text(lines)
            used += self._counter.count([text])[0] + self._counter.joint
            if used > self._room // 4:
                break
            kept.insert(0, text)
        return kept

    def _used_imports(self, code: str, start: int, end: int) -> list[str]:
        """Return the import lines outside of a part that name something it uses, as far as there is room for them."""
        if not self._imports:
            return []
        words = set(_IDENTIFIER.findall(code))
        kept: list[str] = []
        used = 0
        for lines, text, names in self._imports:
            if start <= lines.start < end or not names & words:
                continue
            used += self._counter.count([text])[0] + self._counter.joint
            if used > self._room // 8:
                break
            kept.append(text)
        return kept

    def _reserved(self, scope: tuple[Span, ...]) -> int:
        """Return the tokens kept free for what a part inside of ``scope`` may repeat."""
        openings = self._openings([span for span in scope if span.name], self._outline.whole.end)
        counts = self._counter.count([*openings, *(text for _, text, _ in self._imports), f"{self._outline.comment} ..."])
        joint = self._counter.joint
        imports = sum(counts[len(openings) : -1]) + joint * len(self._imports)
        if not openings and not imports:
            return 0
        return sum(counts[: len(openings)]) + joint * (len(openings) + 1) + min(imports, self._room // 8) + counts[-1]

    def _words(self, line: _Range) -> list[CodePart]:
        """Return a line that is too long by itself, cut between words."""
        names = tuple(span.name for span in line.scope if span.name)
        found = self._split_words(self._text(range(line.start, line.end)), self._room, self._counter)
        return [CodePart(part, size, names) for part, size in found]

    def _text(self, lines: range) -> str:
        return "\n".join(self._lines[lines.start : lines.stop])


def _names(text: str) -> frozenset[str]:
    return frozenset(word for word in _IDENTIFIER.findall(text) if word.casefold() not in _IMPORT_WORDS)
