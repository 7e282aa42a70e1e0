"""Finds the cues of a topic: which rule matches in which block, at which character.

Each text is cut into words once; only rules of which a word occurs are tried, and a rule is looked for once a block. What the
cues add up to is not decided here.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from bbj_pipeline.records import Block, Topic
from bbj_pipeline.stages.generations.clauses import is_comment, is_denied
from bbj_pipeline.stages.generations.rules import Place, Rule, load_rules

__all__ = ["AROUND", "Cues", "Hit", "find_cues"]

AROUND = -1
"""The block number of what does not stand in a block: title, package, path and condition."""

_CAPTION = 32
"""Characters of a paragraph that is a heading in disguise, such as the label of a tab: at most so many, and no full stop."""
_SENTENCE_ENDS = tuple(".!?:;,")
_BBJ_CODE = frozenset({"", "bbj", "bbx", "basic", "text", "txt", "plaintext", "plain", "none", "src", "bbjt"})
_QUALIFIED_NAME = re.compile(r"[a-z]\w*(?:\.\w+)+")
_ELSEWHERE = frozenset(
    {
        "see also",
        "related",
        "related topics",
        "related links",
        "further reading",
        "in later generations",
        "in other generations",
        "modern equivalent",
        "modern equivalents",
    }
)
"""Sections that point elsewhere: what they name are other documents."""

_WORD_BYTES = b"abcdefghijklmnopqrstuvwxyz0123456789_@"
_TO_WORDS = bytes(code if code in _WORD_BYTES + _WORD_BYTES.upper() else 32 for code in range(256)).lower()
"""UTF-8 bytes to lower case words and spaces. No word of a rule has a letter beyond ASCII."""


class Hit(NamedTuple):
    """A rule found: in which kind of place, in which block (or ``AROUND``), at which character of its text."""

    rule: Rule
    place: Place
    block: int
    offset: int


@dataclass(frozen=True, slots=True)
class Cues:
    """What was found in a topic, in reading order; and whether it speaks of BBj at all."""

    hits: tuple[Hit, ...]
    of_bbj: bool


_Try = tuple[Rule, Place, bool, tuple[str, ...], Callable[[str], Iterator[re.Match[str]]]]
"""A rule with its kind of place and what is asked of it at every text, looked up once."""


class _Scanner:
    """The rules that may stand in one kind of text, by the words they need."""

    def __init__(self, places: tuple[Place, ...], *, clauses: bool = False, code: bool = False) -> None:
        by_word: defaultdict[bytes, list[int]] = defaultdict(list)
        self._rules: list[_Try] = []
        self._wordless: list[int] = []
        for rule in load_rules():
            place = next((place for place in places if place in rule.places), None)
            if place is not None:
                number = len(self._rules)
                self._rules.append((rule, place, rule.case, rule.literals, rule.pattern.finditer))
                for word in rule.words:
                    by_word[word.encode()].append(number)
                if not rule.words:
                    self._wordless.append(number)
        self._by_word = {word: tuple(numbers) for word, numbers in by_word.items()}
        self._by_word.setdefault(b"bbj", ())
        self._vocabulary = frozenset(self._by_word)
        self._tried = lru_cache(maxsize=4096)(self._rules_of)
        self._clauses, self._code = clauses, code

    def _rules_of(self, words: frozenset[bytes]) -> tuple[_Try, ...]:
        """Return the rules to try on a text with these words, in the order of the table."""
        numbers = {number for word in words for number in self._by_word[word]}
        return tuple(self._rules[number] for number in sorted(numbers.union(self._wordless)))

    def scan(self, text: str, block: int, into: list[Hit]) -> bool:
        """Append what is found in ``text`` to ``into``; return whether it has the word BBj."""
        words = self._vocabulary.intersection(text.encode("utf-8", "replace").translate(_TO_WORDS).split())
        tried = self._tried(words)
        lower = _lower(text) if tried else ""
        for rule, place, case, literals, finditer in tried:
            searched = text if case else lower
            for literal in literals:  # a generator in any() would take longer than the search
                if literal in searched:
                    break
            else:
                if literals:
                    continue
            for match in finditer(searched):
                start = match.start()
                denied = is_comment(text, start) if self._code else self._clauses and is_denied(text, start, match.end())
                if not denied:
                    into.append(Hit(rule, place, block, start))
                    break
        return b"bbj" in words


_CODE = _Scanner(("code",), code=True)
_OTHER_CODE = _Scanner(("any-code",))
_RUNNING = _Scanner(("prose", "identifier"), clauses=True)
_HEADING = _Scanner(("heading", "prose", "identifier"), clauses=True)
_TITLE = _Scanner(("title",))
_PACKAGE = _Scanner(("package",))
_PATH = _Scanner(("path",))
_CONDITION = _Scanner(("condition",))


def find_cues(topic: Topic) -> Cues:
    """Return every cue of the topic, at most one a rule and block."""
    hits: list[Hit] = []
    of_bbj = [scanner.scan(text, AROUND, hits) for scanner, text in _around(topic) if text]
    of_bbj.extend([scanner.scan(text, number, hits) for number, scanner, text in _texts(topic.blocks) if text])
    return Cues(tuple(hits), any(of_bbj) or any(not hit.rule.generic for hit in hits))


def _around(topic: Topic) -> Iterator[tuple[_Scanner, str]]:
    yield _TITLE, topic.title
    if _QUALIFIED_NAME.fullmatch(topic.key):
        yield _PACKAGE, topic.key
    yield _PATH, "/".join((topic.raw_key or topic.key, topic.key, *topic.section_path))
    conditions = topic.metadata.get("conditions")
    if isinstance(conditions, list):
        yield _CONDITION, " ".join(map(str, conditions))


def _texts(blocks: Iterable[Block]) -> Iterator[tuple[int, _Scanner, str]]:
    """Yield the text of each block with its number and its rules; sections that point elsewhere are left out."""
    elsewhere = 0  # level of the heading of the section that we are in and that points elsewhere
    for number, block in enumerate(blocks):
        kind, text = block.type, block.text
        if kind == "heading":
            if not elsewhere or (block.level or 1) <= elsewhere:
                elsewhere = (block.level or 1) if text.strip(" :").casefold() in _ELSEWHERE else 0
            if not elsewhere:
                yield number, _HEADING, text
        elif elsewhere:
            continue
        elif kind == "code":
            yield number, _CODE if (block.language or "").casefold() in _BBJ_CODE else _OTHER_CODE, text
        elif kind == "paragraph" and len(text) <= _CAPTION and text.rstrip()[-1:] not in _SENTENCE_ENDS:
            yield number, _HEADING, text
        else:
            yield number, _RUNNING, text if block.title is None else f"{text}\n{block.title}"


def _lower(text: str) -> str:
    """Return the text in lower case and of the same length, so that positions agree."""
    lower = text.lower()
    if len(lower) != len(text):  # a few characters, such as İ, have a longer lower case
        lower = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    return lower
