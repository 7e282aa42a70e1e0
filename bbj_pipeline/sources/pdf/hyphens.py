"""Decides what a hyphen at the end of a line is: one that breaks a word and goes, or one of a compound that stays.

Joins the lines of one paragraph, heading or cell. Nothing is known of places on the page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

__all__ = ["Hyphens"]

_SOFT = "\u00ad"
_BROKEN = re.compile(r"([^\W\d_]{2,})[-\u00ad]$")
_HEAD = re.compile(r"^[^\W\d_]+")
_WORD = re.compile(r"(?<![\w-])[^\W\d_]+(?![\w-])")
_COMPOUND = re.compile(r"(?<![\w-])[^\W\d_]+(?:-[^\W\d_]+)+")
_LONGEST_WORD = 100
_HABIT = 3
"""What is seen this often in a file is how its typesetting program does it, and no chance."""
_INSIDE = re.compile(r"(?<![\w-])([^\W\d_]{3,})- ([^\W\d_]{2,})\b")
_ENDINGS = re.compile(r"[ai]bilit(?:y|ies)|[aeiou]?[stc]ions?|ments?|ness|ings?|[ai]lly|ously|i[sz]ed")
"""Ends of words that are no words: "merchant- ability" was broken in a text that this one was copied from."""


class Hyphens:
    """What a file shows of its words: those it writes whole and those it writes with a hyphen, outside of line ends.

    A hyphen that a typesetting program added is often drawn apart from the word; such a line ends in a soft hyphen here.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        """Learn from the lines of a file in their order."""
        self._words: Counter[str] = Counter()
        self._compounds: Counter[str] = Counter()
        soft = 0
        pairs: list[tuple[str, str]] = []
        first: re.Match[str] | None = None
        for line in lines:
            words = _WORD.findall(line)
            if first and (head := _HEAD.match(line)):
                pairs += [(first.group(1).casefold(), head.group(0))] if head.group(0)[0].islower() else []
                words = words[1:] if words[:1] == [head.group(0)] else words
            self._words.update(word.casefold() for word in words)
            for compound in _COMPOUND.findall(line):
                self._compounds.update(f"{a}-{b}".casefold() for a, b in pairwise(compound.split("-")))
            first = _BROKEN.search(line, max(0, len(line) - _LONGEST_WORD))
            soft += line.endswith(_SOFT)
        self._set_apart = soft >= _HABIT
        breaks = sum(self._words[a + b] > 0 or not (self._words[a] and self._words[b]) for a, b in pairs)
        self._breaks_words = breaks >= _HABIT and breaks > len(pairs) / 2

    def join(self, lines: Sequence[str]) -> str:
        """Return lines as one text, with one space between lines and with broken words whole again."""
        text = ""
        for line in lines:
            part = " ".join(line.split())
            broken = _BROKEN.search(text, max(0, len(text) - _LONGEST_WORD))
            head = _HEAD.match(part)
            if broken and head and head.group(0)[0].islower():
                compound = text[max(0, broken.start() - 1) : broken.start()] == "-"
                text = text[:-1] + ("-" if self._stays(broken, head.group(0), compound=compound) else "") + part
            elif text.endswith(("-", "/", _SOFT)) and not text.endswith((" -", " /")):
                text = (f"{text[:-1]}-" if text.endswith(_SOFT) else text) + part
            else:
                text += f" {part}" if text else part
        if text.endswith(_SOFT):
            text = f"{text[:-1]}-"
        return _INSIDE.sub(self._inside, text.replace(_SOFT, ""))

    def _stays(self, broken: re.Match[str], second: str, *, compound: bool) -> bool:
        """Whether a hyphen at a line's end is the word's own.

        The file's own writing of the word decides; where the word stands nowhere else, whether the hyphen was set apart. In a
        file that sets none apart, a part that is no word of the file shows a broken word ("effi-cient"); two words of the
        file show a compound ("audience-specific"), unless most hyphens at line ends break words ("head-quarters").
        """
        first = broken.group(1)
        soft = broken.group(0).endswith(_SOFT)
        whole, parted = self._words[(first + second).casefold()], self._compounds[f"{first}-{second}".casefold()]
        if whole != parted:
            return parted > whole
        if soft or self._set_apart:
            return not soft
        if compound or first.isupper():
            return True
        return not self._breaks_words and bool(self._words[first.casefold()] and self._words[second.casefold()])

    def _inside(self, found: re.Match[str]) -> str:
        """Mend a word that was broken before it came into this text: a hyphen and a space inside a line."""
        first, second = found.groups()
        known = self._words[(first + second).casefold()] and not self._compounds[f"{first}-{second}".casefold()]
        return first + second if known or _ENDINGS.fullmatch(second) else found.group(0)
