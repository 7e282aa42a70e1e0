"""Finds the DOCTYPE of a document: where it ends, and whether its internal subset declares entities. Nothing is expanded here.

A document that brings entities of its own is a bomb, a reach for foreign files, or text that only its author's tools can
show; it is told so instead of being read with holes.
"""

from __future__ import annotations

import re

__all__ = ["declared_entity", "prolog_end"]

_QUOTED = r""""[^">]*+"|'[^'>]*+'"""
"""A quoted identifier; HTML ends a DOCTYPE at ``>`` even where a quote was left open."""
_HEAD = rf"""<!DOCTYPE\b(?:[^\[>"']++|{_QUOTED}|["'])*+"""
_COMMENT = r"<!--.*?(?:-->|\Z)"
_INSTRUCTION = r"<\?.*?(?:\?>|\Z)"
_SUBSET = rf"""\[(?:[^\]"'<]++|"[^"]*+"|'[^']*+'|{_COMMENT}|{_INSTRUCTION}|<)*+\]\s*+"""
_DOCTYPE = re.compile(rf"{_HEAD}(?:{_SUBSET})?>", re.I | re.S)
_SUSPECT = re.compile(r"<![Ee][Nn][Tt][Ii][Tt][Yy]\b")
_PLACES = re.compile(
    rf"{_COMMENT}|<!\[CDATA\[.*?(?:\]\]>|\Z)|{_INSTRUCTION}"
    rf"|<(?P<raw>script|style|textarea|title|xmp)\b.*?(?:</(?P=raw)\b|\Z)|(?P<doctype>{_HEAD}\[)",
    re.I | re.S,
)
"""What may hold the letters of a declaration without declaring anything, and a DOCTYPE that has an internal subset."""
_DECLARATIONS = re.compile(
    rf"""{_COMMENT}|{_INSTRUCTION}|<!ENTITY\b\s*(?P<parameter>%\s+)?(?P<name>[^\s"'<>%]*)\s*(?P<external>SYSTEM|PUBLIC)?"""
    r"""|"[^"]*+"|'[^']*+'|(?P<end>\])""",
    re.I | re.S,
)


def declared_entity(text: str) -> str | None:
    """Return the first entity that a DOCTYPE of ``text`` declares, as a person reads it, or ``None``.

    General and parameter entities, internal and external: ``the external entity "x"``.
    """
    if _SUSPECT.search(text) is None:
        return None
    for place in _PLACES.finditer(text):
        if place["doctype"] is None:
            continue
        for found in _DECLARATIONS.finditer(text, place.end()):
            if found["end"]:
                break
            if found["name"] is not None:
                where = "external" if found["external"] else "internal"
                what = "parameter entity" if found["parameter"] else "entity"
                return f'the {where} {what} "{found["name"][:100]}"'
    return None


def prolog_end(text: str) -> int:
    """Return where the document itself begins: after white space, declarations, comments and the DOCTYPE."""
    position = 0
    while True:
        position += len(text[position : position + 4096]) - len(text[position : position + 4096].lstrip())
        if text.startswith("<!--", position):
            end = text.find("-->", position) + 3
        elif text.startswith("<?", position):
            end = text.find(">", position) + 1
        else:
            doctype = _DOCTYPE.match(text, position)
            end = doctype.end() if doctype else 0
        if end <= position:
            return position
        position = end
