"""What both legs of a search share: which chunks are admitted, and what a leg found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bbj_pipeline.records import DocType, Generation

__all__ = ["Filter", "Ranked", "ids"]


@dataclass(frozen=True, slots=True)
class Filter:
    """Which chunks may be found; ``None`` means all. ``hinted`` generations filter nothing: they get places of their own.

    ``sources`` are ``kind/instance``; ``version`` is a version number (1910 for 19.10) and admits what came by then or names
    no version; ``current`` leaves out what is deprecated.
    """

    kinds: tuple[str, ...] | None = None
    sources: tuple[str, ...] | None = None
    generations: tuple[Generation, ...] | None = None
    doc_types: tuple[DocType, ...] | None = None
    version: int | None = None
    current: bool = False
    hinted: tuple[Generation, ...] | None = None

    @property
    def is_open(self) -> bool:
        """Whether all chunks are admitted."""
        lists = (self.kinds, self.sources, self.generations, self.doc_types, self.version)
        return not self.current and all(value is None for value in lists)

    @property
    def values(self) -> dict[str, Any]:
        """Named parameters of ``select_admitted.sql``."""
        lists = {
            "kinds": self.kinds,
            "instances": self.sources,
            "generations": self.generations,
            "doc_types": self.doc_types,
            "hinted": self.hinted,
        }
        arrays = {name: None if value is None else list(value) for name, value in lists.items()}
        return {**arrays, "version": self.version, "current": self.current}


@dataclass(frozen=True, slots=True)
class Ranked:
    """What a leg found: ``(id, score)`` best first; ``path`` tells how, ``details`` what else there is to explain.

    ``generations`` are those of each id. ``places`` gives each id's rank (from 1) and score.
    """

    items: tuple[tuple[str, float], ...]
    generations: Mapping[str, Sequence[Generation]]
    path: str
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def places(self) -> dict[str, tuple[int, float]]:
        """Rank (from 1) and score by id."""
        return {identity: (rank, score) for rank, (identity, score) in enumerate(self.items, start=1)}


def ids(items: Sequence[tuple[str, float]]) -> list[str]:
    """Return the ids in order."""
    return [identity for identity, _ in items]
