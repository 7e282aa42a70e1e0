"""Packs the atoms of a topic into drafts of chunks, so that as few as possible are far below the size their type aims at.

A chunk may end after any atom; ending inside a section costs more than ending before one, and a chunk of several sections
costs what their headings would have said in its header. The cheapest way through the topic is found by dynamic programming.
Sizes are sums of pieces, an upper bound; the exact count of a finished chunk is taken in ``stages.chunking``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from bbj_pipeline.records import DocType, Topic
from bbj_pipeline.stages.chunks.atoms import Atom, Room, atoms_of
from bbj_pipeline.stages.chunks.headers import HeaderMaker
from bbj_pipeline.stages.chunks.pieces import PROSE_KINDS, Counter, Piece, goes_on, size_of
from bbj_pipeline.stages.chunks.sections import Section
from bbj_pipeline.stages.chunks.splitting import sentences

__all__ = ["OVERLAP_MAX", "OVERLAP_MIN", "TARGETS", "Draft", "Limits", "Packer", "limits_for"]

OVERLAP_MIN, OVERLAP_MAX = 0.10, 0.15
"""Share of a prose chunk's tokens that repeat the end of the chunk before (blueprint: 10 to 15 %)."""

TARGETS: dict[DocType, tuple[int, int]] = {
    "api-reference": (200, 400),
    "language-reference": (300, 500),
    "concept": (400, 600),
    "migration": (400, 600),
    "best-practice": (400, 600),
    "version-note": (400, 600),
    # An example is taken as it is. Where the model's window is wider than this, several functions are still several passages.
    "example": (150, 2048),
}
"""Tokens of a chunk by document type, header included (blueprint)."""
_PAIR_LIMIT = 900
"""A migration section with at least two code blocks stays whole up to here: legacy and modern pattern in one chunk."""
_MEMBER_LEVEL = 3
"""In an API reference a heading of this level is one method or property."""
_SMALL_SECTION = 4
"""A section of no more than one in so many parts of the size aimed at is not taken apart."""

# Costs are relative: a nearly empty chunk costs 1.35, one just below the target 0.3, one in the middle of it next to nothing.
_BELOW_TARGET = 0.3
_UNEVEN = 0.05
_INSIDE_SECTION = 0.12
_BEFORE_SECTION = 0.02
_LOST_HEADING = 0.03


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
    """A chunk in the making: its sections from the outermost, and its pieces.

    ``member`` marks a section of its own kind that is never merged; ``lead`` is what a later part of it has in its header:
    the member's signature, or the description that overloads share.
    """

    chain: tuple[Section, ...]
    pieces: tuple[Piece, ...]
    member: bool = False
    lead: str = ""

    @property
    def path(self) -> tuple[str, ...]:
        """The headings above the draft, outermost first."""
        return tuple(section.title for section in self.chain)


def limits_for(doc_type: DocType, window: int, scale: float) -> Limits:
    """Return the limits of a document type in a model's window; ``scale`` < 1 leaves a margin for inexact sums."""
    low, high = TARGETS[doc_type]
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
        self._frames: dict[int, int] = {}

    def pack(self, root: Section) -> list[Draft]:
        """Return the drafts of the whole topic in reading order."""
        pieces = root.flat()
        if not (self._members and _has_members(root)) and self._fits(pieces, ()):
            return [Draft((), tuple(pieces))] if pieces else []
        drafts: list[Draft] = []
        waiting: list[Atom] = []
        for section, chain in self._parts(root, ()):
            if isinstance(section, Section):
                drafts.extend(self._drafts(waiting))
                waiting = []
                drafts.extend(self._pack_member(section, chain))
            else:
                waiting.extend(section)
        return [*drafts, *self._drafts(waiting)]

    # -- what is packed ------------------------------------------------------------------------------------------------

    def _parts(
        self, section: Section, chain: tuple[Section, ...]
    ) -> Iterator[tuple[Section | list[Atom], tuple[Section, ...]]]:
        """Yield the atoms of a section and those below it in reading order, members as the sections they are."""
        if self._members and section.level >= _MEMBER_LEVEL:
            yield section, chain
            return
        if not (self._members and _has_members(section)):
            pieces = section.flat()
            if pieces and self._stays_whole(pieces, chain):
                yield [Atom(chain, tuple(pieces), size_of(pieces, self._counter.joint), opens=True)], chain
                return
        yield atoms_of(section.pieces, chain, self._room(chain), self._topic, self._counter), chain
        for child in section.children:
            yield from self._parts(child, (*chain, child))

    def _stays_whole(self, pieces: Sequence[Piece], chain: tuple[Section, ...]) -> bool:
        is_pair = self._limits.pair > self._limits.high and sum(piece.kind == "code" for piece in pieces) >= 2
        return self._fits(pieces, chain, self._limits.pair if is_pair else self._limits.high // _SMALL_SECTION)

    def _fits(self, pieces: Sequence[Piece], chain: tuple[Section, ...], limit: int | None = None) -> bool:
        one_code = len(pieces) == 1 and pieces[0].kind == "code"
        most = self._limits.hard if one_code else limit or self._limits.high
        return self._frame(chain) + size_of(pieces, self._counter.joint) <= most

    def _frame(self, chain: tuple[Section, ...]) -> int:
        """Return the tokens of a chunk that are not its content."""
        place = chain[-1].index if chain else 0
        known = self._frames.get(place)
        if known is None:
            header = self._headers.make(tuple(section.title for section in chain))[1]
            known = self._frames[place] = self._counter.special + header + self._counter.joint
        return known

    def _room(self, chain: tuple[Section, ...]) -> Room:
        # Parts of code add their enclosing declarations to the header, later parts of a member its lead.
        frame = self._frame(chain)
        margin = max(0, self._headers.limit + self._counter.special + self._counter.joint - frame)
        code = max(1, self._limits.hard - frame - margin)
        return Room(prose=max(1, int(min(code, self._limits.high - frame) * (1 - OVERLAP_MAX)) - 2), code=code)

    # -- members -------------------------------------------------------------------------------------------------------

    def _pack_member(self, section: Section, chain: tuple[Section, ...]) -> list[Draft]:
        """One method or property, whole or in parts that say in their header what it is."""
        pieces = section.flat()
        if not pieces:
            return []
        if self._fits(pieces, chain):
            return [Draft(chain, tuple(pieces), member=True)]
        drafts: list[Draft] = []
        before: list[Piece] = []
        for piece in pieces:
            if piece.kind == "code" and self._is_overloads(piece):
                shared = _last_prose(before)
                drafts.extend(self._plain(before[: len(before) - len(shared)], chain))
                drafts.extend(self._overloads(shared, piece, chain))
                before = []
            else:
                before.append(piece)
        drafts.extend(self._plain(before, chain))
        signature = self._signature(section)
        return [
            replace(draft, member=True, lead=draft.lead or (signature if number and draft.pieces[0].kind != "code" else ""))
            for number, draft in enumerate(drafts)
        ]

    def _plain(self, pieces: Sequence[Piece], chain: tuple[Section, ...]) -> list[Draft]:
        return self._drafts(atoms_of(pieces, chain, self._room(chain), self._topic, self._counter))

    def _overloads(self, shared: Sequence[Piece], piece: Piece, chain: tuple[Section, ...]) -> list[Draft]:
        """Return the signatures of a method in parts; the first begins with the description they share, the others have its
        first sentence in their header."""
        room = self._room(chain)
        joint = self._counter.joint
        description = size_of(shared, joint) + joint if shared else 0
        most = max(1, min(room.code, self._limits.high - self._frame(chain) - (self._headers.limit if shared else 0)))
        own = description > most // 3  # too long to lead signatures: chunks of its own
        drafts = self._plain(shared, chain) if own else []
        parts = atoms_of([piece], chain, Room(room.prose, most if own else most - description), self._topic, self._counter)
        lead = sentences(shared[0].text)[0] if shared else ""
        for number, atom in enumerate(parts):
            first = number == 0 and not own
            drafts.append(Draft(chain, (*shared, *atom.pieces) if first else atom.pieces, lead="" if first else lead))
        return drafts

    def _is_overloads(self, piece: Piece) -> bool:
        return "\n" in self._topic.blocks[piece.block].text.strip()

    def _signature(self, section: Section) -> str:
        """Return the first signature line of a member's own code."""
        for piece in section.pieces:
            if piece.kind == "code":
                lines = self._topic.blocks[piece.block].text.strip().split("\n")
                return " ".join(lines[0].split())
        return ""

    # -- the cheapest way ----------------------------------------------------------------------------------------------

    def _drafts(self, atoms: Sequence[Atom]) -> list[Draft]:
        """Return neighbouring atoms as drafts, at the least cost over all of them."""
        count = len(atoms)
        joint = self._counter.joint
        shared = [0, *(_common(before.chain, atom.chain) for before, atom in pairwise(atoms))]
        spared = [0, *(_spared(before, atom) for before, atom in pairwise(atoms))]
        headings = [_heading_sizes(atom.chain, joint) for atom in atoms]
        best = [0.0, *(math.inf for _ in atoms)]
        come_from = [0] * (count + 1)
        for start, atom in enumerate(atoms):
            common, body = len(atom.chain), 0
            base = best[start] + (self._break_cost(atom) if start else 0.0)
            goes_on = start > 0 and not atom.opens and atom.pieces[0].kind in PROSE_KINDS
            limit = self._limits.high * (1 - OVERLAP_MAX) - 2 if goes_on else self._limits.high
            frame = self._frame(atom.chain)
            for end in range(start, count):
                if end > start:
                    body += joint + headings[end][-1] - headings[end][shared[end]] - spared[end]
                    if shared[end] < common:
                        common = shared[end]
                        frame = self._frame(atom.chain[:common])
                body += atoms[end].tokens
                size = frame + headings[start][-1] - headings[start][common] + body
                if size > limit and end > start:
                    break
                cost = base + self._size_cost(size) + _LOST_HEADING * (len(atom.chain) - common)
                if cost < best[end + 1]:
                    best[end + 1], come_from[end + 1] = cost, start
        edges = [count]
        while edges[-1]:
            edges.append(come_from[edges[-1]])
        edges.reverse()
        return [_draft(atoms[a:b]) for a, b in pairwise(edges)]

    def _size_cost(self, size: int) -> float:
        """Return what a chunk of this size costs: little inside the target, so that neighbours come out even."""
        uneven = 1 - size / self._limits.high
        if size > self._limits.low:
            return _UNEVEN * uneven * uneven
        short = 1 - size / self._limits.low
        return _BELOW_TARGET + short * short + _UNEVEN * uneven * uneven

    @staticmethod
    def _break_cost(atom: Atom) -> float:
        return _BEFORE_SECTION * len(atom.chain) if atom.opens else _INSIDE_SECTION


def _draft(atoms: Sequence[Atom]) -> Draft:
    """Return atoms as one draft below their common heading; headings below that stand in it."""
    common = min(_common(atoms[0].chain, atom.chain) for atom in atoms)
    pieces: list[Piece] = []
    before = atoms[0].chain[:common]
    for atom in atoms:
        below = atom.chain[_common(before, atom.chain) :]
        pieces.extend(section.heading for section in below if section.heading is not None)
        pieces.extend(atom.pieces)
        before = atom.chain
    return Draft(atoms[0].chain[:common], tuple(pieces))


def _spared(before: Atom, atom: Atom) -> int:
    """Return the tokens of table headers that an atom does not repeat after the one before."""
    return atom.pieces[0].head[1] if goes_on(before.pieces[-1], atom.pieces[0]) else 0


def _common(one: tuple[Section, ...], other: tuple[Section, ...]) -> int:
    """Return how many sections two chains have in common, from the outermost."""
    length = 0
    for mine, its in zip(one, other, strict=False):
        if mine is not its:
            break
        length += 1
    return length


def _heading_sizes(chain: tuple[Section, ...], joint: int) -> list[int]:
    """Return the tokens of the first 0, 1, … headings of a chain."""
    sizes = [0]
    for section in chain:
        sizes.append(sizes[-1] + (section.heading.tokens + joint if section.heading is not None else 0))
    return sizes


def _last_prose(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Return the prose that a row of pieces ends in."""
    start = len(pieces)
    while start and pieces[start - 1].kind in PROSE_KINDS:
        start -= 1
    return pieces[start:]


def _has_members(section: Section) -> bool:
    return any(child.level >= _MEMBER_LEVEL or _has_members(child) for child in section.children)
