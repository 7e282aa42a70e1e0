"""Condition tags of a raw Flare project: the expression of a target, and what it says about tagged content.

Where the tags stand in topics is known to ``madcap``, not here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["KEEP_ALL", "TargetConditions", "parse_expression", "tags_of"]

_Test = Callable[[frozenset[str]], bool]
_CLAUSE = re.compile(r"\s*(include|exclude)\s*\[([^\[\]]*)\]\s*,?", re.I)
_TOKEN = re.compile(r"\s*(\(|\)|[^\s()]+)")
_OPERATORS = frozenset(("and", "or", "not", "(", ")"))


@dataclass(frozen=True, slots=True)
class TargetConditions:
    """What a target includes and excludes. An inclusion wins over an exclusion, untagged and unnamed content is kept."""

    include: tuple[_Test, ...] = ()
    exclude: tuple[_Test, ...] = ()

    def keeps(self, tags: tuple[str, ...]) -> bool:
        """Say whether content with these condition tags is part of the target."""
        if not tags or not self.exclude:
            return True
        present = frozenset(tag.casefold() for tag in tags)
        return any(test(present) for test in self.include) or not any(test(present) for test in self.exclude)


KEEP_ALL = TargetConditions()
"""The target without a condition expression."""


def tags_of(value: str) -> tuple[str, ...]:
    """Split the value of a conditions attribute into its tags."""
    return tuple(tag for tag in (part.strip() for part in value.split(",")) if tag)


@lru_cache(maxsize=64)
def parse_expression(expression: str | None) -> TargetConditions:
    """Parse ``include[A or B] exclude[C and not D]``; ``None`` keeps everything.

    Raises ``ValueError`` saying what is wrong and what is expected.
    """
    if not expression or not expression.strip():
        return KEEP_ALL
    clauses: dict[str, list[_Test]] = {"include": [], "exclude": []}
    position = 0
    while expression[position:].strip():
        found = _CLAUSE.match(expression, position)
        if found is None:
            raise ValueError(f"cannot read {expression[position:].strip()!r}: write include[…] or exclude[…]")
        if found[2].strip():
            clauses[found[1].lower()].append(_Parser(found[2]).parse())
        position = found.end()
    return TargetConditions(tuple(clauses["include"]), tuple(clauses["exclude"]))


class _Parser:
    """Recursive descent over ``or``, ``and``, ``not`` and parentheses, weakest first; a tag is one or more words."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _TOKEN.findall(text)
        if self._tokens.count("(") > 50:
            raise ValueError(f"{text!r} has too many parentheses")

    def parse(self) -> _Test:
        test = self._either()
        if self._tokens:
            raise self._wrong()
        return test

    def _wrong(self) -> ValueError:
        near = self._tokens[0] if self._tokens else "its end"
        return ValueError(f"cannot read {self._text!r} near {near}: write tags joined by and, or, not and parentheses")

    def _next_is(self, word: str) -> bool:
        if self._tokens and self._tokens[0].lower() == word:
            del self._tokens[0]
            return True
        return False

    def _either(self) -> _Test:
        tests = [self._both()]
        while self._next_is("or"):
            tests.append(self._both())
        return lambda tags: any(test(tags) for test in tests)

    def _both(self) -> _Test:
        tests = [self._one()]
        while self._next_is("and"):
            tests.append(self._one())
        return lambda tags: all(test(tags) for test in tests)

    def _one(self) -> _Test:
        negated = False
        while self._next_is("not"):
            negated = not negated
        test = self._parenthesis() if self._next_is("(") else self._tag()
        return (lambda tags: not test(tags)) if negated else test

    def _parenthesis(self) -> _Test:
        test = self._either()
        if not self._next_is(")"):
            raise self._wrong()
        return test

    def _tag(self) -> _Test:
        words: list[str] = []
        while self._tokens and self._tokens[0].lower() not in _OPERATORS:
            words.append(self._tokens.pop(0).strip("\"'"))
        if not words:
            raise self._wrong()
        name = " ".join(words).casefold()
        return lambda tags: name in tags
