"""Reads chunks for search: by id, and what stands around them. Nothing is ranked or decided here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bbj_pipeline.storage.database import Connection
from bbj_pipeline.storage.queries import query
from bbj_pipeline.storage.spaces import Space

__all__ = ["fetch_neighbours", "fetch_passages"]


def fetch_passages(
    connection: Connection, space: Space, identities: Sequence[str], terms: Collection[str] = ()
) -> dict[str, tuple[Any, ...]]:
    """Return the columns of ``select_candidates.sql`` after the id, by id, arrays as tuples; unknown ids are left out.

    The last one holds those of ``terms`` that the chunk has.
    """
    rows = connection.execute(query("select_candidates", chunks=space.chunks), {"ids": list(identities), "terms": list(terms)})
    return {row[0]: tuple(tuple(value) if isinstance(value, list) else value for value in row[1:]) for row in rows}


def fetch_neighbours(
    connection: Connection, space: Space, identities: Sequence[str], count: int
) -> Mapping[str, list[tuple[Any, ...]]]:
    """Return, by id, the chunks up to ``count`` places before and after it in its document, in order, id first.

    Their columns are those of ``fetch_passages`` but for the last.
    """
    pairs = connection.execute(
        query("select_neighbours", chunks=space.chunks), {"ids": list(identities), "count": count}
    ).fetchall()
    passages = fetch_passages(connection, space, list({near for _, near in pairs}))
    around: dict[str, list[tuple[Any, ...]]] = {}
    for middle, near in pairs:
        around.setdefault(middle, []).append((near, *passages[near][:-1]))
    return around
