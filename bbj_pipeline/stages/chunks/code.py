"""Splits a code block that is larger than its room: between declarations, then statements, then lines, then words.

Where to cut says the outline of the code. What fits stays whole; neighbours are packed evenly, but never across a declaration
that had to be split itself. Each part repeats what it needs of its surroundings: imports that it uses, and the opening lines
of the declarations around it, parted from its own lines by a comment of three dots.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
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
_DEEPEST = 40
"""Nested spans that are taken apart; code deeper than this is cut between lines."""

SplitWords = Callable[[str, int, Counter], list[tuple[str, int]]]


@dataclass(frozen=True, slots=True)
class CodePart:
    """Code with its tokens and the names of the declarations around it, from the outermost."""

    code: str
    tokens: int
    scope: tuple[str, ...]


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
        return self._pack(self._outline.whole, ())

    def _pack(self, span: Span, around: tuple[Span, ...]) -> list[CodePart]:
        """Return the parts of a span that is too large: what it consists of, packed or taken apart in turn."""
        scope = (*around, span)
        inner = span.inner() if len(scope) <= _DEEPEST else [Span(at, at + 1) for at in range(span.start, span.end)]
        if not inner:
            return self._words(span, around)
        room = self._room - self._reserved(scope)
        sizes = [size + self._counter.joint for size in self._counter.count([self._text(range(i.start, i.end)) for i in inner])]
        parts: list[CodePart] = []
        at = 0
        while at < len(inner):
            if sizes[at] > room:
                parts.extend(self._pack(inner[at], scope))
                at += 1
                continue
            end = at
            while end < len(inner) and sizes[end] <= room:
                end += 1
            parts.extend(self._row(inner[at:end], sizes[at:end], room, scope))
            at = end
        return parts

    def _row(self, spans: Sequence[Span], sizes: Sequence[int], room: int, scope: tuple[Span, ...]) -> list[CodePart]:
        """Return neighbours that fit each as parts of about the same size."""
        aim = sum(sizes) / math.ceil(sum(sizes) / room)
        parts: list[CodePart | None] = []
        begin, size = spans[0].start, 0
        for span, tokens in zip(spans, sizes, strict=True):
            if size and (size + tokens > room or size >= aim):
                parts.append(self._part(begin, span.start, scope))
                begin, size = span.start, 0
            size += tokens
        parts.append(self._part(begin, spans[-1].end, scope))
        return [part for part in parts if part is not None]

    def _part(self, start: int, end: int, scope: tuple[Span, ...]) -> CodePart | None:
        while start < end and not self._lines[start].strip():
            start += 1
        while end > start and not self._lines[end - 1].strip():
            end -= 1
        if start == end:
            return None
        code = self._text(range(start, end))
        enclosing = [span for span in scope if span.name and span.start < start]
        repeated = [*self._used_imports(code, start, end), *self._openings(enclosing, start)]
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

    def _words(self, line: Span, around: tuple[Span, ...]) -> list[CodePart]:
        """Return a line that is too long by itself, cut between words."""
        names = tuple(span.name for span in around if span.name)
        found = self._split_words(self._text(range(line.start, line.end)), self._room, self._counter)
        return [CodePart(part, size, names) for part, size in found]

    def _text(self, lines: range) -> str:
        return "\n".join(self._lines[lines.start : lines.stop])


def _names(text: str) -> frozenset[str]:
    return frozenset(word for word in _IDENTIFIER.findall(text) if word.casefold() not in _IMPORT_WORDS)
