"""Counts the attributes of tags before a parser does, whose time is quadratic in their number. No tree is built here."""

from __future__ import annotations

import re

__all__ = ["has_more_attributes"]

_SUSPECTS = (re.compile(r"<[a-zA-Z][^>]{2000}"), re.compile(r"""=\s*+(?:"[^">]*+>|'[^'>]*+>)"""))
"""A tag long enough for a thousand attributes, or a bracket in a quoted value, which hides where a tag ends."""
_ATTRIBUTE = r"""[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\s>"'][^\s>]*+)?+)?+"""
"""One attribute as the tokeniser of the HTML Living Standard (13.2.5.32 and following) reads it."""
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_TAG = re.compile(rf"<(?:!--|([a-zA-Z][^\s/>]*+)((?:[\s/]++|{_ATTRIBUTE})*+))")
_RAW_TEXT = {name: re.compile(f"</{name}", re.I) for name in ("script", "style", "textarea", "title", "xmp")}
"""Elements whose content holds no tags."""


def has_more_attributes(html: str, most: int) -> bool:
    """Say whether any tag of ``html`` has more than ``most`` attributes."""
    if not any(suspect.search(html) for suspect in _SUSPECTS):
        return False
    position = 0
    while tag := _TAG.search(html, position):
        position = tag.end()
        if tag[1] is None:
            end = html.find("-->", position)
            position = len(html) if end < 0 else end
            continue
        if len(tag[2]) > most and sum(1 for _ in _ATTRIBUTES.finditer(tag[2])) > most:
            return True
        closing = _RAW_TEXT.get(tag[1].lower())
        if closing is not None:
            found = closing.search(html, position)
            position = found.start() if found else len(html)
    return False
