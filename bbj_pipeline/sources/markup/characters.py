"""Characters that no document may contain, raw or by reference, and what they read as. No tree is built here.

A control character reads as a space. Browsers drop it, which is right on a screen, where nothing is searched: here
``one<NUL>two`` as one word could never be found, and two words lose nothing.
"""

from __future__ import annotations

import html
import re
from html.entities import html5

__all__ = ["SPACED", "legal_references", "named_references"]

SPACED = bytes(code if code >= 32 or code in b"\t\n\r" else 32 for code in range(256))
"""A table for ``bytes.translate`` of UTF-8, where control characters are one byte each and go many times faster than in
text."""
_NAMED_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)([A-Za-z][A-Za-z0-9]*;)")
_DOUBTFUL = re.compile(
    r"&#(?:[xX]0*([0-9a-fA-F]{1,2}|[dD][89a-fA-F][0-9a-fA-F]{2}|[0-9a-fA-F]{5,})|0*(\d{1,2}|1[2-5]\d|5[5-7]\d{3}|\d{6,}))"
    r"(?:;|(?![0-9a-fA-F]))"
)
"""References that may be to a control character, a half of a surrogate pair, or to nothing."""


def named_references(text: str) -> str:
    """Replace the HTML entities that XML does not know; one that HTML does not know either stays visible as written."""
    return _NAMED_ENTITY.sub(_named, text) if "&" in text else text


def legal_references(text: str) -> str:
    """Make references legal: one to a control character is a space, one to no character U+FFFD, and 128 to 159 are those of
    windows-1252 (HTML Living Standard, 13.2.5.80)."""
    return _DOUBTFUL.sub(_legal, text) if "&#" in text else text


def _named(match: re.Match[str]) -> str:
    known = html5.get(match[1])
    return f"&amp;{match[1]}" if known is None else html.escape(known)


def _legal(match: re.Match[str]) -> str:
    digits = (match[1] or match[2])[:12]  # more digits mean nothing else
    code = int(digits, 16 if match[1] else 10)
    if code < 32:
        return match[0] if code in (9, 10, 13) else " "
    if 0x80 <= code < 0xA0 or 0xD800 <= code < 0xE000 or code > 0x10FFFF:
        return html.unescape(f"&#{code};")
    return match[0]
