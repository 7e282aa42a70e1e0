"""Reads code out of markup verbatim: line breaks, indentation and language; and the one-line text of any element.

No decision about which element is code is made here.
"""

from __future__ import annotations

import re
from itertools import islice

from lxml import etree

from bbj_pipeline.sources.markup.elements import BLOCK_TAGS, SKIPPED_TAGS, local_name

__all__ = ["code_text", "language_of", "text_of"]

_LANGUAGE = re.compile(r"(?:^|\s)lang(?:uage)?-([\w+#.-]+)")
_LEADING_BLANK_LINES = re.compile(r"\A(?:[ \t]*\n)+")
_LANGUAGE_ANCESTORS = 4
"""How far above a ``pre`` its highlighter may have put the language: container, content, figure, wrapper."""
_INVISIBLE = str.maketrans(dict.fromkeys("\u200b\u00ad\ufeff"))


def code_text(element: etree._Element) -> str:
    """Return the text as a browser would copy it: ``<br>`` and block children break lines, U+00A0 is a space.

    Blank lines before and white space after the code are dropped, everything between is verbatim.
    """
    if len(element):
        pieces: list[str] = []
        for event, node in etree.iterwalk(element, events=("start", "end", "comment", "pi")):
            _collect(pieces, event, node, element)
        text = "".join(pieces)
    else:
        text = element.text or ""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u00a0", " ")
    return _LEADING_BLANK_LINES.sub("", text).rstrip()


def _collect(pieces: list[str], event: str, node: etree._Element, top: etree._Element) -> None:
    if event == "start":
        name = local_name(node.tag)
        if name == "br" or (name in BLOCK_TAGS and node is not top and not _at_line_start(pieces)):
            pieces.append("\n")
        if node.text and name not in SKIPPED_TAGS:
            pieces.append(node.text)
        return
    if event == "end" and node is not top and local_name(node.tag) in BLOCK_TAGS and not _at_line_start(pieces):
        pieces.append("\n")
    if node.tail and node is not top:
        pieces.append(node.tail)


def _at_line_start(pieces: list[str]) -> bool:
    last = next((piece for piece in reversed(pieces) if piece), "\n")
    return last.endswith("\n")


def language_of(element: etree._Element) -> str | None:
    """Return the language named by a class ``language-x`` or ``lang-x`` of the element, a child, or a near ancestor."""
    nearby = (element, *islice(element.iterdescendants("code"), 1), *islice(element.iterancestors(), _LANGUAGE_ANCESTORS))
    for candidate in nearby:
        found = _LANGUAGE.search(candidate.get("class", ""))
        if found:
            return found[1].lower()
    return None


def text_of(element: etree._Element) -> str:
    """Return all text of an element on one line, white space collapsed, invisible characters removed."""
    pieces: list[str] = []
    for event, node in etree.iterwalk(element, events=("start", "end")):
        name = local_name(node.tag)
        if name in BLOCK_TAGS or name == "br":
            pieces.append(" ")
        if event == "start" and node.text and name not in SKIPPED_TAGS:
            pieces.append(node.text)
        if event == "end" and node.tail and node is not element:
            pieces.append(node.tail)
    return " ".join("".join(pieces).translate(_INVISIBLE).split())
