"""Blocks as Markdown pieces with their length in tokens: the unit that is packed into chunks.

A piece is complete Markdown on its own (a fence is closed, a note is quoted), so that any row of pieces is well formed.
No size decisions here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from bbj_pipeline.records import Block
from bbj_pipeline.stages.contract import Tokenizer

__all__ = [
    "PROSE_KINDS",
    "Counter",
    "Piece",
    "PieceKind",
    "escape_fences",
    "fence",
    "goes_on",
    "join",
    "render",
    "size_of",
    "table_row",
]

PieceKind = Literal["heading", "paragraph", "list_item", "note", "code", "table"]
PROSE_KINDS: frozenset[PieceKind] = frozenset({"paragraph", "list_item", "note"})

_FENCE_LINE = re.compile(r"^([ \t]*(?:>[ \t]*)*)(```|~~~)", re.MULTILINE)
_BACKTICKS = re.compile(r"`{3,}")
_LANGUAGE = re.compile(r"[\w+#.-]+")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a topic: ``block`` is its block's position, ``section`` its section's, ``tokens`` without special tokens.

    ``scope`` names the declarations that enclose a part of split code, outermost first. ``head`` are the characters and the
    tokens with which a part of a split table repeats its header rows, left out where it follows the part before.
    """

    kind: PieceKind
    text: str
    block: int
    section: int
    tokens: int = 0
    scope: tuple[str, ...] = ()
    head: tuple[int, int] = (0, 0)


class Counter:
    """Counts in the model's tokens without the special ones, which are counted once a text, not once a piece.

    Lives as long as one document; a text is tokenised once in that time.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._known: dict[str, int] = {}
        self.window = tokenizer.window
        known: Any = tokenizer  # the protocol does not promise that it is hashable; every object is
        self.special, self.joint, self.separator = _basics(known)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text, special ones not included."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            counts = self._tokenizer.count(new)
            self._known.update((text, count - self.special) for text, count in zip(new, counts, strict=True))
        return [self._known[text] for text in texts]

    def exact(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text as the model reads it."""
        return self._tokenizer.count(texts)


@lru_cache(maxsize=8)
def _basics(tokenizer: Any) -> tuple[int, int, int]:
    """Ask a ``Tokenizer`` once: the tokens of an empty text, and what two paragraphs or two parts of a header have more
    together than apart."""
    empty, one, other, paragraphs, parts = tokenizer.count(["", "a", "b", "a\n\nb", "a > b"])
    apart = one + other - empty
    return empty, max(0, paragraphs - apart), max(1, parts - apart)


def render(block: Block) -> str:
    """Return a block as Markdown, empty when there is nothing in it."""
    if block.type == "code":
        return fence(block.text, block.language, block.title) if block.text.strip() or block.title else ""
    if block.type == "table" and block.rows is not None:
        return _table(block.rows, block.header_rows or 0)
    text = escape_fences(block.text.strip())
    if block.type == "note":
        return _note(text, block.title)
    if not text:
        return ""
    if block.type == "heading":
        return f"{'#' * (block.level or 1)} {' '.join(text.split())}"
    if block.type == "list_item":
        indent = "  " * ((block.level or 1) - 1)
        return f"{indent}- " + text.replace("\n", f"\n{indent}  ")
    return text


def escape_fences(text: str) -> str:
    """Return prose in which no line opens a fence."""
    return _FENCE_LINE.sub(r"\1\\\2", text) if "```" in text or "~~~" in text else text


def fence(code: str, language: str | None, title: str | None = None) -> str:
    """Return code in a fence longer than any run of backticks in it, below its title in bold."""
    longest = max((len(run) for run in _BACKTICKS.findall(code)), default=2)
    ticks = "`" * (longest + 1)
    info = _LANGUAGE.match(language or "")
    head = f"**{' '.join(title.split())}**\n\n" if title else ""
    body = code.strip("\n")
    return f"{head}{ticks}{info.group() if info else ''}\n{body}\n{ticks}"


def table_row(cells: Iterable[str]) -> str:
    """Return one Markdown table row; pipes are escaped and line breaks become ``<br>``."""
    inner = " | ".join(cell.strip().replace("|", "\\|").replace("\n", "<br>") for cell in cells)
    return f"| {inner} |"


def _table(rows: tuple[tuple[str, ...], ...], header_rows: int) -> str:
    if not any(cell.strip() for row in rows for cell in row):
        return ""
    width = max(len(row) for row in rows)
    head = rows[:header_rows] or (("",) * width,)
    lines = [table_row(row) for row in head[:1]]
    lines.append("|" + " --- |" * width)
    lines.extend(table_row(row) for row in (*head[1:], *rows[header_rows:]))
    return "\n".join(lines)


def _note(text: str, title: str | None) -> str:
    bold = f"**{' '.join(title.split())}**" if title and title.strip() else ""
    return "> " + f"{bold} {text}".strip().replace("\n", "\n> ") if bold or text else ""


def join(pieces: Sequence[Piece]) -> str:
    """Return pieces as one Markdown text."""
    parts: list[str] = []
    before: Piece | None = None
    for piece in pieces:
        if before is not None:
            parts.append(_joint(before, piece))
        parts.append(piece.text[piece.head[0] :] if before is not None and goes_on(before, piece) else piece.text)
        before = piece
    return "".join(parts)


def goes_on(before: Piece, piece: Piece) -> bool:
    """Whether a part of a split table follows the part before it, so that one header serves both."""
    return piece.head[0] > 0 and before.head[0] > 0 and before.block == piece.block


def _joint(before: Piece, piece: Piece) -> str:
    same_block = before.block == piece.block
    if same_block and piece.kind in ("paragraph", "list_item"):
        return " "
    if goes_on(before, piece):
        return "\n"
    tight = before.kind == piece.kind and (piece.kind == "list_item" or (piece.kind == "note" and same_block))
    return "\n" if tight else "\n\n"


def size_of(pieces: Sequence[Piece], joint: int) -> int:
    """Return the tokens of pieces put together, an upper bound for models that merge across a joint."""
    return sum(piece.tokens for piece in pieces) + joint * max(0, len(pieces) - 1)
