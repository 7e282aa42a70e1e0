"""Finds what a BBj program declares, with exact line ranges: classes, methods, functions, subroutines, labels, callpoints.

Built on the lexer; usable on a whole program or on a piece of one (a code block), so that code can be split between
declarations and never inside one. Missing ``methodend``, ``fnend`` or ``classend`` are closed where the next one begins.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import Literal

from bbj_pipeline.sources.bbj_source.comments import comment_line, comment_text
from bbj_pipeline.sources.bbj_source.lexer import LogicalLine, Statement, jump_targets, lex

__all__ = ["Declaration", "DeclarationKind", "declarations", "declarations_of", "scan"]

DeclarationKind = Literal["class", "interface", "method", "function", "subroutine", "label", "callpoint"]

_MODIFIERS = r"(?:(?:public|private|protected|static|final|abstract)\s+)*"
_TYPE = re.compile(rf"(class|interface)\s+{_MODIFIERS}([A-Za-z_]\w*)", re.IGNORECASE)
_METHOD = re.compile(r"method\s+(?:[^(\s]+\s+)*?([A-Za-z_]\w*)\s*(?:\(|$)", re.IGNORECASE)
# In a piece of a program the class around a method may be missing; then only its access word tells it from a variable.
_ACCESS = re.compile(r"method\s+(public|private|protected)\s", re.IGNORECASE)
_FUNCTION = re.compile(r"def\s*(fn\w*[$%!]?)\s*(\([^)]*\))?\s*(=?)", re.IGNORECASE)
_DECLARES = re.compile(r"class|interface|method|def|fnend", re.IGNORECASE)
"""How each statement begins that opens or ends a declaration."""
_END = re.compile(r"(methodend|classend|interfaceend|fnend)\b", re.IGNORECASE)
_CLOSES = {"methodend": ("method",), "classend": ("class",), "interfaceend": ("interface",), "fnend": ("function",)}
# After one of these control does not run on into the next line, so a label that follows begins a subroutine.
_TERMINAL = re.compile(r"(return|exit|end|release|stop|bye|retry|goto|process_events)(?![\w$!%.(]|\s*=)", re.IGNORECASE)
_IF = re.compile(r"if\b", re.IGNORECASE)
_FI = re.compile(r"(fi|endif)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Declaration:
    """One declaration: physical lines ``start_line`` to ``end_line`` from 1, both inclusive; the last one is never empty.

    ``doc`` is the text of the comment directly above it, whose first line is ``doc_line`` (``start_line`` if there is none);
    these lines are not in the range. A comment on the line of a label is part of its ``doc``. ``parent`` is the enclosing
    class, interface, callpoint or subroutine, or ``None``. A ``subroutine`` is a label that control cannot run into from above,
    or that has a comment of its own, up to the next one; so is a line number that is called with ``GOSUB``. Every other label
    outside of methods and functions is a ``label``, up to the next label.
    """

    kind: DeclarationKind
    name: str
    start_line: int
    end_line: int
    doc: str = ""
    doc_line: int = 0
    parent: str | None = None


def declarations(text: str) -> tuple[Declaration, ...]:
    """Return the declarations of ``text`` by start line, outer before inner.

    Ranges nest or are apart; where one ends and another begins on one line, that line is in both.
    """
    return declarations_of(lex(text))


def declarations_of(lines: tuple[LogicalLine, ...]) -> tuple[Declaration, ...]:
    """The same for lines that have been lexed already."""
    return scan(lines, jump_targets(lines)[0])


def scan(lines: tuple[LogicalLine, ...], called: frozenset[int]) -> tuple[Declaration, ...]:
    """The same when it is known already which line numbers are ``called``."""
    scanner = _Scanner(called)
    for line in lines:
        scanner.take(line)
    return tuple(_without_blank_end(item, lines) for item in scanner.finish(lines[-1].end if lines else 0))


def _without_blank_end(item: Declaration, lines: tuple[LogicalLine, ...]) -> Declaration:
    """End a declaration that nothing closes at its last line that is not empty."""
    at = bisect_right(lines, item.end_line, key=lambda line: line.start) - 1
    if not lines[at].blank:
        return item
    while lines[at].blank and lines[at].start > item.start_line:
        at -= 1
    return replace(item, end_line=lines[at].end)


class _Scanner:
    """Walks the lines once, keeping the stack of open declarations."""

    def __init__(self, called: frozenset[int]) -> None:
        self.called = called
        self.open: list[Declaration] = []
        self.done: list[Declaration] = []
        self.comments: list[LogicalLine] = []
        self.before: LogicalLine | None = None

    def take(self, line: LogicalLine) -> None:
        """Read one logical line: open what it declares, close what it ends, remember a comment for what follows."""
        number = str(line.number) if line.number in self.called else None
        if line.comment and not number:
            self.comments.append(line)
            return
        if line.blank:
            # a comment set off by an empty line belongs to what stands above it, unless it is a doc comment
            if self.comments and not self.comments[-1].statements[0].text.endswith("*/"):
                self.comments = []
            return
        doc_line = self.comments[0].start if self.comments else line.start
        doc = comment_text(self.comments) if self.comments else ""
        self.comments = []
        if line.callpoint:
            self._close(len(self.open), doc_line - 1)
            self._push("callpoint", line.callpoint, line, doc, doc_line)
            self.before = None
        else:
            if number and all(statement.label is None for statement in line.statements):
                self._label(number, line, doc or comment_text([line] if line.comment else []), doc_line)
            for statement in line.statements:
                self._statement(statement, line, doc, doc_line)
            if any(statement.label is not None or not statement.comment for statement in line.statements):
                self.before = line

    def finish(self, last: int) -> tuple[Declaration, ...]:
        """Close what is open at the end of the text and return everything in reading order."""
        self._close(len(self.open), last)
        return tuple(sorted(self.done, key=lambda item: (item.start_line, -item.end_line, _RANK[item.kind])))

    def _statement(self, statement: Statement, line: LogicalLine, doc: str, doc_line: int) -> None:
        if statement.label is not None and not self._inside("method", "function"):
            own = comment_line(statement.text) if statement.comment else ""
            self._label(statement.label, line, "\n\n".join(filter(None, (doc, own))), doc_line)
        text = statement.text
        if statement.comment or not _DECLARES.match(text):
            return
        if end := _END.match(text):
            self._end(_CLOSES[end.group(1).lower()], line.end)
        elif found := _TYPE.match(text):
            self._close_to(("callpoint",), doc_line - 1)
            self._push("class" if found.group(1).lower() == "class" else "interface", found.group(2), line, doc, doc_line)
        elif (self._inside("class", "interface") or _ACCESS.match(text)) and (found := _METHOD.match(text)):
            self._close_to(("class", "interface", "callpoint"), doc_line - 1)
            in_interface = bool(self.open) and self.open[-1].kind == "interface"
            self._push("method", found.group(1), line, doc, doc_line)
            if in_interface:
                self._close(1, line.end)
        elif found := _FUNCTION.match(text):
            self._close_to(("class", "interface", "callpoint"), doc_line - 1)
            self._push("function", found.group(1), line, doc, doc_line)
            if found.group(3):
                self._close(1, line.end)

    def _label(self, name: str, line: LogicalLine, doc: str, doc_line: int) -> None:
        begins = bool(doc) or self.before is None or not _falls_through(self.before)
        kind: DeclarationKind = "subroutine" if begins else "label"
        keep = ("class", "interface", "callpoint") if begins else ("class", "interface", "callpoint", "subroutine")
        self._close_to(keep, doc_line - 1)
        self._push(kind, name, line, doc, doc_line)

    def _push(self, kind: DeclarationKind, name: str, line: LogicalLine, doc: str, doc_line: int) -> None:
        parent = self.open[-1].name if self.open else None
        self.open.append(Declaration(kind, name, line.start, 0, doc, doc_line, parent))

    def _inside(self, *kinds: str) -> bool:
        return any(item.kind in kinds for item in self.open)

    def _end(self, kinds: tuple[str, ...], last: int) -> None:
        """Close up to and including the innermost open declaration of one of ``kinds``; an end without a begin is code."""
        for depth, item in enumerate(reversed(self.open), start=1):
            if item.kind in kinds:
                self._close(depth, last)
                return

    def _close_to(self, keep: tuple[str, ...], last: int) -> None:
        """Close the innermost declarations until one of the kinds ``keep`` is on top."""
        count = 0
        for item in reversed(self.open):
            if item.kind in keep:
                break
            count += 1
        self._close(count, last)

    def _close(self, count: int, last: int) -> None:
        for _ in range(count):
            item = self.open.pop()
            self.done.append(replace(item, end_line=max(last, item.start_line)))


_RANK = {"callpoint": 0, "interface": 1, "class": 1, "subroutine": 2, "label": 3, "function": 4, "method": 4}


def _falls_through(line: LogicalLine) -> bool:
    """Whether control can run on past ``line``, which has code or a label; it can past a label alone."""
    conditional = False
    last = ""
    for statement in line.statements:
        if statement.comment or not statement.text:
            continue
        last = statement.text
        if _IF.match(last):
            conditional = True
        elif _FI.match(last):
            conditional = False
    return conditional or not last or not _TERMINAL.match(last)
