"""The contextual header of a chunk, ``Top > Section > Sub``: what the passage is about, in at most about 48 tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bbj_pipeline.records import Topic
from bbj_pipeline.stages.chunks.pieces import Counter

__all__ = ["HEADER_TOKENS", "HeaderMaker"]

HEADER_TOKENS = 48
_SECTION_PATH_TAIL = 2
_PACKAGE = re.compile(r"[a-z_]\w*(?:\.\w+)+")
_GROUPS = frozenset({"methods", "fields", "constructors", "properties", "events", "constants", "method summary", "members"})
"""Headings that only group members; between a class and its member they say nothing."""
_WORDS = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class _Part:
    text: str
    tokens: int
    outer: bool


class HeaderMaker:
    """Makes the headers of one topic; ``limit`` is in tokens, the separators and the final colon included."""

    def __init__(self, topic: Topic, counter: Counter) -> None:
        self.limit = min(HEADER_TOKENS, counter.window // 4)
        self._counter = counter
        self._made: dict[tuple[str, ...], tuple[str, int]] = {}
        self._plain_names: dict[str, str] = {}
        self._parts: dict[tuple[str, bool], _Part] = {}
        in_package = any(_PACKAGE.fullmatch(part) for part in topic.section_path)  # then the class name says enough
        self._outer = () if in_package else tuple(part for part in topic.section_path if part)[-_SECTION_PATH_TAIL:]
        self._title = topic.title
        self._headings = [" ".join(block.text.split()) for block in topic.blocks if block.type == "heading"]

    def names(self) -> list[str]:
        """Return the parts of all headers of the topic, to be counted in one batch with its blocks."""
        return [*self._outer, self._title, *self._headings]

    def make(self, path: tuple[str, ...]) -> tuple[str, int]:
        """Return the header for a heading path and its tokens, an upper bound; both are empty for a topic without a name."""
        known = self._made.get(path)
        if known is None:
            known = self._made[path] = self._make(path)
        return known

    def _make(self, path: tuple[str, ...]) -> tuple[str, int]:
        parts = self._shorten(self._without_stutter(path))
        if not parts:
            return "", 0
        return " > ".join(part.text for part in parts), self._size(parts)

    def _without_stutter(self, path: tuple[str, ...]) -> list[_Part]:
        seen: set[str] = set()
        kept: list[_Part] = []
        names = [(text, True) for text in self._outer] + [(text, False) for text in (self._title, *path)]
        for position, (text, outer) in enumerate(names):
            name = self._plain(text)
            last = position == len(names) - 1
            if not text or name in seen or (not last and not outer and name in _GROUPS):
                continue
            seen.add(name)
            kept.append(self._part(text, outer))
        return kept

    def _part(self, text: str, outer: bool) -> _Part:
        known = self._parts.get((text, outer))
        if known is None:
            known = self._parts[text, outer] = _Part(text, self._counter.count([text])[0], outer)
        return known

    def _plain(self, text: str) -> str:
        """Return a name without case, signs and differences in spacing, by which a stutter is found."""
        known = self._plain_names.get(text)
        if known is None:
            known = self._plain_names[text] = " ".join(_WORDS.findall(text.casefold())) or text
        return known

    def _shorten(self, parts: list[_Part]) -> list[_Part]:
        """Drop the outermost parts, then those between title and last heading, then the ends of what is left."""
        while len(parts) > 1 and self._size(parts) > self.limit:
            if parts[0].outer:
                parts = parts[1:]
            elif len(parts) > 2:
                parts = [parts[0], *parts[2:]]
            else:
                break
        if self._size(parts) <= self.limit:
            return parts
        share = self.limit // len(parts) - self._counter.separator
        return [part if part.tokens <= share else self._cut(part, share) for part in parts]

    def _size(self, parts: Sequence[_Part]) -> int:
        """Return the tokens of parts with what separates them from each other and from the content."""
        return sum(part.tokens + self._counter.separator for part in parts)

    def _cut(self, part: _Part, share: int) -> _Part:
        kept: list[str] = []
        words = part.text.split()[: self.limit]
        used, *counts = self._counter.count(["…", *(f" {word}" for word in words)])
        for word, tokens in zip(words, counts, strict=True):
            if used + tokens > share:
                break
            kept.append(word)
            used += tokens
        return _Part(" ".join(kept) + "…", used, part.outer)
