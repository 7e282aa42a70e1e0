"""What a source tells the walker about its own HTML: which elements are chrome, code, notes.

Only the shapes of these answers live here. The answers themselves (Docusaurus, WordPress, Flare) live with their sources.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lxml import etree

__all__ = ["DEFAULT", "Code", "MarkupProfile", "Note"]


@dataclass(frozen=True, slots=True)
class Code:
    """A code block that a source recognised by its own shape.

    ``last`` is the last following sibling the block takes in (one line an element); ``None`` means the element alone.
    """

    text: str
    language: str | None = None
    title: str | None = None
    last: etree._Element | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """The element is a note; each paragraph in it becomes one ``note`` block, the first with ``title``.

    The element that shows the title must then be chrome, or it would be read twice.
    """

    title: str | None = None


@dataclass(frozen=True, slots=True)
class MarkupProfile:
    """The hooks of one source.

    ``chrome`` is asked for every element (``True``: it and all in it are not content), ``code`` and ``note`` for block
    elements, ``header_row`` for a leading ``tr`` that its markup does not show to be a header already. ``drop`` are further
    tag names that are never content. ``language`` is the language of code blocks that name none. ``classes`` promises that
    chrome, code and notes are known by a class, and says of a value of ``class`` whether it can be one of theirs: all other
    elements (most) are not asked about.
    """

    chrome: Callable[[etree._Element], bool] | None = None
    code: Callable[[etree._Element], Code | None] | None = None
    note: Callable[[etree._Element], Note | None] | None = None
    header_row: Callable[[etree._Element], bool] | None = None
    drop: frozenset[str] = frozenset()
    language: str | None = None
    classes: Callable[[str], bool] | None = None


DEFAULT = MarkupProfile()
"""Plain HTML: nothing is chrome, only ``pre`` is code, nothing is a note."""
