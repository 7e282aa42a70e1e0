"""Splits a piece that is larger than its room: prose by sentences, tables by rows, code by functions, the rest by words.

Every split keeps all text. Nothing is packed here; the parts come back in order, each within the room.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from bbj_pipeline.records import Block
from bbj_pipeline.stages.chunks.code import split_code
from bbj_pipeline.stages.chunks.pieces import Counter, Piece, escape_fences, fence, table_row

__all__ = ["sentences", "split_piece", "split_prose"]

# A sentence ends at . ! ? (and closing quotes) before white space and a capital, digit or quote; at a CJK full stop; at a line
# end. A version number ("BBj 7.00 and higher") has no white space after its dot; common abbreviations are exempt.
_SENTENCE_END = re.compile(
    r"""(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\betc\.)(?<!\bvs\.)(?<!\bcf\.)(?<!\bNo\.)(?<!\bFig\.)"""
    r"""(?:(?<=[.!?])|(?<=[.!?]["')\]]))[ \t]+(?=["'(\[A-Z0-9`*_<À-ɏ])|(?<=[。！？])|\n+"""
)
_TABLE_GRAIN = 8
"""Parts in a full room that a split table comes in."""
_WORD = re.compile(r"\S+\s*|\s+")


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, stripped, none empty."""
    return [part.strip() for part in _SENTENCE_END.split(text) if part and part.strip()]


def split_piece(piece: Piece, block: Block, room: int, counter: Counter) -> list[Piece]:
    """Return the piece as parts of at most ``room`` tokens; one that fits comes back alone."""
    if piece.tokens <= room:
        return [piece]
    if piece.kind == "code":
        return _split_code(piece, block, room, counter)
    if piece.kind == "table" and block.rows is not None:
        return _split_table(piece, block, room, counter)
    return split_prose(piece, room, counter)


def split_prose(piece: Piece, room: int, counter: Counter) -> list[Piece]:
    """Return prose as one piece a sentence; a sentence over the room is split between words, a word between characters."""
    quoted = piece.kind == "note"
    text = piece.text.replace("\n> ", "\n").removeprefix("> ") if quoted else piece.text
    prefix = "> " if quoted else ""
    margin = counter.count([prefix])[0] if quoted else 0
    parts = _fitting(sentences(text), max(1, room - margin), counter)
    return [replace(piece, text=prefix + escape_fences(part), tokens=tokens + margin) for part, tokens in parts]


def _fitting(texts: Sequence[str], room: int, counter: Counter) -> list[tuple[str, int]]:
    """Return texts with their tokens, those over the room split between words."""
    parts: list[tuple[str, int]] = []
    for text, tokens in zip(texts, counter.count(texts), strict=True):
        if tokens <= room:
            parts.append((text, tokens))
        else:
            parts.extend((part.strip(), size) for part, size in split_words(text, room, counter))
    return parts


def split_words(text: str, room: int, counter: Counter) -> list[tuple[str, int]]:
    """Return a text cut between words into parts within the room, white space kept; a word over the room is cut hard."""
    words = _WORD.findall(text)
    atoms: list[tuple[str, int]] = []
    for word, tokens in zip(words, counter.count(words), strict=True):
        atoms.extend([(word, tokens)] if tokens <= room else _cut_hard(word, room, counter))
    parts: list[tuple[str, int]] = []
    current, size = "", 0
    for word, tokens in atoms:
        if current and size + tokens > room:
            parts.append((current, size))
            current, size = "", 0
        current += word
        size += tokens
    return [*parts, (current, size)] if current.strip() else parts


def _cut_hard(word: str, room: int, counter: Counter) -> list[tuple[str, int]]:
    """Halve a word until every part fits; a single character always counts as fitting."""
    parts = [word]
    while True:
        counts = counter.count(parts)
        if all(tokens <= room or len(part) == 1 for part, tokens in zip(parts, counts, strict=True)):
            return list(zip(parts, counts, strict=True))
        halved: list[str] = []
        for part, tokens in zip(parts, counts, strict=True):
            middle = len(part) // 2
            halved.extend((part[:middle], part[middle:]) if tokens > room and middle else (part,))
        parts = halved


def _split_code(piece: Piece, block: Block, room: int, counter: Counter) -> list[Piece]:
    empty = fence("", block.language, block.title)
    frame = counter.count([empty])[0] + 2 * counter.joint + 2
    parts = split_code(block.text, block.language, max(1, room - frame), counter, split_words)
    pieces = []
    for number, part in enumerate(parts):
        text = fence(part.code, block.language, block.title if number == 0 else None)
        pieces.append(replace(piece, text=text, tokens=part.tokens + frame, scope=part.scope))
    return pieces


def _split_table(piece: Piece, block: Block, room: int, counter: Counter) -> list[Piece]:
    """Split a table between rows into parts with its header rows, small enough to be packed together evenly.

    A row over the room becomes prose, cell by cell.
    """
    rows = block.rows or ()
    headers = block.header_rows or 0
    width = max(len(row) for row in rows)
    rule = "|" + " --- |" * width
    first = table_row(rows[0]) if headers else table_row([""] * width)
    head = [first, rule, *(table_row(row) for row in rows[1:headers])]
    body = [table_row(row) for row in rows[headers:]]
    counts = counter.count(["\n".join(head), *body])
    head_tokens = counts[0]
    if head_tokens > room // 2:  # repeated, such a header would leave no room for rows
        head, head_tokens = [table_row([""] * width), rule], counter.count([table_row([""] * width) + "\n" + rule])[0]
        return _split_table_rows(piece, [table_row(row) for row in rows], rows, head, head_tokens, room, counter)
    return _split_table_rows(piece, body, rows[headers:], head, head_tokens, room, counter)


def _split_table_rows(
    piece: Piece,
    lines: Sequence[str],
    rows: Sequence[Sequence[str]],
    head: list[str],
    head_tokens: int,
    room: int,
    counter: Counter,
) -> list[Piece]:
    pieces: list[Piece] = []
    current: list[str] = []
    size = head_tokens
    counts = [tokens + counter.joint for tokens in counter.count(lines)]
    total = sum(tokens for tokens in counts if head_tokens + tokens <= room)
    aim = head_tokens + total / max(1, math.ceil(total * _TABLE_GRAIN / room))
    heading = "\n".join(head)
    headed = any(line.strip(" |") for line in (head[0], *head[2:]))

    def close() -> None:
        nonlocal current, size
        if current:
            rows_of = "\n".join([heading, *current])
            pieces.append(replace(piece, text=rows_of, tokens=size, head=(len(heading) + 1, head_tokens)))
        current, size = [], head_tokens

    for line, cells, tokens in zip(lines, rows, counts, strict=True):
        if head_tokens + tokens > room:
            close()
            if not pieces and headed:  # the names of the columns before the first values
                pieces.append(replace(piece, text=heading, tokens=head_tokens))
            prose = replace(piece, kind="paragraph", text="\n".join(cell.strip() for cell in cells if cell.strip()))
            pieces.extend(split_prose(prose, room, counter))
            continue
        if size + tokens > room or size >= aim:
            close()
        current.append(line)
        size += tokens
    close()
    if not pieces:  # a table of headers alone
        pieces.extend(
            split_prose(replace(piece, kind="paragraph", text="\n".join(" ".join(row) for row in rows)), room, counter)
        )
    return pieces
