"""The document type of a topic, from its title, its headings and the shape of its blocks. The type decides chunk sizes."""

from __future__ import annotations

import re

from bbj_pipeline.records import DocType, Topic

__all__ = ["classify"]

_TITLES: tuple[tuple[DocType, re.Pattern[str]], ...] = (
    (
        "migration",
        re.compile(
            r"\b(?:migrat\w+|moderni[sz]\w+|porting|convert(?:ing)?\b.{1,60}\bto|upgrad\w+ (?:from|to)|"
            r"from .{2,40} to (?:bbj|bui|dwc))\b",
            re.IGNORECASE,
        ),
    ),
    (
        "version-note",
        re.compile(r"\b(?:what['’]?s new|release notes?|new in|change ?log|new features|fixed in|readme \d)\b", re.IGNORECASE),
    ),
    (
        "best-practice",
        re.compile(r"\b(?:best practices?|guidelines|recommendations|do['’]?s and don['’]?ts|tips)\b", re.IGNORECASE),
    ),
    (
        "language-reference",
        re.compile(
            r"(?i:\b(?:verb|mnemonic|statement)s?\s*(?:[-–—:]|$))|^[A-Z][A-Z_]{1,14}(?:\(\))?\s+[Ff]unctions?\s*(?:[-–—:]|$)|"
            r"^[A-Z][A-Z_]{1,14}\(\)$"
        ),
    ),
    ("example", re.compile(r"\b(?:examples?|samples?|sample code|code listing)\s*$|^(?:example|sample)\b", re.IGNORECASE)),
)
_MEMBER_TITLE = re.compile(r"^\w+(?:::|\.)\w+(?:\(.*\))?$")
_API_CLASS = re.compile(r"^(?:BBj[A-Z]\w+|[a-z]\w*(?:-[a-z\d]+)+)(?: ?\(.*\))?$")
"""A class of the BBj API or a web component, which HTML names with a hyphen, and perhaps which of its forms."""
_API_HEADINGS = frozenset(
    {
        "syntax",
        "parameters",
        "parameter",
        "return value",
        "returns",
        "methods",
        "constructors",
        "fields",
        "properties",
        "events",
    }
)
_SYNTAX_HEADINGS = frozenset({"syntax", "syntax(es)", "syntaxes"})
_REFERENCE_HEADINGS = frozenset({"description", "example", "examples", "remarks", "see also"})
_SIGNATURE = re.compile(r"^[\w.<>\[\]]*\s*\w+\s*\([^)]*\)$")
_CODE_SHARE = 0.7


def classify(topic: Topic, default: DocType) -> tuple[DocType, str]:
    """Return the document type and the reason for it, a phrase for a person.

    A source whose documents are API pages or programs says so by its default, and that stands; only prose that lies among
    programs, a text without a line of code, is judged as any other page.
    """
    if default == "api-reference" or (default == "example" and _has_code(topic)):
        return default, "type of the source"
    for doc_type, pattern in _TITLES[:3]:
        if found := pattern.search(topic.title):
            return doc_type, f"title says {found.group().strip()!r}"
    headings = [block.text.strip().casefold() for block in topic.blocks if block.type == "heading"]
    if reason := _api_reason(topic, headings):
        return "api-reference", reason
    for doc_type, pattern in _TITLES[3:]:
        if found := pattern.search(topic.title):
            return doc_type, f"title says {found.group().strip()!r}"
    if _SYNTAX_HEADINGS.intersection(headings) and (topic.title.isupper() or _REFERENCE_HEADINGS.intersection(headings)):
        return "language-reference", "it has the headings of a reference page: syntax and what goes with it"
    if _code_share(topic) >= _CODE_SHARE:
        return "example", f"at least {_CODE_SHARE:.0%} of the text is code"
    if default == "example":
        return "concept", "it lies among programs and has no code"
    return default, "no signal; type of the source"


def _api_reason(topic: Topic, headings: list[str]) -> str:
    """Return why the topic is an API reference, empty if it is not."""
    api_headings = _API_HEADINGS.intersection(headings)
    if topic.metadata.get("signatures"):
        return "it has signatures"
    if _MEMBER_TITLE.match(topic.title) and api_headings:
        return f"title is a member and it has a heading {min(api_headings)!r}"
    if _API_CLASS.match(topic.title) and api_headings:
        return f"title is a class or a component and it has a heading {min(api_headings)!r}"
    signatures = sum(1 for heading in headings if _SIGNATURE.match(heading))
    if signatures >= 3 and signatures * 2 >= len(headings):
        return f"{signatures} of {len(headings)} headings are signatures"
    return ""


def _has_code(topic: Topic) -> bool:
    return any(block.type == "code" for block in topic.blocks)


def _code_share(topic: Topic) -> float:
    total = sum(len(block.text) for block in topic.blocks)
    code = sum(len(block.text) for block in topic.blocks if block.type == "code")
    return code / total if total else 0.0
