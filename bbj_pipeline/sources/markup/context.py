"""What an inline run of a document becomes: its text with white space collapsed, and the block that its place makes of it.

The tree is read in ``walker``; no element is looked at here.
"""

from __future__ import annotations

from dataclasses import dataclass

from bbj_pipeline.records import Block
from bbj_pipeline.sources.markup.tables import TableBuilder

__all__ = ["BREAK", "Context", "NoteState", "collapsed", "emit", "emit_text"]

BREAK = "\x1e"
"""Stands for ``<br>`` in a run; a control character that markup cannot contain."""
_INVISIBLE = "\u200b\u00ad\ufeff"


@dataclass(slots=True)
class NoteState:
    """The title that a note still has to show."""

    title: str | None


@dataclass(slots=True)
class Context:
    """What the next inline run is. ``lines`` collects the text of a table cell; ``item`` is reset by the first run."""

    depth: int = 0
    item: int | None = None
    heading: int | None = None
    anchor: str | None = None
    note: NoteState | None = None
    table: TableBuilder | None = None
    lines: list[str] | None = None

    def inside(self, *, depth: int | None = None, item: int | None = None, heading: int | None = None) -> Context:
        """Return the context of an element inside this one: what encloses it stays, what the next run is begins anew."""
        return Context(self.depth if depth is None else depth, item, heading, None, self.note, self.table, self.lines)


def collapsed(text: str) -> str:
    """Return a run as a reader sees it: white space collapses, ``BREAK`` parts lines, invisible characters are gone."""
    if not text.isascii():
        for character in _INVISIBLE:
            text = text.replace(character, "")
    if BREAK not in text:
        return " ".join(text.split())
    lines = (" ".join(line.split()) for line in text.split(BREAK))
    return "\n".join(line for line in lines if line)


def emit_text(context: Context, text: str, out: list[Block]) -> None:
    """Make of a run the block that ``context`` says, and put it into the cell, before the table, or into ``out``."""
    if context.lines is not None:
        context.lines.append(text)
    elif context.heading is not None:
        emit(context, Block("heading", text.replace("\n", " "), level=context.heading, anchor=context.anchor), out)
    elif context.item is not None:
        level, context.item = context.item, None
        emit(context, Block("list_item", text, level=level), out)
    elif context.note is not None:
        title, context.note.title = context.note.title, None
        out.append(Block("note", text, title=title))
    else:
        emit(context, Block("paragraph", text), out)


def emit(context: Context, block: Block, out: list[Block]) -> None:
    """Put a finished block where ``context`` stands; a note that begins with it shows its title first."""
    if context.lines is not None:
        context.lines.append(block.text)
    elif context.table is not None:
        context.table.before.append(block)
    else:
        if context.note is not None and context.note.title:  # the note begins with a list, code or a table
            out.append(Block("note", context.note.title))
            context.note.title = None
        out.append(block)
