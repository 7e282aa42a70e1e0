"""Lexer of BBj programs: physical lines to logical lines to statements, comments told from code, strings and mnemonics skipped.

Modern and line-numbered code alike. Nothing is executed, resolved or rejected: any text lexes, and lines are never lost.
What a program declares is found in ``declarations``, what becomes of it in a topic is decided in ``program``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["LogicalLine", "Statement", "code_words", "jump_targets", "lex", "split_lines"]

_NUMBER = re.compile(r"\s*(\d{1,7})(?=[\s:;]|[A-Za-z]|$)[ \t]*")
_CALLPOINT = re.compile(r"\s*\[\[([^\[\]\n]+)\]\]\s*$")
_STATEMENT = re.compile(
    r"""[ \t\f;\r\x1a]*+
    (?: (?! (?i:rem|else|then|use|default) [ \t]*: )  # words before a colon that is theirs, or of a path
        ([A-Za-z_][A-Za-z0-9_.]*) [ \t]*+ : (?!:) [ \t]*+ )?
    (?: ( (?i:rem (?![A-Za-z0-9_$!%.(]) ) .*+ )
      | ( (?: [^;"']++ | "(?:[^"]|"")*+"?+ | '[^']*+'?+ )*+ ) )""",
    re.VERBOSE | re.DOTALL,
)
"""One statement with what parts it from the one before: its label, and either a comment or code up to its semicolon."""
# Whatever does not end, open or hide a statement; then a string ("" is a quote inside it) or a mnemonic.
_CODE = re.compile(r"""[^;"']+|"(?:[^"]|"")*"?|'[^']*'?""")
_JUMP = re.compile(
    r"\b(goto|gosub|exitto|seterr|setesc|restore)\s*(\d[\d,\s]*)|\b(?:err|dom|end|lck)\s*=\s*(\d+)", re.IGNORECASE
)
_INTEGER = re.compile(r"\d+")
_MOST_DIGITS = 7
"""Digits of a line number; a longer number names no line, and Python refuses to read one of over 4,300 digits."""
_BLOCK_COMMENT_MIDDLE = re.compile(r"\s*\*(?![A-Za-z])")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: its text without label, whether it is a comment, and the label before it (``None`` if there is none)."""

    text: str
    comment: bool
    label: str | None = None


@dataclass(frozen=True, slots=True)
class LogicalLine:
    """One line as BBj sees it: physical lines ``start`` to ``end`` (from 1, both inclusive), continuations joined.

    ``number`` is the line number of line-numbered code, ``callpoint`` the name between ``[[`` and ``]]``.
    """

    start: int
    end: int
    statements: tuple[Statement, ...]
    number: int | None = None
    callpoint: str | None = None

    @property
    def blank(self) -> bool:
        """Nothing but white space, or a line number alone."""
        return not self.statements and self.callpoint is None and self.number is None

    @property
    def comment(self) -> bool:
        """Only a comment, without a label before it."""
        return len(self.statements) == 1 and self.statements[0].comment and self.statements[0].label is None


def split_lines(text: str) -> list[str]:
    """Split at ``\\n`` only: a form feed or U+2028 inside a program is a character, not the end of a line."""
    return text.split("\n")


def lex(text: str) -> tuple[LogicalLine, ...]:
    """Lex ``text``; the returned lines tile it: the first starts at 1, each next one where the last has ended."""
    return tuple(_logical_lines(split_lines(text)))


def code_words(line: LogicalLine) -> Iterator[str]:
    """Yield the text of the statements that are code, with strings and mnemonics left out."""
    for statement in line.statements:
        if not statement.comment:
            yield " ".join(piece for piece in _CODE.findall(statement.text) if piece[0] not in "\"'")


def jump_targets(lines: Sequence[LogicalLine]) -> tuple[frozenset[int], frozenset[int]]:
    """Return the line numbers that ``lines`` call (``GOSUB``), and all that they jump to in any way.

    Both are empty when no line has a number: nothing can be jumped to.
    """
    called: set[int] = set()
    reached: set[int] = set()
    for line in lines if any(line.number is not None for line in lines) else ():
        if not any(not statement.comment and _INTEGER.search(statement.text) for statement in line.statements):
            continue
        for words in code_words(line):
            for verb, numbers, number in _JUMP.findall(words):
                found = {int(item) for item in _INTEGER.findall(numbers or number) if len(item) <= _MOST_DIGITS}
                reached |= found
                called |= found if verb.lower() == "gosub" else set()
    return frozenset(called), frozenset(reached)


def _logical_lines(lines: list[str]) -> Iterator[LogicalLine]:
    at = 0
    inside_comment = False
    while at < len(lines):
        end = at + 1
        while end < len(lines) and lines[end].lstrip().startswith(":"):
            end += 1
        callpoint = _CALLPOINT.match(lines[at]) if "[[" in lines[at] else None
        if callpoint:
            # a callpoint stands alone; what continues it (":" below) belongs to no statement and is lexed by itself
            yield LogicalLine(at + 1, at + 1, (), callpoint=callpoint.group(1).strip())
            inside_comment, end = False, at + 1
        elif inside_comment and _BLOCK_COMMENT_MIDDLE.match(lines[at]):
            end = at + 1
            yield LogicalLine(at + 1, end, (Statement(lines[at].strip(), comment=True),))
            inside_comment = "*/" not in lines[at]
        else:
            line = _logical_line(lines, at, end)
            inside_comment = _opens_comment(line, inside_comment)
            yield line
        at = end


def _logical_line(lines: list[str], at: int, end: int) -> LogicalLine:
    joined = lines[at]
    if end > at + 1:
        joined += "".join(lines[index].lstrip()[1:] for index in range(at + 1, end))
    number = _NUMBER.match(joined)
    code = joined[number.end() :] if number else joined
    return LogicalLine(at + 1, end, tuple(_statements(code)), number=int(number.group(1)) if number else None)


def _opens_comment(line: LogicalLine, inside: bool) -> bool:
    if line.blank:
        return inside
    if not line.comment:
        return False
    text = line.statements[0].text
    opens = inside or "/**" in text
    return opens and "*/" not in text


def _statements(code: str) -> Iterator[Statement]:
    position, length = 0, len(code)
    while position < length:
        found = _STATEMENT.match(code, position)
        if found is None:  # cannot be: every part of the pattern may be empty
            return
        label, comment, text = found.groups()
        if comment is not None:
            yield Statement(comment.strip(), comment=True, label=label)
            return
        if text or label is not None:
            yield Statement(text.strip(), comment=False, label=label)
        position = found.end() + 1
