"""Turns one class of a package file into the parts of a topic: blocks, URL and metadata.

The shape of the JSON is known here; files and packages are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from bbj_pipeline.records import Block, clean_text
from bbj_pipeline.sources.javadoc.docu import Docu, read_docu

__all__ = ["ClassTopic", "class_topic", "faults_of", "signature_of"]

_CONSTRUCTOR = "<init>"
"""What the generator calls a constructor that it found among the methods (the JVM's name for it)."""


@dataclass(slots=True)
class ClassTopic:
    """The blocks of a class in reading order, its documentation page, and what is known of it."""

    blocks: list[Block] = field(default_factory=list)
    url: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


def class_topic(name: str, record: Mapping[str, Any]) -> ClassTopic:
    """Return the topic of class ``name``: its description, then a section a member, in the file's order.

    Every member is a heading of its name; under it the signature as code, which tells overloads apart, then its description.
    Raises ``MarkupError`` when a description is too large or too deep.
    """
    topic = ClassTopic()
    docu = read_docu(record.get("docu"), heading_level=2, name=name)
    topic.blocks.extend(docu.blocks)
    topic.url = docu.url
    methods = _members(record.get("methods"))
    constructors = [*_members(record.get("constructors")), *(m for m in methods if _name(m) == _CONSTRUCTOR)]
    facts = _Facts(related=list(docu.related))
    facts.note_removed(name, docu)
    _section(topic.blocks, "Fields", _members(record.get("fields")), facts, class_name=None)
    _section(topic.blocks, "Constructors", constructors, facts, class_name=name)
    _section(topic.blocks, "Methods", [m for m in methods if _name(m) != _CONSTRUCTOR], facts, class_name=name)
    if docu.since:
        topic.metadata["since_version"] = docu.since
    if docu.deprecated:
        topic.metadata["still_valid"] = False
    if docu.deprecated_in:
        topic.metadata["deprecated_in"] = docu.deprecated_in
    topic.metadata.update(facts.metadata(name))
    return topic


def faults_of(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield what of a class is not of the shape that is read, so that it is said and not passed over."""
    if not isinstance(record.get("docu"), str | None):
        yield "docu is no text"
    for section in ("fields", "constructors", "methods"):
        members = record.get(section)
        if members is None:
            continue
        if not isinstance(members, list):
            yield f"{section} is no list"
            continue
        for number, member in enumerate(members, 1):
            if not isinstance(member, Mapping):
                yield f"entry {number} of {section} is no object"
            elif not isinstance(member.get("docu"), str | None):
                yield f"docu of entry {number} of {section} is no text"


def signature_of(name: str, params: object) -> str:
    """Return ``name(type param, …)``; a parameter without a type is its name alone."""
    parts = (f"{_text(param.get('type'))} {_text(param.get('name'))}".strip() for param in _members(params))
    return f"{name}({', '.join(part for part in parts if part)})"


@dataclass(slots=True)
class _Facts:
    """What the members of one class add to its metadata."""

    related: list[str]
    signatures: list[str] = field(default_factory=list)
    urls: dict[str, str] = field(default_factory=dict)
    since: dict[str, str] = field(default_factory=dict)
    deprecated: dict[str, str | None] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)

    def add(self, name: str, signature: str | None, docu: Docu) -> None:
        if signature:
            self.signatures.append(signature)
        if docu.url:
            self.urls.setdefault(name, docu.url)
        if docu.since:
            self.since[signature or name] = docu.since
        if docu.deprecated:
            self.deprecated[signature or name] = docu.deprecated_in
        self.related.extend(docu.related)
        self.note_removed(name, docu)

    def note_removed(self, name: str, docu: Docu) -> None:
        if docu.removed:
            self.removed.append(f"{name}: a scraped page of {docu.removed:,} characters")

    def metadata(self, class_name: str) -> dict[str, Any]:
        """Return what is not empty. ``member_since`` and ``deprecated_members`` map a signature (a field's name) to the BBj
        version; that of a deprecation is ``None`` when it is not said: no longer valid, since nobody knows when."""
        related = [name for name in dict.fromkeys(self.related) if name != class_name]
        every = {
            "signatures": self.signatures,
            "related": related,
            "member_urls": self.urls,
            "member_since": self.since,
            "deprecated_members": self.deprecated,
            "removed": self.removed,
        }
        return {name: value for name, value in every.items() if value}


def _section(
    blocks: list[Block], title: str, members: list[Mapping[str, Any]], facts: _Facts, *, class_name: str | None
) -> None:
    """Append a section. Without ``class_name`` members have no signature; with it, a constructor is called by that name."""
    if not members:
        return
    blocks.append(Block("heading", title, level=2))
    for member in members:
        name = _name(member) or "(unnamed)"
        if class_name and name == _CONSTRUCTOR:
            name = class_name
        signature = class_name and signature_of(name, member.get("params"))
        docu = read_docu(member.get("docu"), heading_level=4, name=name)
        blocks.append(Block("heading", name, level=3))
        if signature:
            blocks.append(Block("code", signature, language="bbj"))
        blocks.extend(docu.blocks)
        facts.add(name, signature, docu)


def _members(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _name(member: Mapping[str, Any]) -> str:
    return _text(member.get("name"))


def _text(value: object) -> str:
    return _one_line(value) if isinstance(value, str) else ""


@lru_cache(maxsize=8192)
def _one_line(text: str) -> str:
    """Clean a name or a type; an API has few of them and uses each in many signatures."""
    return " ".join(clean_text(text).split())
