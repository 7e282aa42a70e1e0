"""The lexical index as the database holds it: what a chunk contributes, and what a question reads.

Postings, document frequencies and lengths are kept by triggers (``sql/migrations/0003_lexical.sql``) from two columns of each
chunk, ``terms`` and ``tfs``; nothing here writes them. How scores are made is decided in ``retrieval``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import sql

from bbj_pipeline.stages.terms import terms
from bbj_pipeline.storage.database import Connection
from bbj_pipeline.storage.queries import query
from bbj_pipeline.storage.spaces import Space

__all__ = ["Admitted", "Term", "admitted", "find_terms", "near_terms", "score_postings", "settle", "term_counts"]

SETTLE_SHARE = 0.05
"""Share of a space's chunks that must have been written before its tables are vacuumed and analysed at once."""


@dataclass(frozen=True, slots=True)
class Term:
    """A term of the index; ``df`` chunks have it."""

    id: int
    text: str
    df: int


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


def score_postings(
    connection: Connection,
    space: Space,
    *,
    weights: Mapping[int, float],
    common: Mapping[int, float],
    base: float,
    slope: float,
    facets: Sequence[int] | None,
    hinted: Sequence[int] | None,
    limit: int,
) -> list[tuple[str, bool, float]]:
    """Return ``(chunk id, whether it is hinted, score)`` of the best ``limit`` chunks, and of as many hinted ones.

    A chunk scores the sum of ``weight * tf / (tf + base + slope * length)`` over the terms it has. Candidates are the chunks
    with a term of ``weights``; a term of ``common`` counts where it stands in one of them.
    """
    values = {
        "terms": list(weights),
        "weights": list(weights.values()),
        "common": list(common),
        "common_weights": list(common.values()),
        "base": base,
        "slope": slope,
        "facets": None if facets is None else list(facets),
        "hinted": None if hinted is None else list(hinted),
        "rest": sum(common.values()),
        "limit": limit,
    }
    name = "score_postings_bounded" if common else "score_postings"
    return connection.execute(query(name, postings=space.postings, chunks=space.chunks), values).fetchall()


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
