"""The one walker from a tree of markup to blocks, by the white-space collapse rules of CSS: no word glued, none split.

It keeps its own stack, so depth costs no recursion. What is peculiar to one source comes in through a ``MarkupProfile``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lxml import etree

from bbj_pipeline.records import Block
from bbj_pipeline.sources.markup.code import code_text, language_of, text_of
from bbj_pipeline.sources.markup.elements import BLOCK_TAGS, HEADINGS, SKIPPED_TAGS, anchor_of, local_name
from bbj_pipeline.sources.markup.profile import DEFAULT, Code, MarkupProfile
from bbj_pipeline.sources.markup.tables import TableBuilder, is_layout, span_of

__all__ = ["to_blocks"]

_BREAK = "\x1e"
"""Stands for ``<br>`` in the buffer; a control character that markup cannot contain."""
_INVISIBLE = str.maketrans(dict.fromkeys("\u200b\u00ad\ufeff"))
_ITEM_TAGS = frozenset(("li", "dt", "dd"))
_LIST_TAGS = frozenset(("ul", "ol", "menu", "dir", "dl"))


def to_blocks(root: etree._Element, profile: MarkupProfile = DEFAULT) -> tuple[Block, ...]:
    """Return the content below ``root`` as blocks in reading order.

    Inline runs become paragraphs, or list items, headings and notes after the element they stand in; ``<br>`` is a line
    break in their text. Text is never lost: what stands where HTML allows none (in a list, between cells) is a paragraph.
    The tree is not changed, and the tail of ``root`` is not read.
    """
    return tuple(_Walker(profile).walk(root))


@dataclass(slots=True)
class _NoteState:
    """The title that a note still has to show."""

    title: str | None


@dataclass(slots=True)
class _Context:
    """What the next inline run is. ``lines`` collects the text of a table cell; ``item`` is reset by the first run."""

    depth: int = 0
    item: int | None = None
    heading: int | None = None
    anchor: str | None = None
    note: _NoteState | None = None
    table: TableBuilder | None = None
    lines: list[str] | None = None

    def inside(self, *, depth: int | None = None, item: int | None = None, heading: int | None = None) -> _Context:
        """Return the context of an element inside this one: what encloses it stays, what the next run is begins anew."""
        return _Context(self.depth if depth is None else depth, item, heading, None, self.note, self.table, self.lines)


@dataclass(slots=True)
class _Frame:
    """An element being read: its remaining children, what to do at its end, and tab labels waiting for their panels."""

    element: etree._Element
    children: Iterator[etree._Element]
    is_block: bool = False
    leave: Callable[[], None] | None = None
    tabs: deque[str] | None = None


class _Walker:
    def __init__(self, profile: MarkupProfile) -> None:
        self.profile = profile
        self.skipped = SKIPPED_TAGS | profile.drop
        self.out: list[Block] = []
        self.buffer: list[str] = []
        self.context = _Context()
        self.frames: list[_Frame] = []

    def walk(self, root: etree._Element) -> list[Block]:
        self._visit(root)
        frames = self.frames
        while frames:
            frame = frames[-1]
            for child in frame.children:
                if self._visit(child):
                    break
                if child.tail:
                    self.buffer.append(child.tail)
            else:
                frames.pop()
                self._end(frame)
                if frames and frame.element.tail:
                    self.buffer.append(frame.element.tail)
        self._flush()
        return self.out

    def _visit(self, element: etree._Element) -> bool:
        """Read one element; ``True`` when its children are still to come (a frame was pushed)."""
        tag: Any = element.tag
        if tag.__class__ is not str:
            if tag is etree.Entity and element.text:
                self.buffer.append(element.text)
            return False
        if "}" in tag:
            tag = local_name(tag)
        if tag in self.skipped:
            return False
        chrome = self.profile.chrome
        if chrome is not None and chrome(element):
            if tag in BLOCK_TAGS:  # not content, but it stands between the lines around it
                self._flush()
            return False
        if tag in BLOCK_TAGS:
            return self._block(tag, element)
        if tag == "br":
            self.buffer.append(_BREAK)
            return False
        if element.text:
            self.buffer.append(element.text)
        if not len(element):
            return False
        self.frames.append(_Frame(element, iter(element)))
        return True

    def _block(self, tag: str, element: etree._Element) -> bool:
        if self.buffer:
            self._flush()
        code = self.profile.code(element) if self.profile.code is not None else None
        if code is not None or tag == "pre":
            self._code(element, code)
            return False
        role = element.get("role")
        if role == "tablist":
            self._tablist(element)
            return False
        if role == "tabpanel":
            self._tab_label()
        leave = self._note(element) if self.profile.note is not None else None
        if leave is None:
            leave = self._open(tag, element)
        if element.text:
            self.buffer.append(element.text)
        if len(element):
            self.frames.append(_Frame(element, iter(element), True, leave))
            return True
        if self.buffer:
            self._flush()
        if leave is not None:
            leave()
        return False

    def _end(self, frame: _Frame) -> None:
        if self.buffer and frame.is_block:
            self._flush()
        while frame.tabs:  # a tab bar whose panels are not in the page
            self._text(frame.tabs.popleft())
        if frame.leave is not None:
            frame.leave()

    def _enter(self, context: _Context) -> Callable[[], None]:
        """Make ``context`` the current one; the result restores the one before."""
        before, self.context = self.context, context

        def leave() -> None:
            self.context = before

        return leave

    def _open(self, tag: str, element: etree._Element) -> Callable[[], None] | None:
        """Change the context for an element that has one of its own; ``None`` for plain blocks."""
        context = self.context
        if tag in _ITEM_TAGS:
            depth = max(1, context.depth) + (tag == "dd")
            return self._enter(context.inside(item=depth))
        if tag in _LIST_TAGS:
            return self._enter(context.inside(depth=context.depth + 1))
        if tag in HEADINGS:
            inside = context.inside(heading=HEADINGS[tag])
            inside.anchor = anchor_of(element)
            return self._enter(inside)
        if tag == "table":
            return self._table(element)
        if tag == "tr" and context.table is not None:
            return self._row(element, context.table)
        if tag in ("td", "th") and context.table is not None:
            return self._cell(tag, element, context.table)
        if tag in ("tbody", "thead", "tfoot") and context.table is not None:
            return context.table.end_section
        return None

    # -- what is emitted --------------------------------------------------------------------------------------------------

    def _flush(self) -> None:
        """Turn the inline run read so far into a block; white space collapses, ``<br>`` breaks lines."""
        text = "".join(self.buffer)
        self.buffer.clear()
        if not text.isascii():
            text = text.translate(_INVISIBLE)
        if _BREAK in text:
            lines = (" ".join(line.split()) for line in text.split(_BREAK))
            text = "\n".join(line for line in lines if line)
        else:
            text = " ".join(text.split())
        if text:
            self._text(text)

    def _text(self, text: str) -> None:
        context = self.context
        if context.lines is not None:
            context.lines.append(text)
        elif context.heading is not None:
            self._emit(Block("heading", text.replace("\n", " "), level=context.heading, anchor=context.anchor))
        elif context.item is not None:
            level, context.item = context.item, None
            self._emit(Block("list_item", text, level=level))
        elif context.note is not None:
            title, context.note.title = context.note.title, None
            self.out.append(Block("note", text, title=title))
        else:
            self._emit(Block("paragraph", text))

    def _emit(self, block: Block) -> None:
        context = self.context
        if context.lines is not None:
            context.lines.append(block.text)
        elif context.table is not None:
            context.table.before.append(block)
        else:
            if context.note is not None and context.note.title:  # the note begins with a list, code or a table
                self.out.append(Block("note", context.note.title))
                context.note.title = None
            self.out.append(block)

    def _code(self, element: etree._Element, code: Code | None) -> None:
        if code is None:
            code = Code(code_text(element), language_of(element))
        if code.text.strip():
            self._emit(Block("code", code.text, language=code.language or self.profile.language, title=code.title))
        if code.last is not None and self.frames:
            for sibling in self.frames[-1].children:
                if sibling is code.last:
                    if sibling.tail:
                        self.buffer.append(sibling.tail)
                    break

    # -- notes and tabs ---------------------------------------------------------------------------------------------------

    def _note(self, element: etree._Element) -> Callable[[], None] | None:
        note = self.profile.note(element) if self.profile.note is not None else None
        if note is None:
            return None
        if self.context.lines is not None and note.title:
            self.context.lines.append(note.title)
        inside = self.context.inside()
        inside.note = _NoteState(note.title)
        return self._enter(inside)

    def _tablist(self, element: etree._Element) -> None:
        labels = [text_of(tab) for tab in element.iterdescendants(etree.Element) if tab.get("role") == "tab"]
        if self.frames:
            self.frames[-1].tabs = deque(label for label in labels if label)

    def _tab_label(self) -> None:
        """Show the label of the panel about to be read: the next one of the nearest tab bar."""
        for frame in reversed(self.frames):
            if frame.tabs:
                self._text(frame.tabs.popleft())
                return

    # -- tables -----------------------------------------------------------------------------------------------------------

    def _table(self, element: etree._Element) -> Callable[[], None] | None:
        if self.context.lines is None and is_layout(element):
            return None
        builder = TableBuilder()
        outer = self.context
        inside = outer.inside()
        inside.table, inside.lines = builder, None
        restore = self._enter(inside)

        def leave() -> None:
            restore()
            if outer.lines is not None and outer.table is not None:
                outer.table.after.extend(builder.blocks())
                return
            for block in builder.blocks():
                self._emit(block)

        return leave

    def _row(self, element: etree._Element, builder: TableBuilder) -> Callable[[], None]:
        section = element.getparent()
        in_head = section is not None and local_name(section.tag) == "thead"
        hook = self.profile.header_row
        builder.start_row(header=in_head or (hook is not None and builder.only_headers and hook(element)))
        return builder.end_row

    def _cell(self, tag: str, element: etree._Element, builder: TableBuilder) -> Callable[[], None]:
        lines: list[str] = []
        restore = self._enter(_Context(table=builder, lines=lines))

        def leave() -> None:
            restore()
            colspan, rowspan = span_of(element, "colspan"), span_of(element, "rowspan")
            builder.add_cell("\n".join(lines), colspan=max(1, colspan), rowspan=rowspan, header=tag == "th")

        return leave
