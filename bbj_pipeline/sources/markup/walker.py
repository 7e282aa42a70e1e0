"""The one walker from a tree of markup to blocks, by the white-space collapse rules of CSS: no word glued, none split.

It keeps its own stack, so depth costs no recursion. What is peculiar to one source comes in through a ``MarkupProfile``;
what an inline run becomes is decided in ``context``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from lxml import etree

from bbj_pipeline.records import Block
from bbj_pipeline.sources.markup.code import code_text, language_of, text_of
from bbj_pipeline.sources.markup.context import BREAK, Context, NoteState, collapsed, emit, emit_text
from bbj_pipeline.sources.markup.elements import (
    BLOCK_TAGS,
    HEADINGS,
    Kind,
    alternative_text,
    anchor_of,
    children_of,
    kinds_of,
    local_name,
)
from bbj_pipeline.sources.markup.profile import DEFAULT, Code, MarkupProfile, Note
from bbj_pipeline.sources.markup.tables import TableBuilder, is_layout, span_of

__all__ = ["to_blocks"]

_ITEM_TAGS = frozenset(("li", "dt", "dd"))
_LIST_TAGS = frozenset(("ul", "ol", "menu", "dir", "dl"))
_CELL_TAGS = frozenset(("td", "th"))

_Frame = tuple[etree._Element, Iterator[etree._Element], Context | None, Callable[[], None] | None]
"""An element being read: its children still to come, the context outside it (``None`` for inline elements), and what to do at
its end."""


def to_blocks(root: etree._Element, profile: MarkupProfile = DEFAULT) -> tuple[Block, ...]:
    """Return the content below ``root`` as blocks in reading order.

    Inline runs become paragraphs, or list items, headings and notes after the element they stand in; ``<br>`` is a line
    break in their text. Text is never lost: what stands where HTML allows none (in a list, between cells) is a paragraph.
    The tree is not changed, and the tail of ``root`` is not read.
    """
    return tuple(_Walker(profile).walk(root))


class _Walker:
    """One reading of one tree. A run is never begun by white space: it would be collapsed to nothing anyway."""

    def __init__(self, profile: MarkupProfile) -> None:
        self.profile = profile
        self.hooks_of_all = profile if profile.classes is None else DEFAULT
        self.kinds = kinds_of(profile.drop)
        self.out: list[Block] = []
        self.buffer: list[str] = []
        self.context = Context()
        self.frames: list[_Frame] = []
        self.tabs: dict[int, deque[str]] = {}
        """Labels that wait for their panels, by the number of elements that were open around their bar."""

    def walk(self, root: etree._Element) -> list[Block]:
        """Read the tree and return its blocks."""
        self._visit(root)
        frames, buffer, visit = self.frames, self.buffer, self._visit
        while frames:
            element, children, before, leave = frames[-1]
            for child in children:
                if visit(child):
                    break
                tail = child.tail
                if tail and (buffer or not tail.isspace()):
                    buffer.append(tail)
            else:
                if self.tabs or before is not None:
                    self._end(before, leave)
                frames.pop()
                tail = element.tail
                if tail and frames and (buffer or not tail.isspace()):
                    buffer.append(tail)
        self._flush()
        return self.out

    def _visit(self, element: etree._Element) -> bool:
        """Read one element; ``True`` when its children are still to come (a frame was pushed)."""
        tag: Any = element.tag
        kind = self.kinds.get(tag, Kind.INLINE)
        if kind == Kind.INLINE:
            if tag.__class__ is not str:
                if tag is etree.Entity and element.text:
                    self.buffer.append(element.text)
                return False
            if "}" in tag:
                tag = local_name(tag)
                kind = self.kinds.get(tag, Kind.INLINE)
        hooks, role = self.hooks_of_all, None
        names = element.keys()  # most elements have no attribute: one look spares many
        if names:
            known = self.profile.classes
            if known is not None and "class" in names and known(element.get("class", "")):
                hooks = self.profile
            if "role" in names:
                role = element.get("role")
        if kind == Kind.SKIPPED or (hooks.chrome is not None and hooks.chrome(element)):
            if tag in BLOCK_TAGS:  # not content, but it stands between the lines around it
                self._flush()
            return False
        if kind >= Kind.BLOCK:
            if self.buffer:
                self._flush()
            return self._block(tag, kind, element, hooks, role)
        if kind == Kind.INLINE:
            text = element.text
            if text and (self.buffer or not text.isspace()):
                self.buffer.append(text)
            children = children_of(element)
            if not children:
                return False
            self.frames.append((element, iter(children), None, None))
            return True
        self.buffer.append(BREAK if kind == Kind.BREAK else f" {alternative_text(element)} ")
        return False

    def _block(self, tag: str, kind: int, element: etree._Element, hooks: MarkupProfile, role: str | None) -> bool:
        """Read a block element, asking ``hooks`` what it is; ``True`` when its children are still to come."""
        code = hooks.code(element) if hooks.code is not None else None
        if code is not None or tag == "pre":
            self._code(element, code)
            return False
        if role is not None:
            if role == "tablist":
                self._tablist(element)
                return False
            if role == "tabpanel":
                self._tab_label()
        note = hooks.note(element) if hooks.note is not None else None
        before = self.context
        leave: Callable[[], None] | None = None
        children = children_of(element)
        if note is not None:
            self._note(note)
        elif kind == Kind.STRUCTURE:
            if before.table is not None and self._bare_cells(tag, element, children, before.table):
                return False
            leave = self._open(tag, element)
        text = element.text
        if children:
            if text and not text.isspace():
                self.buffer.append(text)
            self.frames.append((element, iter(children), before, leave))
            return True
        if text and (text := collapsed(text)):
            emit_text(self.context, text, self.out)
        self.context = before
        if leave is not None:
            leave()
        return False

    def _end(self, before: Context | None, leave: Callable[[], None] | None) -> None:
        """End the innermost open element."""
        if self.buffer and before is not None:
            self._flush()
        labels = self.tabs.pop(len(self.frames), None) if self.tabs else None
        while labels:  # a tab bar whose panels are not in the page
            emit_text(self.context, labels.popleft(), self.out)
        if before is not None:
            self.context = before
        if leave is not None:
            leave()

    def _open(self, tag: str, element: etree._Element) -> Callable[[], None] | None:
        """Change the context for an element that has one of its own; the result is done after the context was restored."""
        context = self.context
        if tag in _ITEM_TAGS:
            self.context = context.inside(item=max(1, context.depth) + (tag == "dd"))
        elif tag in _LIST_TAGS:
            self.context = context.inside(depth=context.depth + 1)
        elif tag in HEADINGS:
            self.context = context.inside(heading=HEADINGS[tag])
            self.context.anchor = anchor_of(element)
        elif tag == "table":
            return self._table(element)
        elif context.table is not None:
            if tag == "tr":
                return self._row(element, context.table)
            return self._cell(tag, element, context.table) if tag in _CELL_TAGS else context.table.end_section
        return None

    def _flush(self) -> None:
        """Turn the inline run read so far into a block."""
        text = collapsed("".join(self.buffer))
        self.buffer.clear()
        if text:
            emit_text(self.context, text, self.out)

    # -- code, notes and tabs ---------------------------------------------------------------------------------------------

    def _code(self, element: etree._Element, code: Code | None) -> None:
        if code is None:
            code = Code(code_text(element), language_of(element))
        if code.text.strip():
            language = code.language or self.profile.language
            emit(self.context, Block("code", code.text, language=language, title=code.title), self.out)
        if code.last is not None and self.frames:
            for sibling in self.frames[-1][1]:
                if sibling is code.last:
                    if sibling.tail:
                        self.buffer.append(sibling.tail)
                    break

    def _note(self, note: Note) -> None:
        if self.context.lines is not None and note.title:
            self.context.lines.append(note.title)
        self.context = self.context.inside()
        self.context.note = NoteState(note.title)

    def _tablist(self, element: etree._Element) -> None:
        labels = [text_of(tab) for tab in element.iterdescendants(etree.Element) if tab.get("role") == "tab"]
        self.tabs[len(self.frames)] = deque(label for label in labels if label)

    def _tab_label(self) -> None:
        """Show the label of the panel about to be read: the next one of the nearest tab bar."""
        nearest = max((level for level, labels in self.tabs.items() if labels), default=None)
        if nearest is not None:
            emit_text(self.context, self.tabs[nearest].popleft(), self.out)

    # -- tables -----------------------------------------------------------------------------------------------------------

    def _table(self, element: etree._Element) -> Callable[[], None] | None:
        outer = self.context
        if outer.lines is None and is_layout(element):
            return None
        builder = TableBuilder()
        self.context = outer.inside()
        self.context.table, self.context.lines = builder, None

        def leave() -> None:
            if outer.lines is not None and outer.table is not None:
                outer.table.add_nested(builder.blocks())
                return
            for block in builder.blocks():
                emit(outer, block, self.out)

        return leave

    def _row(self, element: etree._Element, builder: TableBuilder) -> Callable[[], None]:
        section = element.getparent()
        in_head = section is not None and local_name(section.tag) == "thead"
        hook = self.profile.header_row
        builder.start_row(header=in_head or (hook is not None and builder.only_headers and hook(element)))
        return builder.end_row

    def _cell(self, tag: str, element: etree._Element, builder: TableBuilder) -> Callable[[], None]:
        lines: list[str] = []
        self.context = Context(table=builder, lines=lines)
        return lambda: _add_cell(builder, tag, element, "\n".join(lines))

    def _bare_cells(self, tag: str, element: etree._Element, children: list[etree._Element], builder: TableBuilder) -> bool:
        """Read a cell of nothing but text, or a row of nothing but such cells, at once: the bulk of any large table.

        ``False`` when there is more in it.
        """
        if tag in _CELL_TAGS:
            holder = self._holder(element, children)
            if holder is not None:
                _add_cell(builder, tag, element, collapsed(holder.text or ""))
            return holder is not None
        if tag != "tr" or self.profile.classes is None or (element.text and not element.text.isspace()):
            return False
        cells: list[tuple[str, bool]] = []
        for cell in children:
            holder = self._holder(cell, children_of(cell))
            if cell.tag not in _CELL_TAGS or holder is None or cell.keys() or (cell.tail and not cell.tail.isspace()):
                return False
            cells.append((holder.text or "", cell.tag == "th"))
        end_row = self._row(element, builder)
        for text, header in cells:
            builder.add_cell(collapsed(text), colspan=1, rowspan=1, header=header)
        end_row()
        return True

    def _holder(self, cell: etree._Element, children: list[etree._Element]) -> etree._Element | None:
        """Return the element whose text is all there is in a cell: the cell, or the bare paragraph that Flare puts into most
        cells and that no hook knows."""
        if not children:
            return cell
        inner = children[0]
        if len(children) > 1 or inner.tag != "p" or self.profile.classes is None or len(inner) or inner.keys():
            return None
        return inner if not f"{cell.text or ''}{inner.tail or ''}".strip() else None


def _add_cell(builder: TableBuilder, tag: str, element: etree._Element, text: str) -> None:
    colspan = rowspan = 1
    if element.keys():
        colspan, rowspan = max(1, span_of(element, "colspan")), span_of(element, "rowspan")
    builder.add_cell(text, colspan=colspan, rowspan=rowspan, header=tag == "th")
