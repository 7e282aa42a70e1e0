"""Splits a code block that is larger than its room: between declarations first, then blank lines, lines, words.

BBj code is read by the lexer of the BBj source parser; in other languages a declaration is taken to begin after a blank line
at the margin. Parts are packed greedily, but never across a declaration that had to be split itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from bbj_pipeline.sources.bbj_source.declarations import Declaration, declarations
from bbj_pipeline.stages.chunks.pieces import Counter

__all__ = ["split_code"]

_BBJ_LANGUAGES = frozenset({"", "bbj", "bbx", "bbxt", "bbjt", "basic", "src", "pro5", "bui"})

CodePart = tuple[str, int, tuple[str, ...]]
"""Code, its tokens, and the names of the declarations around it."""
SplitWords = Callable[[str, int, Counter], list[tuple[str, int]]]


def split_code(text: str, language: str | None, room: int, counter: Counter, split_words: SplitWords) -> list[CodePart]:
    """Return code as parts of at most ``room`` tokens with their enclosing declarations; no line is lost."""
    lines = text.strip("\n").split("\n")
    found = declarations("\n".join(lines)) if (language or "").casefold() in _BBJ_LANGUAGES else ()
    splitter = _Splitter(lines, found, room, counter, split_words)
    return splitter.pack(0, len(lines), 0)


class _Splitter:
    """Packs line ranges [start, end), finer and finer; positions count from 0."""

    def __init__(
        self, lines: list[str], found: Sequence[Declaration], room: int, counter: Counter, split_words: SplitWords
    ) -> None:
        self._lines = lines
        self._found = found
        self._room = room
        self._counter = counter
        self._split_words = split_words
        outer = [item for item in found if item.kind != "label"]
        starts = {(item.doc_line or item.start_line) - 1 for item in outer} | {item.end_line for item in outer}
        labels = {(item.doc_line or item.start_line) - 1 for item in found}
        blank = {number for number in range(1, len(lines)) if not lines[number - 1].strip() and lines[number].strip()}
        margin = {number for number in blank if lines[number][0] not in " \t})]"}
        self._cuts = (starts if found else margin, labels | starts, blank, set(range(len(lines))))

    def pack(self, start: int, end: int, level: int) -> list[CodePart]:
        """Return the parts of a range, cut at the places of ``level`` or, where that is not enough, of the next ones."""
        edges = [start, *sorted(cut for cut in self._cuts[level] if start < cut < end), end]
        ranges = [(a, b) for a, b in pairwise(edges) if a < b]
        counts = self._counter.count(["\n".join(self._lines[a:b]) for a, b in ranges])
        parts: list[CodePart] = []
        begin, size = start, 0
        for (a, b), tokens in zip(ranges, counts, strict=True):
            tokens += self._counter.joint
            if tokens > self._room:
                parts.extend(self._part(begin, a, size))
                parts.extend(self.pack(a, b, level + 1) if level + 1 < len(self._cuts) else self._line(a))
                begin, size = b, 0
            elif size + tokens > self._room:
                parts.extend(self._part(begin, a, size))
                begin, size = a, tokens
            else:
                size += tokens
        parts.extend(self._part(begin, end, size))
        return parts

    def _part(self, start: int, end: int, tokens: int) -> list[CodePart]:
        code = "\n".join(self._lines[start:end]).strip("\n")
        return [(code, tokens, self._scope(start))] if code.strip() else []

    def _line(self, number: int) -> list[CodePart]:
        scope = self._scope(number)
        return [(part, size, scope) for part, size in self._split_words(self._lines[number], self._room, self._counter)]

    def _scope(self, start: int) -> tuple[str, ...]:
        """Return the names of the declarations that began before this line and still go on."""
        line = start + 1
        return tuple(
            item.name
            for item in self._found
            if (item.doc_line or item.start_line) < line <= item.end_line and item.kind != "label"
        )
