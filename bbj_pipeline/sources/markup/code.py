"""Reads code out of markup verbatim: line breaks, indentation and language; and the one-line text of any element.

No decision about which element is code is made here.
"""

from __future__ import annotations

import re
from itertools import islice

from lxml import etree

from bbj_pipeline.sources.markup.elements import BLOCK_TAGS, SKIPPED_TAGS, alternative_text, children_of, local_name

__all__ = ["code_text", "language_of", "text_of"]

_LANGUAGE = re.compile(r"(?:^|\s)lang(?:uage)?-([\w+#.-]+)")
_LEADING_BLANK_LINES = re.compile(r"\A(?:[ \t]*\n)+")
_LANGUAGE_ANCESTORS = 4
"""How far above a ``pre`` its highlighter may have put the language: container, content, figure, wrapper."""
_HIDES, _BREAKS, _IS_LINE = "hides", "breaks", "is a line"
_EFFECTS = {"br": _BREAKS} | dict.fromkeys(BLOCK_TAGS, _IS_LINE) | dict.fromkeys(SKIPPED_TAGS, _HIDES)
"""What elements do to the lines of code around them; most do nothing."""
_INVISIBLE = str.maketrans(dict.fromkeys("\u200b\u00ad\ufeff"))


def code_text(element: etree._Element) -> str:
    """Return the text as a browser would copy it: ``<br>`` and block children break lines, U+00A0 is a space.

    Blank lines before and white space after the code are dropped, everything between is verbatim.
    """
    text = "".join(_pieces(element)) if len(element) else element.text or ""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u00a0", " ")
    return _LEADING_BLANK_LINES.sub("", text).rstrip()


def _pieces(top: etree._Element) -> list[str]:
    """Return the texts below ``top`` in order, with the line breaks that elements make."""
    effect_of = _EFFECTS.get
    pieces = [top.text or ""] if effect_of(local_name(top.tag)) != _HIDES else []
    open_elements = [(top, "", iter(children_of(top)))]
    while open_elements:
        element, effect, children = open_elements[-1]
        for child in children:
            tag = child.tag
            effect = effect_of(tag if tag.__class__ is str and "}" not in tag else local_name(tag), "")
            if effect == _BREAKS or (effect == _IS_LINE and not _at_line_start(pieces)):
                pieces.append("\n")
            text = child.text
            if text and effect != _HIDES and tag.__class__ is str:
                pieces.append(text)
            inner = children_of(child)
            if inner:
                open_elements.append((child, effect, iter(inner)))
                break
            _close(pieces, child, effect)
        else:
            open_elements.pop()
            if element is not top:
                _close(pieces, element, effect)
    return pieces


def _close(pieces: list[str], element: etree._Element, effect: str) -> None:
    if effect == _IS_LINE and not _at_line_start(pieces):
        pieces.append("\n")
    tail = element.tail
    if tail:
        pieces.append(tail)


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
    """Return all text of an element on one line, white space collapsed, invisible characters removed; images say theirs."""
    if not len(element):
        return _visible(element.text or "") if local_name(element.tag) not in SKIPPED_TAGS else ""
    pieces: list[str] = []
    for event, node in etree.iterwalk(element, events=("start", "end")):
        name = local_name(node.tag)
        if name in BLOCK_TAGS or name == "br":
            pieces.append(" ")
        if event == "start" and name == "img":
            pieces.append(f" {alternative_text(node)} ")
        if event == "start" and node.text and name not in SKIPPED_TAGS:
            pieces.append(node.text)
        if event == "end" and node.tail and node is not element:
            pieces.append(node.tail)
    return _visible("".join(pieces))


def _visible(text: str) -> str:
    if not text.isascii():
        text = text.translate(_INVISIBLE)
    return " ".join(text.split())
