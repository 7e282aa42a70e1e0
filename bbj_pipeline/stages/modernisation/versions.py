"""BBj versions and the sentences that name them: finding, ordering, and cutting prose into whole sentences."""

from __future__ import annotations

import re

__all__ = ["VERSION", "sentences", "version_order"]

VERSION = r"BBj(?:®|\s*\(R\))?\s*(?:version\s+|v\.?\s?)?(\d{1,2}(?:\.\d{1,3}){1,3}|\d{1,2}(?=\s*\+|\s+(?:and|or)\s))"
"""``BBj 7.00``, ``BBj® 19.20``, ``BBj 23+``: one group, the number. A bare whole number only where ``+`` or ``and`` follows."""

_END = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+(?=[\"'“‘(\[]?[A-Z@'$])|\n+")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|no|fig|resp|dr|mr|mrs|st|v))\.$", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")


def sentences(text: str) -> list[str]:
    """Cut prose into sentences, whole ones only.

    A full stop ends one when a capital follows and it is not that of an abbreviation: ``In BBj 7.00 and higher`` stays whole.
    """
    found: list[str] = []
    start = 0
    for end in _END.finditer(text):
        part = text[start : end.start()]
        if end.group().strip("\n") != "" and _ABBREVIATION.search(part):
            continue
        found.append(text[start : end.end()].strip())
        start = end.end()
    found.append(text[start:].strip())
    return [sentence for sentence in found if sentence]


def version_order(version: str) -> tuple[int, ...]:
    """Return a key that orders versions as releases follow one another; ``7.0`` and ``7.00`` are one release.

    A minor number of one digit is the first of two (``7.1`` is ``7.10``), as BBj writes them; trailing zeros count nothing.
    """
    major, *rest = _NUMBER.findall(version) or ["0"]
    minor = [int(part.ljust(2, "0")) if number == 0 else int(part) for number, part in enumerate(rest)]
    while minor and minor[-1] == 0:
        minor.pop()
    return (int(major), *minor)
