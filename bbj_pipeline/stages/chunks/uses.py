"""The ``use`` lines of a program, repeated above the code of a passage that needs one and does not have it.

A program is many blocks, so the lines that say what a name means stand far from most of its methods. What a single block of
code repeats of itself when it is split is decided in ``code``; whether a passage has room for them, in ``stages.chunking``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from bbj_pipeline.records import Topic
from bbj_pipeline.stages.chunks.pieces import Piece, fence

__all__ = ["Uses"]

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_MOST = 8
"""Lines repeated in one passage at most."""


class Uses:
    """The ``use`` lines of a topic by the name that each makes known."""

    def __init__(self, topic: Topic) -> None:
        uses = topic.metadata.get("uses")
        self._language = next((block.language for block in topic.blocks if block.type == "code"), None)
        self._lines: dict[str, str] = {}
        for target in uses if isinstance(uses, list) else ():
            if names := _IDENTIFIER.findall(str(target)):
                self._lines.setdefault(names[-1], f"use {target}")

    def needed(self, pieces: Sequence[Piece]) -> tuple[Piece, ...]:
        """Return ``pieces`` with the lines that their code needs before the first code; as they are when it needs none."""
        codes = [piece for piece in pieces if piece.kind == "code"]
        if not self._lines or not codes:
            return tuple(pieces)
        text = "\n".join(piece.text for piece in codes)
        used = set(_IDENTIFIER.findall(text))
        shown = {" ".join(line.split()).casefold() for line in text.split("\n")}
        lines = [line for name, line in self._lines.items() if name in used and line.casefold() not in shown][:_MOST]
        if not lines:
            return tuple(pieces)
        first = pieces.index(codes[0])
        made = replace(codes[0], text=fence("\n".join(lines), self._language), tokens=0)
        return (*pieces[:first], made, *pieces[first:])
