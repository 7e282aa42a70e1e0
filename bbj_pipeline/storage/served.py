"""Reads what is served, for those who look at it rather than search it: a chunk with its origin, counts, readiness.

Ranking and filters belong to ``retrieval``; nothing here writes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from psycopg.rows import dict_row

from bbj_pipeline.errors import SchemaError
from bbj_pipeline.storage.database import Connection
from bbj_pipeline.storage.queries import migration_files, query
from bbj_pipeline.storage.spaces import Space, active_space

__all__ = ["ServedCounts", "count_served", "fetch_served_chunk", "missing_migrations", "served_space"]


@dataclass(slots=True)
class ServedCounts:
    """Numbers of served chunks; a chunk of two generations counts under both, ``unknown`` are those of none."""

    chunks: int = 0
    instances: Counter[str] = field(default_factory=Counter)
    generations: Counter[str] = field(default_factory=Counter)
    doc_types: Counter[str] = field(default_factory=Counter)


def served_space(connection: Connection) -> Space:
    """Return the space that search reads; raise ``SchemaError`` before the first publication."""
    space = active_space(connection)
    if space is None:
        raise SchemaError("nothing is published yet", remedy="run 'bbj-pipeline run' first")
    return space


def fetch_served_chunk(connection: Connection, identity: str, *, neighbours: int) -> dict[str, Any] | None:
    """Return a chunk's columns by name with ``neighbours``: up to so many chunks before and after it in its document, in order.

    ``None`` when no such chunk is served.
    """
    served_space(connection)
    with connection.cursor(row_factory=dict_row) as cursor:
        chunk = cursor.execute(query("select_served_chunk"), {"id": identity}).fetchone()
        if chunk is None:
            return None
        around = cursor.execute(query("select_around_chunk"), {"id": identity, "count": neighbours}).fetchall()
    return {**chunk, "neighbours": around}


def count_served(connection: Connection, space: Space) -> ServedCounts:
    """Return the numbers that publications keep; no chunk is read."""
    counts = ServedCounts()
    for kind, instance, generations, doc_type, chunks in connection.execute(query("count_served"), {"space_id": space.id}):
        counts.chunks += chunks
        counts.instances[f"{kind}/{instance}"] += chunks
        counts.doc_types[doc_type] += chunks
        for label in generations or ["unknown"]:
            counts.generations[label] += chunks
    return counts


def missing_migrations(connection: Connection) -> list[str]:
    """Return the names of this version's migrations that the database does not have, in order."""
    applied = {name for (name,) in connection.execute(query("select_applied_migrations"))}
    return [path.stem for path in migration_files() if path.stem not in applied]
