"""The tag stage: which generations of BBj a topic speaks of, with the evidence for each label.

The cues are data, in ``generation_rules``; here they are found fast, weighed, and turned into labels. "Unknown" is an empty
tuple, never a label.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bbj_pipeline.records import GENERATIONS, DocType, Evidence, Generation, TaggedDoc, Topic
from bbj_pipeline.stages.doc_types import classify
from bbj_pipeline.stages.generation_rules import RULES, Place, Rule

__all__ = ["TAGGER_VERSION", "tag"]

TAGGER_VERSION = "1"

_THRESHOLD = 1.0
"""Weight at which a label is given: one cue of code, or two weak ones."""
_MOST_BLOCKS = 3
"""A cue counts once a block, in at most this many blocks: a word repeated all through a page proves no more than that."""
_NEGATION_REACH = 60

_BBJ_CODE = frozenset({"", "bbj", "bbx", "basic", "text", "txt", "plaintext", "plain", "none", "src", "bbjt"})
_NEGATION = re.compile(
    r"\b(?:unlike|not(?! only| just)|no longer|never|without|cannot|instead of|rather than|as opposed to|"
    r"in contrast (?:to|with)|compared (?:to|with)|versus|vs\.?|than|except|neither|nor|"
    # a legacy page that names its successor is not about the successor
    r"superseded by|replaced by|successor|(?:modern|newer) equivalent|(?:for|in) new (?:development|code|programs?))"
    r"\b.*$|n['’]t\b.*$",
    re.IGNORECASE,
)
_SEE_ALSO = frozenset({"see also", "related", "related topics", "related links", "further reading"})
"""Sections of links: what they name are other documents."""
_SENTENCE_BREAK = re.compile(r"(?<!vs)[.!?:;]\s|\n")


@dataclass(frozen=True, slots=True)
class _Text:
    """Some text of a topic, as written and in lower case of the same length, with where each part of it stands."""

    written: str
    lower: str
    starts: tuple[int, ...]
    wheres: tuple[str, ...]


_COMPILED: tuple[tuple[Rule, re.Pattern[str]], ...] = tuple((rule, re.compile(rule.pattern)) for rule in RULES)


def tag(topic: Topic, *, default_generations: tuple[Generation, ...] = (), default_doc_type: DocType = "concept") -> TaggedDoc:
    """Return the topic with its generations in the order of the closed list, their evidence and its document type.

    ``default_generations`` is a hint of the source: it labels a topic only when no cue is found. ``all`` is given to a topic
    of the universal language, that is with its cues and without those of a user interface.
    """
    weights, evidence = _weigh(topic)
    labels = {label for label, weight in weights.items() if weight >= _THRESHOLD}
    if labels - {"all"}:
        labels.discard("all")
    kept = tuple(item for item in evidence if item.label in labels)
    if not labels and not evidence:
        labels = set(default_generations)
        kept = tuple(Evidence(label, "default of the source", "default", 1.0) for label in GENERATIONS if label in labels)
    doc_type, reason = classify(topic, default_doc_type)
    return TaggedDoc(topic, tuple(label for label in GENERATIONS if label in labels), kept, doc_type, reason)


def _weigh(topic: Topic) -> tuple[dict[Generation, float], list[Evidence]]:
    """Return the weight of each label and the evidence, one a cue and kind of text, at its first place."""
    texts = _texts(topic)
    weights: defaultdict[Generation, float] = defaultdict(float)
    evidence: list[Evidence] = []
    for rule, pattern in _COMPILED:
        for place in _distinct(rule.places):
            text = texts.get(place)
            if text is None:
                continue
            wheres = _places_of(rule, pattern, text, place)
            if wheres:
                weight = rule.weight * len(wheres)
                weights[rule.label] += weight
                evidence.append(Evidence(rule.label, rule.cue, wheres[0], weight))
    return dict(weights), evidence


def _distinct(places: tuple[Place, ...]) -> Iterator[Place]:
    """``identifier`` and ``prose`` are the same text; it is scanned once."""
    for place in places:
        if not (place == "identifier" and "prose" in places):
            yield place


def _places_of(rule: Rule, pattern: re.Pattern[str], text: _Text, place: Place) -> list[str]:
    """Return the places (blocks) where a cue stands, at most ``_MOST_BLOCKS``."""
    searched = text.written if rule.case else text.lower
    if not any(literal in searched for literal in rule.needs):
        return []
    found: list[str] = []
    in_prose = place in ("prose", "identifier")
    match = pattern.search(searched)
    while match is not None:
        if in_prose and _negated(text.written, match.start()):
            next_position = match.end()
        else:
            part = bisect_right(text.starts, match.start())
            found.append(text.wheres[part - 1])
            if len(found) == _MOST_BLOCKS or part == len(text.starts):
                break
            next_position = text.starts[part]
        match = pattern.search(searched, next_position)
    return found


def _negated(text: str, position: int) -> bool:
    """Whether the sentence up to here compares or negates: "unlike character mode", "does not run in BUI"."""
    before = text[max(0, position - _NEGATION_REACH) : position]
    return _NEGATION.search(_SENTENCE_BREAK.split(before)[-1]) is not None


def _texts(topic: Topic) -> dict[Place, _Text]:
    """Return the topic's text by place; a place without text is left out."""
    code: list[tuple[str, str]] = []
    other: list[tuple[str, str]] = []
    prose: list[tuple[str, str]] = []
    links_level = 0  # of the heading of the section of links that we are in
    for number, block in enumerate(topic.blocks):
        where = f"block {number}"
        if block.type == "heading" and (not links_level or (block.level or 1) <= links_level):
            links_level = (block.level or 1) if block.text.strip(" :").casefold() in _SEE_ALSO else 0
        if links_level:
            continue
        if block.type != "code":
            prose.append((where, block.text if block.title is None else f"{block.title}\n{block.text}"))
        elif (block.language or "").casefold() in _BBJ_CODE:
            code.append((where, block.text))
        else:
            other.append((where, block.text))
    conditions = topic.metadata.get("conditions")
    path = "/".join((topic.raw_key or topic.key, topic.key, *topic.section_path))
    running = _text(prose)
    parts: tuple[tuple[Place, _Text | None], ...] = (
        ("code", _text(code)),
        ("any-code", _text(other)),
        ("identifier", running),
        ("prose", running),
        ("title", _text([("title", topic.title)])),
        ("path", _text([("path", path)])),
        ("condition", _text([("condition", " ".join(map(str, conditions)))]) if isinstance(conditions, list) else None),
    )
    return {place: text for place, text in parts if text is not None}


def _text(parts: Iterable[tuple[str, str]]) -> _Text | None:
    starts, wheres, texts = [], [], []
    position = 0
    for where, text in parts:
        if text:
            starts.append(position)
            wheres.append(where)
            texts.append(text)
            position += len(text) + 1
    if not texts:
        return None
    written = "\n".join(texts)
    lower = written.lower()
    if len(lower) != len(written):  # a few characters, such as İ, have a longer lower case; positions must agree
        lower = "".join(char.lower() if len(char.lower()) == 1 else char for char in written)
    return _Text(written, lower, tuple(starts), tuple(wheres))
