"""Which elements are blocks and which are never content, their names without a namespace, and their anchors.

No text is read here.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from lxml import etree

__all__ = ["BLOCK_TAGS", "HEADINGS", "SKIPPED_TAGS", "VOID_TAGS", "anchor_of", "children_of", "local_name"]


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


children_of: Callable[[etree._Element], list[etree._Element]] = itemgetter(slice(None))
"""Returns the children of an element all at once: a slice takes half the time that making an iterator takes."""


def local_name(tag: Any) -> str:
    """Return a tag's name without its namespace; comments, entities and processing instructions have the name ``""``."""
    if not isinstance(tag, str):
        return ""
    return tag.rpartition("}")[2]


def anchor_of(heading: etree._Element) -> str | None:
    """Return the fragment a URL may point to: the heading's ``id`` or ``name``, or that of an ``a`` inside it."""
    for element in (heading, *heading.iterdescendants("a")):
        anchor = element.get("id") or element.get("name")
        if anchor:
            return anchor
    return None
