"""The links of a tree of markup as pairs of text and target, for the metadata of a topic.

Only what is written is read here; which document a target means is decided where all documents are known.
"""

from __future__ import annotations

from lxml import etree

from bbj_pipeline.sources.markup.code import text_of
from bbj_pipeline.sources.markup.elements import local_name

__all__ = ["MAX_LINKS", "links_of"]

MAX_LINKS = 500
"""Links of one document at most: an index page of a large manual has fewer, and metadata must stay small."""
_MAX_TARGET = 1_000
_MAX_TEXT = 200
_ELSEWHERE = ("#", "mailto:", "javascript:", "data:", "tel:", "ftp:", "file:", "about:")
"""Targets that are no other document: a place in this page, a program, an address."""


def links_of(root: etree._Element) -> list[list[str]]:
    """Return ``[text, target]`` of the links below ``root`` in reading order, each pair once, at most ``MAX_LINKS``.

    Lists, not tuples: topic metadata is JSON. Cross references of MadCap (``xref``) are links too.
    """
    found: dict[tuple[str, str], None] = {}
    for element in root.iter():
        if local_name(element.tag).lower() not in ("a", "xref"):
            continue
        target = (element.get("href") or "").strip()
        if not target or len(target) > _MAX_TARGET or target.lower().startswith(_ELSEWHERE):
            continue
        found.setdefault((text_of(element)[:_MAX_TEXT], target))
        if len(found) == MAX_LINKS:
            break
    return [list(pair) for pair in found]
