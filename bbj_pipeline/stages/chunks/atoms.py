"""What must stay together: the pieces of a section as atoms, between which a chunk may end.

Pieces over the room are split here, headings and lines of introduction are tied to what follows them, and crumbs are put
together. Which atoms share a chunk is decided in ``packing``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bbj_pipeline.records import Topic
from bbj_pipeline.stages.chunks.pieces import PROSE_KINDS, Counter, Piece, size_of
from bbj_pipeline.stages.chunks.sections import Section
from bbj_pipeline.stages.chunks.splitting import sentences, split_piece, split_prose

__all__ = ["Atom", "Room", "atoms_of"]

_CAPTION_TOKENS = 12
"""A paragraph up to this length without a full stop is a caption or a heading in disguise."""
_CRUMB = 1 / 12
"""Share of the room below which prose is put together with its neighbours of the same section."""


@dataclass(frozen=True, slots=True)
class Room:
    """Tokens that pieces may have in a chunk: ``prose`` where it is to end, ``code`` where the window does."""

    prose: int
    code: int


@dataclass(frozen=True, slots=True)
class Atom:
    """Pieces that stay together with their tokens; ``chain`` are the sections around them, ``opens`` says that the innermost
    one begins here."""

    chain: tuple[Section, ...]
    pieces: tuple[Piece, ...]
    tokens: int
    opens: bool


def atoms_of(pieces: Sequence[Piece], chain: tuple[Section, ...], room: Room, topic: Topic, counter: Counter) -> list[Atom]:
    """Return the pieces of one section, split and tied; none of the atoms is larger than the room."""
    fine = _refined(pieces, room, topic, counter)
    joint = counter.joint
    crumb = int(room.prose * _CRUMB)
    groups: list[list[Piece]] = []
    size = 0
    for piece in fine:
        together = size + joint + piece.tokens
        if groups and (
            (together <= room.prose and (groups[-1][-1].kind == "heading" or _introduces(groups[-1][-1], piece)))
            or (together <= crumb and piece.kind in PROSE_KINDS and groups[-1][-1].kind in PROSE_KINDS)
        ):
            groups[-1].append(piece)
            size = together
        else:
            groups.append([piece])
            size = piece.tokens
    return [Atom(chain, tuple(group), size_of(group, joint), number == 0) for number, group in enumerate(groups)]


def _refined(pieces: Sequence[Piece], room: Room, topic: Topic, counter: Counter) -> list[Piece]:
    """Split what does not fit, and longer prose by sentences, so that the parts come out even."""
    large = [piece for piece in pieces if piece.kind in PROSE_KINDS and piece.tokens > room.prose // 3]
    counter.count([sentence for piece in large for sentence in sentences(piece.text)])  # one batch, then known
    fine: list[Piece] = []
    for piece in pieces:
        if piece.kind in PROSE_KINDS and piece.tokens > room.prose // 3:
            fine.extend(split_prose(piece, room.prose, counter))
        elif piece.kind == "heading":
            fine.append(piece)
        else:
            limit = room.code if piece.kind == "code" else room.prose
            fine.extend(split_piece(piece, topic.blocks[piece.block], limit, counter))
    return fine


def _introduces(piece: Piece, following: Piece) -> bool:
    """Whether a paragraph announces what follows: it ends in a colon, or is a few words without a full stop."""
    if piece.kind != "paragraph" or piece.block == following.block:
        return False
    announces = piece.text.endswith(":") and following.kind in ("code", "table", "list_item")
    return announces or (piece.tokens <= _CAPTION_TOKENS and piece.text[-1] not in ".!?;,")
