"""What code is made of, as nested ranges of lines: declarations, the statements in them, what has to be repeated of them.

BBj is read by the lexer of the BBj source parser, other languages by tree-sitter where the name on the fence has a
grammar, or a fence without a name holds lines that only one language has; anything else is taken by its blank lines. Nothing
is counted or split here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

from bbj_pipeline.sources.bbj_source.declarations import Declaration, declarations_of
from bbj_pipeline.sources.bbj_source.lexer import LogicalLine, lex
from bbj_pipeline.stages.chunks.syntax import Outline, Span, syntax_outline

__all__ = ["outline"]

_BBJ_LANGUAGES = frozenset({"bbj", "bbx", "bbxt", "bbjt", "basic", "src", "pro5", "bui"})
_LOOKS_LIKE_BBJ = re.compile(r"(?im)^[ \t]*(?:\d+[ \t]+)?(?:methodend|classend|interfaceend|fnend|rem\b|gosub\b|def[ \t]*fn)")
"""Code whose fence names no language is BBj when one of its lines begins with a word that only BBj begins lines with."""
_LOOKS_LIKE = (
    (
        "java",
        re.compile(
            r"(?m)^import (?:static )?[\w.]+(?:\.\*)?;|"
            r"^[ \t]*(?:public|private|protected) [^;=\n]{0,200}(?:\{|\([^;\n]{0,200})$"
        ),
    ),
    ("python", re.compile(r"(?m)^[ \t]*(?:async )?def \w+\(.*:[ \t]*$|^class \w+(?:\(.*\))?:[ \t]*$")),
    ("typescript", re.compile(r"(?m)\bfunction\b[ \t]*\w*[ \t]*\([^)]{0,200}\)[^{;\n]{0,80}\{|=>[ \t]*\{[ \t]*$")),
)
"""The same for other languages, as manuals print them; their grammar still has to agree. Bounded, for a line may be a file."""
_IMPORT = re.compile(r"use\s+\S|#include\s", re.IGNORECASE)
_CLOSERS = "})]"


def outline(lines: Sequence[str], language: str | None) -> Outline:
    """Return the outline of code; its spans tile ``lines`` whatever they hold."""
    name = (language or "").casefold()
    text = "\n".join(lines)
    if name in _BBJ_LANGUAGES or (not name and _LOOKS_LIKE_BBJ.search(text)):
        return _bbj(lines, text)
    found = syntax_outline(text, name or _guessed(text))
    if found is not None:
        return found
    return Outline(Span(0, len(lines), inner=lambda: _by_margin(lines)))


def _guessed(text: str) -> str:
    return next((language for language, sign in _LOOKS_LIKE if sign.search(text)), "")


# -- BBj ---------------------------------------------------------------------------------------------------------------


def _bbj(lines: Sequence[str], text: str) -> Outline:
    logical = lex(text)
    starts = [line.start for line in logical]

    def statement(number: int) -> LogicalLine:
        return logical[bisect_right(starts, number + 1) - 1]

    def declared(items: Sequence[Declaration], start: int, end: int) -> Sequence[Span]:
        """Return spans that tile a range: the outermost of ``items``, and what stands between them by its blank lines."""
        spans: list[Span] = []
        at = start
        for first, nested in _nested(items):
            begin, close = _begin(first), first.end_line
            if spans and begin < at:  # one ends and the next begins on one line: they stay together
                before = spans.pop()
                begin, nested, name, opening = before.start, [], "", range(0)
            else:
                spans.extend(_paragraphs(lines, at, begin, breaks))
                name = "" if first.kind == "label" else first.name
                opening = range(first.start_line - 1, statement(first.start_line - 1).end if name else first.start_line - 1)
            spans.append(Span(begin, close, name, opening, _inner(declared, nested, begin, close)))
            at = max(at, close)
        spans.extend(_paragraphs(lines, at, end, breaks))
        return spans

    breaks = [line.start - 1 for line in logical]
    found = sorted(declarations_of(logical), key=lambda item: (_begin(item), -item.end_line))
    imports = tuple(range(line.start - 1, line.end) for line in logical if _imports(line))
    return Outline(Span(0, len(lines), inner=lambda: declared(found, 0, len(lines))), imports, "rem")


def _inner(
    make: Callable[[Sequence[Declaration], int, int], Sequence[Span]], items: Sequence[Declaration], start: int, end: int
) -> Callable[[], Sequence[Span]]:
    return lambda: make(items, start, end)


def _begin(item: Declaration) -> int:
    return (item.doc_line or item.start_line) - 1


def _nested(items: Sequence[Declaration]) -> Iterator[tuple[Declaration, list[Declaration]]]:
    """Yield the outermost declarations, each with those that lie inside it."""
    at = 0
    while at < len(items):
        first, end = items[at], at + 1
        while end < len(items) and items[end].end_line <= first.end_line and _begin(items[end]) < first.end_line:
            end += 1
        yield first, list(items[at + 1 : end])
        at = end


def _imports(line: LogicalLine) -> bool:
    return any(not statement.comment and _IMPORT.match(statement.text) for statement in line.statements)


# -- by blank lines ----------------------------------------------------------------------------------------------------


def _by_margin(lines: Sequence[str]) -> Sequence[Span]:
    """Cut where a blank line is followed by one at the margin, which is taken to begin a declaration."""
    cuts = [
        number
        for number in range(1, len(lines))
        if not lines[number - 1].strip() and lines[number].strip() and lines[number][0] not in f" \t{_CLOSERS}"
    ]
    every = range(len(lines))
    return [Span(a, b, inner=_paragraphs_of(lines, a, b, every)) for a, b in _ranges(0, len(lines), cuts)]


def _paragraphs_of(lines: Sequence[str], start: int, end: int, breaks: Sequence[int]) -> Callable[[], Sequence[Span]]:
    return lambda: _paragraphs(lines, start, end, breaks)


def _paragraphs(lines: Sequence[str], start: int, end: int, breaks: Sequence[int]) -> list[Span]:
    """Cut a range after its blank lines; a paragraph consists of the statements that begin at ``breaks``."""
    cuts = [at for at in range(start + 1, end) if not lines[at - 1].strip() and lines[at].strip()]
    return [Span(a, b, inner=_statements(a, b, breaks)) for a, b in _ranges(start, end, cuts)]


def _statements(start: int, end: int, breaks: Sequence[int]) -> Callable[[], Sequence[Span]]:
    def cut() -> Sequence[Span]:
        cuts = breaks[bisect_right(breaks, start) : bisect_right(breaks, end - 1)]
        return [Span(a, b, inner=_lines(a, b)) for a, b in _ranges(start, end, cuts)]

    return cut


def _lines(start: int, end: int) -> Callable[[], Sequence[Span]]:
    return lambda: [Span(at, at + 1) for at in range(start, end)] if end - start > 1 else []


def _ranges(start: int, end: int, cuts: Iterable[int]) -> Iterator[tuple[int, int]]:
    for cut in cuts:
        if start < cut < end:
            yield start, cut
            start = cut
    if start < end:
        yield start, end
