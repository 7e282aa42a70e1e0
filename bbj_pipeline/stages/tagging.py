"""The tag stage: which generations of BBj a topic speaks of, with the evidence for each label.

The cues are data, in ``generation_rules``; here they are found fast, weighed, and turned into labels. "Unknown" is an empty
tuple, never a label.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bbj_pipeline.records import GENERATIONS, DocType, Evidence, Generation, TaggedDoc, Topic
from bbj_pipeline.stages.doc_types import classify
from bbj_pipeline.stages.generation_rules import RULES, Place, Rule

__all__ = ["TAGGER_VERSION", "tag"]

TAGGER_VERSION = "3"

_THRESHOLD = 1.0
"""Weight at which a label is given: one cue of code, or two weak ones."""
_MOST_BLOCKS = 3
"""A cue counts once a block, in at most this many blocks: a word repeated all through a page proves no more than that."""
_PASSING = 3.0
"""From this weight on running text alone gives a label to a page whose title names another generation; below, it mentions."""
_NEGATION_REACH = 60

_ON_THE_WAY = re.compile(r"\b(?:from .+ to|moving|migrat\w+|moderni[sz]\w+|porting|convert\w*)\b", re.IGNORECASE)
_CAPTION = 32
"""Characters of a paragraph that is a heading in disguise, such as the label of a tab: at most so many, and no full stop."""
_RUNNING: frozenset[Place] = frozenset({"prose", "identifier"})
_BBJ_CODE = frozenset({"", "bbj", "bbx", "basic", "text", "txt", "plaintext", "plain", "none", "src", "bbjt"})
_NEGATION = re.compile(
    r"\b(?:unlike|not(?! only| just)|no longer|never|without|cannot|instead of|rather than|as opposed to|"
    r"in contrast (?:to|with)|compared (?:to|with)|versus|vs\.?|than|except|neither|nor|"
    # a legacy page that names its successor is not about the successor
    r"superseded by|replaced by|successor|(?:modern|newer) equivalent|(?:for|in) new (?:development|code|programs?))"
    r"\b.*$|n['’]t\b.*$|"
    r"\b(?:like|similar to|as (?:in|with|for))(?: in)?(?: the| an?)?\s*$",
    re.IGNORECASE,
)
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
_SENTENCE_BREAK = re.compile(r"(?<!vs)[.!?:;]\s|[\n\t]")  # a tab stands between the cells of a table


@dataclass(frozen=True, slots=True)
class _Text:
    """Some text of a topic, as written and in lower case of the same length, with where each part of it stands."""

    written: str
    lower: str
    starts: tuple[int, ...]
    wheres: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    """What the cues gave: weights and evidence; the labels a title is about, those with more than running text, those named."""

    weights: Mapping[Generation, float]
    evidence: Sequence[Evidence]
    about: set[Generation]
    firm: set[Generation]
    named: set[Generation]


_COMPILED: tuple[tuple[Rule, re.Pattern[str]], ...] = tuple((rule, re.compile(rule.pattern)) for rule in RULES)


def tag(topic: Topic, *, default_generations: tuple[Generation, ...] = (), default_doc_type: DocType = "concept") -> TaggedDoc:
    """Return the topic with its generations in the order of the closed list, their evidence and its document type.

    ``default_generations`` is a hint of the source: it labels a topic only when no cue is found. ``all`` is given to a topic
    of the universal language, that is with its cues and without those of a user interface.
    """
    found = _weigh(topic)
    labels, evidence = _labels(found), found.evidence
    kept = tuple(item for item in evidence if item.label in labels)
    if not labels and not evidence:
        labels = set(default_generations)
        kept = tuple(Evidence(label, "default of the source", "default", 1.0) for label in GENERATIONS if label in labels)
    doc_type, reason = classify(topic, default_doc_type)
    return TaggedDoc(topic, tuple(label for label in GENERATIONS if label in labels), kept, doc_type, reason)


def _labels(found: _Found) -> set[Generation]:
    """Return the labels that the weights give.

    Two rules beside the threshold: a title says what a page is about, so what only its running text mentions must be mentioned
    often; and a name is enough where nothing gives a label and no other user interface is spoken of.
    """
    labels = {label for label, weight in found.weights.items() if weight >= _THRESHOLD}
    if found.about:
        kept = found.about | found.firm | {"all"}
        labels = {label for label in labels if label in kept or found.weights[label] >= _PASSING}
    if labels - {"all"}:
        labels.discard("all")
    spoken_of = set(found.weights) - {"all"}
    if not labels and len(spoken_of) == 1:
        labels = spoken_of & found.named
    return labels


def _weigh(topic: Topic) -> _Found:
    """Return the weight of each label and the evidence, one a cue and kind of text, at its first place."""
    texts = _texts(topic)
    weights: defaultdict[Generation, float] = defaultdict(float)
    evidence: list[Evidence] = []
    titled: set[Generation] = set()
    firm: set[Generation] = set()
    named: set[Generation] = set()
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
                if place == "title" and rule.weight >= _THRESHOLD:
                    titled.add(rule.label)
                if place not in _RUNNING:
                    firm.add(rule.label)
                if rule.names:
                    named.add(rule.label)
    return _Found(weights, evidence, _about(topic.title, titled), firm, named)


def _about(title: str, titled: set[Generation]) -> set[Generation]:
    """Return what a page with this title confines itself to, nothing where it leads from one generation to another.

    The objects of the BBj GUI are those of the browser client: a title that names one does not rule out the other.
    """
    if _ON_THE_WAY.search(title):
        return set()
    return titled | {"dwc"} if "bbj-gui" in titled else titled


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
    in_sentence = place in _RUNNING or place == "heading"
    match = pattern.search(searched)
    while match is not None:
        if in_sentence and _negated(text.written, match.start()):
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
    headings: list[tuple[str, str]] = []
    elsewhere = 0  # of the heading of the section that we are in and that points elsewhere
    for number, block in enumerate(topic.blocks):
        where = f"block {number}"
        if block.type == "heading" and (not elsewhere or (block.level or 1) <= elsewhere):
            elsewhere = (block.level or 1) if block.text.strip(" :").casefold() in _ELSEWHERE else 0
        if elsewhere:
            continue
        if block.type == "heading" or (
            block.type == "paragraph" and len(block.text) <= _CAPTION and block.text.rstrip()[-1:] not in tuple(".!?:;,")
        ):
            headings.append((where, block.text))
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
        ("heading", _text(headings)),
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
