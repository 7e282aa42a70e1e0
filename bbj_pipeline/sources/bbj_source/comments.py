"""Turns BBj comments (``rem``, ``rem /** … */``, banners of dashes or stars) into readable text.

Works on lexed lines and knows nothing of declarations or blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from bbj_pipeline.sources.bbj_source.lexer import LogicalLine

__all__ = ["Paragraph", "comment_line", "comment_paragraphs", "comment_text"]

_REM = re.compile(r"\s*rem(?![A-Za-z0-9_])", re.IGNORECASE)
_OPEN = re.compile(r"^\s*/\*+\s?")
_STAR = re.compile(r"^\s*\*(?!\*)\s?")
_BANNER = re.compile(r"^[\s\-=*#_~+.<>/\\|]*$")
_RULE_START = re.compile(r"^\s*([-=*#_~+])\1{2,}\s*")
_RULE_MARKS = "-=*#_~+"


@dataclass(slots=True)
class Paragraph:
    """The words of a run of comment lines, ``start`` to ``end`` (from 1, inclusive)."""

    text: str
    start: int
    end: int


def comment_line(text: str) -> str:
    """Return one comment's words: without ``rem``, doc comment marks and rules; ``""`` when nothing but a rule is left.

    Rules of dashes and stars are drawing, not words; everything that has a letter or digit is kept.
    """
    found = _REM.match(text)
    text = text[found.end() :] if found else text
    text = _STAR.sub("", _without_close(_OPEN.sub("", text)))
    if _BANNER.match(text):
        return ""
    text = _without_rule(_RULE_START.sub("", text)).strip()
    if text.startswith('"') and text.count('"') <= 1 + text.endswith('"'):
        text = text.strip('"').strip()  # REM "like a string": the old way to keep lower case
    return text


def _without_close(text: str) -> str:
    """Take ``**/`` off the end. From the end by hand: a pattern that may begin anywhere takes quadratic time on long runs."""
    bare = text.rstrip()
    return bare[:-1].rstrip("*").rstrip() if bare.endswith("*/") else text


def _without_rule(text: str) -> str:
    """Take a rule of three or more equal marks off the end."""
    bare = text.rstrip()
    if not bare or bare[-1] not in _RULE_MARKS:
        return text
    rest = bare.rstrip(bare[-1])
    return rest.rstrip() if len(bare) - len(rest) > 2 else text


def comment_paragraphs(lines: Iterable[LogicalLine]) -> list[Paragraph]:
    """Return the paragraphs of a run of comment lines: parted at empty comments, and before ``@param`` and its like."""
    paragraphs: list[Paragraph] = []
    current: Paragraph | None = None
    for line in lines:
        text = comment_line(line.statements[0].text) if line.statements else ""
        if not text:
            current = None
        elif current is None or text.startswith("@"):
            current = Paragraph(text, line.start, line.end)
            paragraphs.append(current)
        else:
            current.text += f"\n{text}"
            current.end = line.end
    return paragraphs


def comment_text(lines: Iterable[LogicalLine]) -> str:
    """Return a run of comment lines as one text, paragraphs parted by an empty line."""
    return "\n\n".join(paragraph.text for paragraph in comment_paragraphs(lines))
