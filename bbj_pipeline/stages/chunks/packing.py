"""Packs the pieces of a section tree into drafts of chunks: whole sections where they fit, even parts where they do not.

Sizes are sums of pieces, an upper bound; the exact count of a finished chunk is taken in ``stages.chunking``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bbj_pipeline.records import DocType, Topic
from bbj_pipeline.stages.chunks.headers import HeaderMaker
from bbj_pipeline.stages.chunks.pieces import PROSE_KINDS, Counter, Piece, size_of
from bbj_pipeline.stages.chunks.sections import Section
from bbj_pipeline.stages.chunks.splitting import sentences, split_piece, split_prose

__all__ = ["OVERLAP_MAX", "OVERLAP_MIN", "Draft", "Limits", "Packer", "limits_for"]

OVERLAP_MIN, OVERLAP_MAX = 0.10, 0.15
"""Share of a prose chunk's tokens that repeat the end of the chunk before (blueprint: 10 to 15 %)."""

_TARGETS: dict[DocType, tuple[int, int]] = {
    "api-reference": (200, 400),
    "language-reference": (300, 500),
    "concept": (400, 600),
    "migration": (400, 600),
    "best-practice": (400, 600),
    "version-note": (400, 600),
    # An example is taken as it is. Where the model's window is wider than this, several functions are still several passages.
    "example": (150, 2048),
}
_PAIR_LIMIT = 900
"""A migration section with at least two code blocks stays whole up to here: legacy and modern pattern in one chunk."""
_CAPTION_TOKENS = 12
"""A paragraph up to this length without a full stop is a caption or a heading in disguise."""
_MEMBER_LEVEL = 3
"""In an API reference a heading of this level is one method or property."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Tokens of a chunk, header and special ones included: ``low`` is where it need not grow any more, ``high`` where prose
    ends, ``hard`` where nothing goes beyond."""

    low: int
    high: int
    hard: int
    pair: int


@dataclass(frozen=True, slots=True)
class Draft:
    """A chunk in the making: its sections from the outermost, its pieces, whether it goes on from the draft before.

    ``member`` marks a section of its own kind that is never merged; ``signature`` is repeated in the header of its later parts.
    """

    chain: tuple[Section, ...]
    pieces: tuple[Piece, ...]
    continues: bool = False
    member: bool = False
    signature: str = ""

    @property
    def path(self) -> tuple[str, ...]:
        """The headings above the draft, outermost first."""
        return tuple(section.title for section in self.chain)


def limits_for(doc_type: DocType, window: int, scale: float) -> Limits:
    """Return the limits of a document type in a model's window; ``scale`` < 1 leaves a margin for inexact sums."""
    low, high = _TARGETS[doc_type]
    hard = int(window * scale)
    high = min(high, hard)
    return Limits(
        low=min(low, high * 3 // 4), high=high, hard=hard, pair=min(_PAIR_LIMIT, hard) if doc_type == "migration" else high
    )


class Packer:
    """Packs one topic."""

    def __init__(self, topic: Topic, doc_type: DocType, limits: Limits, headers: HeaderMaker, counter: Counter) -> None:
        self._topic = topic
        self._members = doc_type == "api-reference"
        self._limits = limits
        self._headers = headers
        self._counter = counter

    def pack(self, root: Section) -> list[Draft]:
        """Return the drafts of the whole topic in reading order."""
        return self._pack(root, ())

    def size(self, draft: Draft) -> int:
        """Return the tokens of a draft with header and special tokens, without overlap."""
        return self._counter.special + self._headers.make(draft.path)[1] + size_of(draft.pieces, self._counter.joint)

    def _room(self, chain: tuple[Section, ...], limit: int) -> int:
        header = self._headers.make(tuple(section.title for section in chain))[1]
        return max(1, limit - self._counter.special - header - self._counter.joint)

    def _pack(self, section: Section, chain: tuple[Section, ...]) -> list[Draft]:
        if self._members and section.level >= _MEMBER_LEVEL:
            return self._pack_member(section, chain)
        pieces = section.flat()
        if not (self._members and _has_members(section)) and self._fits(pieces, chain):
            return [Draft(chain, tuple(pieces))] if pieces else []
        drafts = self._run(section.pieces, chain)
        for child in section.children:
            drafts.extend(self._pack(child, (*chain, child)))
        return self._merge(drafts, len(chain))

    def _fits(self, pieces: Sequence[Piece], chain: tuple[Section, ...]) -> bool:
        is_pair = self._limits.pair > self._limits.high and sum(piece.kind == "code" for piece in pieces) >= 2
        limit = self._limits.pair if is_pair else self._limits.high
        one_code = len(pieces) == 1 and pieces[0].kind == "code"
        return size_of(pieces, self._counter.joint) <= self._room(chain, self._limits.hard if one_code else limit)

    def _pack_member(self, section: Section, chain: tuple[Section, ...]) -> list[Draft]:
        """One method or property, whole or in parts that repeat its signature in their header."""
        drafts = self._run(section.flat(), chain)
        signature = self._signature(section)
        return [replace(draft, member=True, signature=signature if draft.continues else "") for draft in drafts]

    def _signature(self, section: Section) -> str:
        """Return the first signature line of a member's own code."""
        for piece in section.pieces:
            if piece.kind == "code":
                lines = self._topic.blocks[piece.block].text.strip().split("\n")
                return " ".join(lines[0].split())
        return ""

    def _run(self, pieces: Sequence[Piece], chain: tuple[Section, ...]) -> list[Draft]:
        """Pack the pieces of one section: alone if they fit, else in parts of about the same size."""
        if not pieces:
            return []
        if self._fits(pieces, chain):
            return [Draft(chain, tuple(pieces))]
        # Parts of code add their enclosing declarations to the header, and later parts of a member its signature.
        margin = max(0, self._headers.limit - self._headers.make(tuple(section.title for section in chain))[1])
        hard = max(1, self._room(chain, self._limits.hard) - margin)
        room = max(1, min(hard, self._room(chain, self._limits.high)))
        groups = self._groups(self._refine(pieces, room, hard), room)
        return [Draft(chain, tuple(group), continues=number > 0) for number, group in enumerate(groups)]

    def _refine(self, pieces: Sequence[Piece], room: int, hard: int) -> list[Piece]:
        """Split what does not fit, and longer prose by sentences, so that the parts come out even."""
        fine: list[Piece] = []
        large = [piece for piece in pieces if piece.kind in PROSE_KINDS and piece.tokens > room // 3]
        self._counter.count([sentence for piece in large for sentence in sentences(piece.text)])  # one batch, then known
        for piece in pieces:
            if piece.kind in PROSE_KINDS and piece.tokens > room // 3:
                fine.extend(split_prose(piece, self._without_overlap(room), self._counter))
            elif piece.kind == "heading":
                fine.append(piece)
            else:
                limit = hard if piece.kind == "code" else self._without_overlap(room)
                fine.extend(split_piece(piece, self._topic.blocks[piece.block], limit, self._counter))
        return fine

    @staticmethod
    def _without_overlap(room: int) -> int:
        return max(1, int(room * (1 - OVERLAP_MAX)) - 2)

    def _groups(self, pieces: Sequence[Piece], room: int) -> list[list[Piece]]:
        capacity = self._without_overlap(room)
        joint = self._counter.joint
        total = size_of(pieces, joint)
        aim = total / math.ceil(total / capacity)
        groups: list[list[Piece]] = []
        current: list[Piece] = []
        for piece in pieces:
            size = size_of(current, joint)
            limit = room if not groups else capacity
            if current and (size + joint + piece.tokens > limit or size >= aim):
                carried = _carried(current, piece, limit, joint)
                groups.append(current[: len(current) - len(carried)])
                current = carried
            current.append(piece)
        groups.append(current)
        return groups

    def _merge(self, drafts: list[Draft], depth: int) -> list[Draft]:
        """Merge neighbours that are smaller than the target, under their common heading, while they fit together."""
        merged: list[Draft] = []
        for draft in drafts:
            joined = self._joined(merged[-1], draft, depth) if merged else None
            if joined is None:
                merged.append(draft)
            else:
                merged[-1] = joined
        return merged

    def _joined(self, before: Draft, draft: Draft, depth: int) -> Draft | None:
        if before.member or draft.member or min(self.size(before), self.size(draft)) >= self._limits.low:
            return None
        common = depth
        while common < min(len(before.chain), len(draft.chain)) and before.chain[common] is draft.chain[common]:
            common += 1
        first = [*_headings(before, common), *before.pieces]
        second = draft.pieces if draft.chain == before.chain else [*_headings(draft, common), *draft.pieces]
        together = Draft(before.chain[:common], (*first, *second), continues=before.continues)
        limit = self._limits.high * (1 - OVERLAP_MAX) if before.continues else self._limits.high
        return together if self.size(together) <= limit else None


def _headings(draft: Draft, common: int) -> list[Piece]:
    return [section.heading for section in draft.chain[common:] if section.heading is not None]


def _has_members(section: Section) -> bool:
    return any(child.level >= _MEMBER_LEVEL or _has_members(child) for child in section.children)


def _carried(current: Sequence[Piece], following: Piece, limit: int, joint: int) -> list[Piece]:
    """Return what must go with the following piece: headings, and a line that introduces it."""
    count = 0
    while count < len(current) - 1:
        piece = current[len(current) - 1 - count]
        if piece.kind != "heading" and not (count == 0 and _introduces(piece, following)):
            break
        count += 1
    carried = list(current[len(current) - count :]) if count else []
    return carried if size_of([*carried, following], joint) <= limit else []


def _introduces(piece: Piece, following: Piece) -> bool:
    """Whether a paragraph announces what follows: it ends in a colon, or is a few words without a full stop."""
    if piece.kind != "paragraph" or piece.block == following.block:
        return False
    announces = piece.text.endswith(":") and following.kind in ("code", "table", "list_item")
    return announces or (piece.tokens <= _CAPTION_TOKENS and piece.text[-1] not in ".!?;,")
