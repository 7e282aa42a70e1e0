"""Which elements are blocks and which are never content, their names without a namespace, and what attributes say of them.

No running text is read here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from operator import itemgetter
from typing import Any

from lxml import etree

__all__ = [
    "BLOCK_TAGS",
    "HEADINGS",
    "SKIPPED_TAGS",
    "VOID_TAGS",
    "Kind",
    "alternative_text",
    "anchor_of",
    "children_of",
    "kinds_of",
    "local_name",
]


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


HEADINGS = {f"h{level}": level for level in range(1, 7)}

BLOCK_TAGS = _names(
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure footer"
    " form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol optgroup option p pre search section summary"
    " table tbody td tfoot th thead tr ul"
)
"""Elements whose edges end a line of prose (HTML Living Standard, 15.3: ``display`` other than inline)."""

SKIPPED_TAGS = _names("script style head template svg iframe canvas audio video")
"""Elements whose text a reader never sees: code of the page, graphics, fall-backs of embedded media."""

VOID_TAGS = _names("area base br col embed hr img input link meta param source track wbr")
"""Elements that HTML never closes."""


class Kind:
    """What an element is to the walker; all from ``BLOCK`` on are blocks. A structure says what the runs inside it are, other
    blocks only end a line."""

    INLINE, SKIPPED, BREAK, IMAGE, BLOCK, STRUCTURE = range(6)


_STRUCTURES = _names("dd dir dl dt li menu ol table tbody td tfoot th thead tr ul") | HEADINGS.keys()


@lru_cache(maxsize=64)
def kinds_of(dropped: frozenset[str]) -> dict[str, int]:
    """Return what each element is by its tag, where ``dropped`` are never content; those not in it are inline."""
    kinds = {"br": Kind.BREAK, "img": Kind.IMAGE} | dict.fromkeys(BLOCK_TAGS, Kind.BLOCK)
    return kinds | dict.fromkeys(_STRUCTURES, Kind.STRUCTURE) | dict.fromkeys(SKIPPED_TAGS | dropped, Kind.SKIPPED)


_BADGE = re.compile(r"img\.shields\.io/|badgen\.net/|badge\.svg")
"""Pictures of a project's state and version; their alternative text names the sort of badge and not what it shows."""

children_of: Callable[[etree._Element], list[etree._Element]] = itemgetter(slice(None))
"""Returns the children of an element all at once: a slice takes half the time that making an iterator takes."""


def local_name(tag: Any) -> str:
    """Return a tag's name without its namespace; comments, entities and processing instructions have the name ``""``."""
    if not isinstance(tag, str):
        return ""
    return tag.rpartition("}")[2]


def alternative_text(image: etree._Element) -> str:
    """Return what an image says to a reader who does not see it, however its data comes; empty for badges."""
    text = image.get("alt") or ""
    return "" if not text or text.startswith("data:") or _BADGE.search(image.get("src") or "", 0, 1000) else text


def anchor_of(heading: etree._Element) -> str | None:
    """Return the fragment a URL may point to: the heading's ``id`` or ``name``, or that of an ``a`` inside it."""
    for element in (heading, *heading.iterdescendants("a")):
        anchor = element.get("id") or element.get("name")
        if anchor:
            return anchor
    return None
