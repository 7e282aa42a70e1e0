"""The lexical index as the database holds it: what a chunk contributes, and what a question reads.

Postings, document frequencies and lengths are kept by triggers (``sql/migrations/0003_lexical.sql``) from two columns of each
chunk, ``terms`` and ``tfs``; nothing here writes them. How scores are made is decided in ``retrieval``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from psycopg import sql

from bbj_pipeline.records import Generation
from bbj_pipeline.stages.terms import terms
from bbj_pipeline.storage.database import Connection
from bbj_pipeline.storage.queries import query
from bbj_pipeline.storage.spaces import Space

__all__ = [
    "Admitted",
    "Postings",
    "Term",
    "admitted",
    "find_terms",
    "near_terms",
    "numbered",
    "read_postings",
    "served_sources",
    "settle",
    "term_counts",
]

SETTLE_SHARE = 0.05
"""Share of a space's chunks that must have been written before its tables are vacuumed and analysed at once."""


@dataclass(frozen=True, slots=True)
class Term:
    """A term of the index; ``df`` chunks have it."""

    id: int
    text: str
    df: int


@dataclass(frozen=True, slots=True)
class Postings:
    """Where one term stands: parallel arrays, one element a chunk.

    ``chunks`` are chunk numbers, ``tfs`` how often the term stands there, ``hinted`` whether the chunk fits the hint, and
    ``lengths`` the terms of the chunk.
    """

    chunks: NDArray[np.int64]
    tfs: NDArray[np.int64]
    hinted: NDArray[np.bool_]
    lengths: NDArray[np.int64]

    @classmethod
    def unpacked(cls, packed: bytes) -> Self:
        """Take apart what ``select_postings.sql`` packs."""
        numbers = np.frombuffer(packed, dtype=">i8").astype(np.int64)
        return cls(numbers >> 32, numbers >> 16 & 0xFFFF, (numbers >> 15 & 1).astype(bool), numbers & 0x7FFF)


@dataclass(frozen=True, slots=True)
class Admitted:
    """What a filter lets through, exactly, and the statistics of all served chunks, which no filter changes.

    ``facets`` are the facets of the ``matching`` chunks and ``hinted`` those of the ``hinted_matching`` among them that fit the
    generation hint; ``None`` means no filter and no hint. ``chunks`` and ``average_length`` (in terms) are of the whole space.
    """

    facets: tuple[int, ...] | None
    matching: int
    hinted: tuple[int, ...] | None
    hinted_matching: int
    chunks: int
    average_length: float


def term_counts(text: str) -> tuple[list[str], list[int]]:
    """Return the distinct terms of a text and how often each stands there, parallel."""
    counts = Counter(terms(text))
    return list(counts), list(counts.values())


def settle(connection: Connection, space: Space, written: int) -> None:
    """After ``written`` rows, when they are a large part of all: renew statistics, and mark pages as visible to all.

    Scoring then reads the index of the postings alone. Both read whole tables, so the server's own vacuum has to do for small
    publications, whose cost must not grow with the table. Outside a transaction, as ``vacuum`` demands.
    """
    row = connection.execute(query("count_chunks"), {"space_id": space.id}).fetchone()
    if row is not None and written > SETTLE_SHARE * int(row[0]):
        # Of the columns that statements are planned by: texts, terms and vectors take ten times as long to sample.
        planned_by = sql.SQL("id, kind, instance, doc_key, ordinal, generation, facet, number")
        connection.execute(sql.SQL("analyze {} ({}), documents").format(space.chunks, planned_by))
        connection.execute(sql.SQL("vacuum (analyze) {}, {}, facets").format(space.terms, space.postings))


def admitted(connection: Connection, space: Space, conditions: Mapping[str, Any], *, filtered: bool) -> Admitted:
    """Return what ``conditions``, the parameters of ``select_admitted.sql``, admit; ``filtered``: whether they filter."""
    row = connection.execute(query("select_admitted"), {"space_id": space.id, **conditions}).fetchone()
    assert row is not None
    chunks, length, facets, matching, hinted, hinted_matching = row
    return Admitted(
        facets=tuple(facets) if filtered else None,
        matching=matching,
        hinted=None if conditions["hinted"] is None else tuple(hinted),
        hinted_matching=hinted_matching,
        chunks=chunks,
        average_length=float(length) / chunks if chunks else 0.0,
    )


def served_sources(connection: Connection, space: Space) -> list[str]:
    """Return the instances that have served chunks, as ``kind/instance``, in order."""
    return [row[0] for row in connection.execute(query("select_served_sources"), {"space_id": space.id})]


def find_terms(connection: Connection, space: Space, words: Sequence[str]) -> list[Term]:
    """Return those of the words that some served chunk has, the rarest first."""
    rows = connection.execute(query("select_terms", terms=space.terms), {"words": list(words)})
    return [Term(*row) for row in rows]


def near_terms(connection: Connection, space: Space, word: str, distance: int) -> list[Term]:
    """Return the served terms that can lie within ``distance`` edits of ``word``, and some that do not.

    So many edits leave one of ``distance`` + 1 pieces of the word whole; the terms that have a piece are few enough to compare.
    """
    pieces = [f"%{_escaped(piece)}%" for piece in _pieces(word, distance + 1)]
    values = {"pieces": pieces, "least": len(word) - distance, "most": len(word) + distance}
    return [Term(*row) for row in connection.execute(query("select_near_terms", terms=space.terms), values)]


def read_postings(
    connection: Connection,
    space: Space,
    terms: Sequence[int],
    *,
    facets: Sequence[int] | None,
    hinted: Sequence[int] | None,
    chunks: Sequence[int] | None = None,
) -> dict[int, Postings]:
    """Return the postings of each term that has some: of admitted ``facets`` and, when given, of some ``chunks`` only."""
    values = {
        "terms": list(terms),
        "facets": None if facets is None else list(facets),
        "hinted": None if hinted is None else list(hinted),
        "chunks": None if chunks is None else list(chunks),
    }
    with connection.cursor(binary=True) as cursor:
        rows = cursor.execute(query("select_postings", postings=space.postings), values).fetchall()
    return {term: Postings.unpacked(packed) for term, packed in rows}


def numbered(connection: Connection, space: Space, numbers: Sequence[int]) -> dict[int, tuple[str, tuple[Generation, ...]]]:
    """Return id and generations of the chunks with these numbers."""
    rows = connection.execute(query("select_numbered", chunks=space.chunks), {"numbers": list(numbers)})
    return {number: (identity, tuple(labels)) for number, identity, labels in rows}


def _pieces(word: str, count: int) -> list[str]:
    size, longer = divmod(len(word), count)
    pieces, start = [], 0
    for n in range(count):
        end = start + size + (n < longer)
        pieces.append(word[start:end])
        start = end
    return pieces


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
