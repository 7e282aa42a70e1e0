"""Lays a BBj program out as blocks: headings for what it declares, comments as paragraphs, code as it stands.

Every line of the program that is not blank stands in exactly one piece, in the program's order; headings are made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bbj_pipeline.records import Block
from bbj_pipeline.sources.bbj_source.comments import comment_paragraphs
from bbj_pipeline.sources.bbj_source.declarations import Declaration, scan
from bbj_pipeline.sources.bbj_source.lexer import LogicalLine, jump_targets, lex, split_lines

__all__ = ["Program", "blocks", "read_program"]

_HEADED = {
    "class": "Class",
    "interface": "Interface",
    "method": "Method",
    "function": "Function",
    "subroutine": "Subroutine",
    "callpoint": "Callpoint",
}
_REST = "Program"


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of lines ``start`` to ``end`` (from 1, inclusive) that becomes code or, when ``comment``, paragraphs.

    ``headings`` come before it: (level, text). ``owner`` numbers the declaration it belongs to, -1 is none.
    """

    start: int
    end: int
    comment: bool
    headings: tuple[tuple[int, str], ...] = ()
    owner: int = -1


@dataclass(frozen=True, slots=True)
class Program:
    """A lexed program with its declarations and pieces."""

    source: tuple[str, ...]
    lines: tuple[LogicalLine, ...]
    declarations: tuple[Declaration, ...]
    pieces: tuple[Piece, ...]


def read_program(text: str) -> Program:
    """Lex ``text`` and cut it into pieces."""
    source = tuple(split_lines(text))
    lines = lex(text)
    called, reached = jump_targets(lines)
    found = scan(lines, called)
    return Program(source, lines, found, tuple(_trimmed(_Cutter(lines, found, reached).cut(), source)))


def blocks(program: Program, *, language: str = "bbj") -> Iterator[Block]:
    """Yield the program's blocks, each with its lines; code is verbatim, blank lines around it apart."""
    by_start = {line.start: line for line in program.lines}
    for piece in program.pieces:
        for level, text in piece.headings:
            yield Block("heading", text, level=level)
        if piece.comment:
            run = [by_start[number] for number in range(piece.start, piece.end + 1) if number in by_start]
            for paragraph in comment_paragraphs(run):
                yield Block("paragraph", paragraph.text, lines=(paragraph.start, paragraph.end))
        else:
            text = "\n".join(program.source[piece.start - 1 : piece.end])
            yield Block("code", text, language=language, lines=(piece.start, piece.end))


class _Cutter:
    """Cuts the lines into pieces where their owner changes: the innermost declaration with a heading that they belong to."""

    def __init__(self, lines: tuple[LogicalLine, ...], found: tuple[Declaration, ...], targets: frozenset[int]) -> None:
        self.lines = {line.start: line for line in lines}
        self.last = lines[-1].end if lines else 0
        self.targets = targets
        self.headings: list[tuple[int, str]] = []
        self.owner = [-1] * (self.last + 1)
        self.is_doc = [False] * (self.last + 1)
        self.pieces: list[Piece] = []
        self._own(found)

    def cut(self) -> list[Piece]:
        """Return pieces that tile the program, blank lines included."""
        start = self._leading_comment()
        headed: set[int] = set()
        while start <= self.last:
            owner, doc = self.owner[start], self.is_doc[start]
            end = start
            while end < self.last and self.owner[end + 1] == owner and self.is_doc[end + 1] == doc:
                end += 1
            self._add(start, end, owner, doc=doc, continued=owner in headed)
            headed.add(owner)
            start = end + 1
        return self.pieces

    def _own(self, found: tuple[Declaration, ...]) -> None:
        enclosing: list[Declaration] = []
        for item in found:
            if item.kind not in _HEADED:
                continue
            while enclosing and enclosing[-1].end_line < item.end_line:
                enclosing.pop()
            self.headings.append((min(6, 2 + len(enclosing)), f"{_HEADED[item.kind]} {item.name}"))
            enclosing.append(item)
            number = len(self.headings) - 1
            for line in range(item.doc_line, item.end_line + 1):
                self.owner[line] = number
                self.is_doc[line] = line < item.start_line

    def _leading_comment(self) -> int:
        """Make the comment the program opens with a piece, if it is no declaration's; return the line after it."""
        end = 0
        for line in self.lines.values():
            if self.owner[line.start] >= 0 or not (line.comment or line.blank) or self._jumped_to(line):
                break
            end = line.end if line.comment else end
        if end:
            self.pieces.append(Piece(1, end, comment=True))
        return end + 1

    def _add(self, start: int, end: int, owner: int, *, doc: bool, continued: bool) -> None:
        run = [self.lines[number] for number in range(start, end + 1) if number in self.lines]
        comment = doc and not any(self._jumped_to(line) for line in run)
        before = self.pieces[-1] if self.pieces else None
        if before and not before.comment and not any(line.statements or line.callpoint for line in run):
            self.pieces[-1] = replace(before, end=end)  # nothing to head; blank lines are trimmed off in the end
            return
        headings: tuple[tuple[int, str], ...] = ()
        if owner >= 0:
            same = continued and before is not None and before.owner == owner
            headings = () if same else (self.headings[owner],)
        elif any(piece.owner >= 0 for piece in self.pieces[-1:]):
            headings = ((2, _REST),)
        self.pieces.append(Piece(start, end, comment, headings, owner))

    def _jumped_to(self, line: LogicalLine) -> bool:
        return line.number is not None and line.number in self.targets


def _trimmed(pieces: list[Piece], source: tuple[str, ...]) -> Iterator[Piece]:
    """Take blank lines off both ends of every piece; a blank piece gives its headings to the next."""
    waiting: tuple[tuple[int, str], ...] = ()
    for piece in pieces:
        start, end = piece.start, piece.end
        while start <= end and not source[start - 1].strip():
            start += 1
        while end >= start and not source[end - 1].strip():
            end -= 1
        headings = waiting + piece.headings
        if start > end:
            waiting = headings
            continue
        waiting = ()
        yield replace(piece, start=start, end=end, headings=headings)
