"""Where the chunks of a row of atoms end: the cheapest way through it, found by dynamic programming.

A chunk may end after any atom; ending inside a section costs more than ending before one, and a chunk of several sections
costs what their headings would have said in its header. What the atoms are is decided in ``atoms`` and ``packing``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bbj_pipeline.stages.chunks.atoms import Atom
from bbj_pipeline.stages.chunks.pieces import PROSE_KINDS, Piece, goes_on
from bbj_pipeline.stages.chunks.sections import Section

__all__ = ["OVERLAP_MAX", "OVERLAP_MIN", "Draft", "Limits", "cheapest_drafts"]

OVERLAP_MIN, OVERLAP_MAX = 0.10, 0.15
"""Share of a prose chunk's tokens that repeat the end of the chunk before (blueprint: 10 to 15 %)."""


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


def cheapest_drafts(
    atoms: Sequence[Atom], limits: Limits, joint: int, frame_of: Callable[[tuple[Section, ...]], int]
) -> list[Draft]:
    """Return neighbouring atoms as drafts, at the least cost over all of them.

    ``joint`` are the tokens between two pieces, ``frame_of`` gives those of a chunk below some headings that are not content.
    """
    count = len(atoms)
    shared = [0, *(_common(before.chain, atom.chain) for before, atom in pairwise(atoms))]
    spared = [0, *(_spared(before, atom) for before, atom in pairwise(atoms))]
    headings = [_heading_sizes(atom.chain, joint) for atom in atoms]
    best = [0.0, *(math.inf for _ in atoms)]
    come_from = [0] * (count + 1)
    for start, atom in enumerate(atoms):
        common, body = len(atom.chain), 0
        base = best[start] + (_break_cost(atom) if start else 0.0)
        continues = start > 0 and not atom.opens and atom.pieces[0].kind in PROSE_KINDS
        limit = limits.high * (1 - OVERLAP_MAX) - 2 if continues else limits.high
        frame = frame_of(atom.chain)
        for end in range(start, count):
            if end > start:
                body += joint + headings[end][-1] - headings[end][shared[end]] - spared[end]
                if shared[end] < common:
                    common = shared[end]
                    frame = frame_of(atom.chain[:common])
            body += atoms[end].tokens
            size = frame + headings[start][-1] - headings[start][common] + body
            if size > limit and end > start:
                break
            cost = base + _size_cost(size, limits) + _LOST_HEADING * (len(atom.chain) - common)
            if cost < best[end + 1]:
                best[end + 1], come_from[end + 1] = cost, start
    edges = [count]
    while edges[-1]:
        edges.append(come_from[edges[-1]])
    edges.reverse()
    return [_draft(atoms[a:b]) for a, b in pairwise(edges)]


def _size_cost(size: int, limits: Limits) -> float:
    """Return what a chunk of this size costs: little inside the target, so that neighbours come out even."""
    uneven = 1 - size / limits.high
    if size > limits.low:
        return _UNEVEN * uneven * uneven
    short = 1 - size / limits.low
    return _BELOW_TARGET + short * short + _UNEVEN * uneven * uneven


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
