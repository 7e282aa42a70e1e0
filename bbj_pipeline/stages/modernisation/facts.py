"""What one document says of itself: since which version it holds, whether it still does, what replaced it, what belongs to it.

What a source states outright (front matter, JavaDoc, Flare conditions) is kept; prose fills in what is missing. Targets stay
names and links here: which documents they mean is decided over all documents, in ``graph``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bbj_pipeline.records import Block, Topic
from bbj_pipeline.stages.modernisation.successors import predecessors_in, successors_in
from bbj_pipeline.stages.modernisation.versions import VERSION, sentences

__all__ = ["FACTS_VERSION", "with_facts"]

FACTS_VERSION = "2"

_LEAD_BLOCKS = 6
"""Prose blocks at the beginning, before the first section of its own, that speak of the whole document."""
_MOST = 24
"""Targets of one relation, and signatures, of one document at most."""
_LONGEST_NOTE = 600
_SEE_ALSO = frozenset({"see also", "related", "related topics", "related links", "further reading", "related information"})
_MODERN = frozenset({"modern equivalent", "modern equivalents", "superseded by", "replaced by", "replacement", "replacements"})
_OPENING = frozenset({"description", "overview", "introduction", "summary", "about", "usage"})
_SYNTAX = frozenset({"syntax", "syntaxes", "syntax(es)", "signature", "signatures"})
_DETAIL = re.compile(
    r"\b(?:parameters?|options?|flags?|arguments?|overloads?|settings?|values?|keys?|columns?)\b", re.IGNORECASE
)
_OTHERS = re.compile(r"\b(?:replaces?|instead of|supersedes?)\b[^.]*$", re.IGNORECASE)
_SINCE = tuple(
    re.compile(pattern)
    for pattern in (
        rf"^(?i:in|as of|from|since|with|starting (?:in|with)) {VERSION}(?:\s*\+| (?:and|or|on)\b|,| onwards?\b)",
        rf"\b(?i:available|introduced|supported|added|new|there|exists?|requires|required|shipped)\b[^.;]{{0,40}}?"
        rf"\b(?i:in|since|from|with|as of|requires)? ?{VERSION}",
        rf"^[(\[]?{VERSION}\s*(?:\+|(?:and|or) (?:higher|later|above|newer|up)\b|onwards?\b)\s*[)\].]?$",
        rf"^(?i:since|version|introduced|requires)\s*:?\s*{VERSION}",
    )
)
_CALLED = re.compile(r"\b[A-Za-z_]\w*(?:(?:::|\.)\w+)*(?=\()|\b[a-z]+[A-Z]\w*|'[A-Z]+'")
"""Names of methods and mnemonics: what a sentence is about, if it is not about the page."""
_NAMED = re.compile(r"\bBBj[A-Z]\w*(?:(?:::|\.)\w+)*|" + _CALLED.pattern)
_TITLE_SINCE = re.compile(rf"[(\[]\s*{VERSION}\s*(?:\+|(?:and|or) (?:higher|later|above|newer|up))\s*[)\]]")
_OUTDATED = re.compile(
    r"\b(?:deprecated|obsolete|superseded|no longer (?:supported|available|recommended|maintained))\b", re.IGNORECASE
)
_OUTDATED_LABEL = re.compile(
    r"^\W*(?:deprecated|obsolete|superseded)(?:\W*$|\s*[.:;,!)\]–—-]|\s+(?:in|since|as of|from|starting|with|now|"
    r"by(?! default)|and (?:will|should|must|may|no longer|replaced))\b)",
    re.IGNORECASE,
)
"""The word as a verdict on the page; before a noun, "Obsolete programs …", it is that noun's."""
_ITSELF = re.compile(
    r"\b(?:this|it|the)(?: [\w:.'()$!@-]+){0,4} (?:is|are|was|has been|have been|became)(?: now| being| considered| also)?"
    r" (?:deprecated|obsolete|superseded|replaced|no longer (?:supported|available|recommended|maintained))\b",
    re.IGNORECASE,
)
_TITLE_OUTDATED = re.compile(
    r"[(\[](?:deprecated|obsolete|superseded)[)\]]|^(?:deprecated|obsolete|superseded)\s*[:–—-]", re.IGNORECASE
)
_OTHER_SUBJECT = re.compile(
    r"^[\w ]+:\s+(?!this\b|it\b|the (?:page|topic)\b)(\S.*?) (?:is|are|was|were|has been|have been) "
    r"(?:deprecated|obsolete|superseded|replaced|no longer)\b",
    re.IGNORECASE,
)
"""After a label: ``Superseded: CTRL() is superseded by …`` speaks of CTRL(), wherever it stands."""
_ADMONITION = re.compile(r"^(?i:important|note|warning|caution|attention|tip)\b\s*[:!.–—-]?\s+(?=[A-Z])")
"""The word that a note begins with where its source had no title for it."""
_ALIVE = re.compile(r"\bthis(?: [\w:.'()$!-]+){1,4} (?:is|remains) (?:still |fully )(?:valid|supported)\b", re.IGNORECASE)
_NEGATED = re.compile(r"\b(?:not|never|n't|nor|neither)\b[^.]{0,20}$", re.IGNORECASE)
_ANY_VERSION = re.compile(VERSION)


@dataclass(slots=True)
class _Found:
    """What prose says; the first statement of each kind counts."""

    since: str | None = None
    deprecated_in: str | None = None
    still_valid: bool | None = None
    superseded_by: list[str] = field(default_factory=list)
    supersedes: list[str] = field(default_factory=list)
    related: list[str] = field(default_factory=list)
    signatures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def with_facts(topic: Topic) -> Topic:
    """Return the topic with ``since_version``, ``deprecated_in``, ``still_valid``, ``superseded_by``, ``supersedes``,
    ``related``, ``signatures`` and ``migration_note`` in its metadata as far as it says so.

    ``superseded_by``, ``supersedes`` and ``related`` are lists of link targets as written, or of names where there is no
    link. What the parser found stands; lists are joined, the parser's first. An unchanged topic is returned as it is.
    """
    found = _Found()
    _read_title(topic.title, found)
    _read_blocks(topic, found)
    known = topic.metadata
    said = {
        "since_version": found.since,
        "deprecated_in": found.deprecated_in,
        "still_valid": found.still_valid,
        "migration_note": _note(found.notes),
    }
    added: dict[str, Any] = {name: value for name, value in said.items() if value is not None and known.get(name) in (None, "")}
    for name, values in (
        ("superseded_by", found.superseded_by),
        ("supersedes", found.supersedes),
        ("related", found.related),
        ("signatures", found.signatures),
    ):
        joined = [*_listed(known.get(name)), *values]
        if values and not (name == "signatures" and known.get(name)):
            added[name] = list(dict.fromkeys(joined))[: max(_MOST, len(_listed(known.get(name))))]
    if ("superseded_by" in added or "deprecated_in" in added) and "still_valid" not in {**known, **added}:
        added["still_valid"] = False
    return replace(topic, metadata={**known, **added}) if added else topic


def _read_title(title: str, found: _Found) -> None:
    if since := _TITLE_SINCE.search(title):
        found.since = since[1]
    if _TITLE_OUTDATED.search(title):
        found.still_valid = False


def _read_blocks(topic: Topic, found: _Found) -> None:
    links = _links_by_text(topic.metadata.get("links"))
    section = ""
    lead = 0
    for block in topic.blocks:
        if block.type == "heading":
            section = block.text.strip(" :").casefold()
            if section not in _OPENING | _SYNTAX | _SEE_ALSO | _MODERN and (block.level != 1 or lead):
                lead = _LEAD_BLOCKS
        elif block.type == "code":
            if section in _SYNTAX:
                found.signatures += _signatures(block.text)
        elif section in _SEE_ALSO:
            found.related += _targets(block, links)
        elif section in _MODERN:
            found.superseded_by += _targets(block, links)
        else:
            lead += 1
            _read_prose(block, topic.title, links, found, leading=lead <= _LEAD_BLOCKS)


def _read_prose(block: Block, title: str, links: Mapping[str, str], found: _Found, *, leading: bool) -> None:
    if block.type == "table":
        return
    labelled = block.type == "note" and (
        _OUTDATED_LABEL.search(block.title or "") is not None or _OUTDATED_LABEL.search(block.text) is not None
    )
    other = _OTHER_SUBJECT.match(block.text) if labelled else None
    if other is not None and not (leading and _shares_name(other[1], title)):
        return
    for number, sentence in enumerate(sentences(block.text)):
        if _outdated(sentence, title, leading=leading, labelled=labelled and number == 0):
            found.still_valid = False
            if version := _ANY_VERSION.search(sentence):
                found.deprecated_in = found.deprecated_in or version[1]
            found.notes.append(sentence)
            found.superseded_by += successors_in(sentence, links, title)
        elif leading or labelled:
            _read_lead(sentence, title, links, found, first=number == 0, noted=labelled)


def _read_lead(sentence: str, title: str, links: Mapping[str, str], found: _Found, *, first: bool, noted: bool) -> None:
    """Read a sentence about the document that does not call it outdated."""
    if found.since is None and not _OUTDATED.search(sentence):
        found.since = _since(sentence, title)
    if _ALIVE.search(sentence) and found.still_valid is None:
        found.still_valid = True
    found.supersedes += predecessors_in(sentence, links, title)
    # The remedy often follows the verdict: "This verb is obsolete. Use OPEN instead."
    if (noted or (found.still_valid is False and found.notes)) and (targets := successors_in(sentence, links, title)):
        found.superseded_by += targets
        found.notes.append(sentence)


def _outdated(sentence: str, title: str, *, leading: bool, labelled: bool) -> bool:
    """Tell whether a sentence says that the document's subject is outdated, and not that of another thing."""
    said = _OUTDATED.search(sentence)
    if said is None:
        return leading and "replaced" in sentence and _is_itself(sentence, title)
    before = sentence[: said.start()]
    if _NEGATED.search(before) or _OTHERS.search(before):
        return False
    return labelled or (leading and (_OUTDATED_LABEL.search(sentence) is not None or _is_itself(sentence, title)))


def _is_itself(sentence: str, title: str) -> bool:
    """Tell whether "this verb is obsolete" speaks of the page: it does unless it names something that the title does not."""
    said = _ITSELF.search(sentence)
    if said is None:
        return False
    names = _NAMED.findall(said.group())
    return not names or any(_shares_name(name, title) for name in names)


def _shares_name(subject: str, title: str) -> bool:
    words = set(re.findall(r"\w+", title.casefold()))
    return any(word in words for word in re.findall(r"\w{2,}", subject.casefold()))


def _since(sentence: str, title: str) -> str | None:
    """Return the version from which on the document's subject exists, if the sentence is about that and not about a detail."""
    for number, pattern in enumerate(_SINCE):
        if match := pattern.search(sentence):
            subject = sentence[match.end() :] if number == 0 else sentence[: match.start()]
            near = " ".join(subject.split()[:6] if number == 0 else subject.split()[-6:])
            calls = _CALLED.findall(near)
            if not _DETAIL.search(near) and (not calls or any(_shares_name(name, title) for name in calls)):
                return match[1]
    return None


def _targets(block: Block, links: Mapping[str, str]) -> Iterator[str]:
    """Yield the targets of a list of references: the links whose text stands in it, else its names."""
    linked = [target for text, target in links.items() if text and text in _folded(block.text)]
    if linked:
        yield from linked
        return
    for line in block.text.split("\n"):
        for name in re.split(r",\s+|;\s+|\t", line):
            if 1 < len(name.strip(" .")) <= 120:
                yield name.strip(" .")


def _signatures(code: str) -> Iterator[str]:
    for line in code.split("\n"):
        if line.strip() and not line.lstrip().lower().startswith(("rem ", "//", "#")):
            yield " ".join(line.split())[:300]


def _links_by_text(links: Any) -> dict[str, str]:
    """Return target by folded text; a longer text is looked for first, so that ``CTRL() Function`` beats ``CTRL()``."""
    pairs = [pair for pair in links if isinstance(pair, list) and len(pair) == 2] if isinstance(links, list) else []
    found: dict[str, str] = {}
    for text, target in sorted(pairs, key=lambda pair: -len(str(pair[0]))):
        if len(str(text)) > 1:
            found.setdefault(_folded(str(text)), str(target))
    return found


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _listed(value: Any) -> list[str]:
    if value is None or value == "":
        return []
    items: Iterable[Any] = value if isinstance(value, list | tuple) else [value]
    return [str(item) for item in items]


def _note(notes: list[str]) -> str | None:
    """Join whole sentences up to the longest note; a first sentence that is longer stands alone."""
    kept = ""
    for sentence in dict.fromkeys(_ADMONITION.sub("", note) for note in notes):
        if kept and len(kept) + len(sentence) >= _LONGEST_NOTE:
            break
        kept = f"{kept} {sentence}".strip()
    return kept or None
