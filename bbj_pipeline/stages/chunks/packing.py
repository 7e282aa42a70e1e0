"""Packs a topic into drafts of chunks of the size that its type aims at; methods and properties each by themselves.

Where chunks of other text end is found in ``partition``. Sizes are sums of pieces, an upper bound; the exact count of a
finished chunk is taken in ``stages.chunking``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from bbj_pipeline.records import DocType, Topic
from bbj_pipeline.stages.chunks.atoms import Atom, Room, atoms_of
from bbj_pipeline.stages.chunks.headers import HeaderMaker
from bbj_pipeline.stages.chunks.partition import OVERLAP_MAX, Draft, Limits, cheapest_drafts
from bbj_pipeline.stages.chunks.pieces import PROSE_KINDS, Counter, Piece, size_of
from bbj_pipeline.stages.chunks.sections import Section
from bbj_pipeline.stages.chunks.splitting import sentences

__all__ = ["TARGETS", "Packer", "limits_for"]

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
"""In an API reference a heading of this level or below may be one method or property."""
_LONGEST_MEMBER = 300
"""Characters of a heading that may name a member, with its parameters."""
_MEMBER_NAME = re.compile(r"(?:[\w<>\[\].:]+ )*([\w$%!]+) ?(\(.*\))|([\w$%!]+)")
_IDENTIFIER = re.compile(r"\w*(?:[a-z\d][A-Z]|_)\w*[$%!]?|[A-Z\d]{2,}[$%!]?|\w+[$%!]")
"""A word that is no English one: it names a member even where no signature stands under it, as for constants."""
_SMALL_SECTION = 4
"""A section of no more than one in so many parts of the size aimed at is not taken apart."""


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
        if not (self._members and self._has_members(root)) and self._fits(pieces, ()):
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
        if self._members and self._is_member(section):
            yield section, chain
            return
        if not (self._members and self._has_members(section)):
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

    def _drafts(self, atoms: Sequence[Atom]) -> list[Draft]:
        return cheapest_drafts(atoms, self._limits, self._counter.joint, self._frame)

    def _has_members(self, section: Section) -> bool:
        return any(self._is_member(child) or self._has_members(child) for child in section.children)

    def _is_member(self, section: Section) -> bool:
        """Whether a section is one method or property: it is named like one and shows its signature, or is named by it."""
        if section.level < _MEMBER_LEVEL or len(section.title) > _LONGEST_MEMBER:
            return False
        found = _MEMBER_NAME.fullmatch(section.title)
        if found is None:
            return False
        codes = (self._topic.blocks[piece.block].text for piece in section.pieces if piece.kind == "code")
        if found[2] is not None or _IDENTIFIER.fullmatch(found[3]):
            return True
        return any(found[3] in code for code in codes)

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


def _last_prose(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Return the prose that a row of pieces ends in."""
    start = len(pieces)
    while start and pieces[start - 1].kind in PROSE_KINDS:
        start -= 1
    return pieces[start:]
