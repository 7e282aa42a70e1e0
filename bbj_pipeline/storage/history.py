"""What publications replaced: the superseded rows of each space, kept as long as one may want to go back to them.

A publication notes here, in its own transaction, the rows it is about to replace or delete and the ids it adds. Read from the
newest backwards that is the way to every kept state (``rollback``); beyond the retention it is forgotten (``retention``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from psycopg import sql

from bbj_pipeline.storage.database import Connection
from bbj_pipeline.storage.queries import query
from bbj_pipeline.storage.rows import CHUNK_COLUMNS
from bbj_pipeline.storage.spaces import Space

__all__ = [
    "END_OF_TIME",
    "archive_chunks",
    "archive_documents",
    "chunk_columns",
    "count_touched",
    "excluded_columns",
    "forget_before",
]

END_OF_TIME = 2**63 - 1
"""A horizon after every publication."""


def chunk_columns(*qualifier: str) -> sql.Composed:
    """Return the names of the written columns, without the search vector; each after ``qualifier`` when one is given."""
    return sql.SQL(", ").join(sql.Identifier(*qualifier, name) for name in CHUNK_COLUMNS)


def excluded_columns() -> sql.Composed:
    """Return the same names as an upsert calls the new values."""
    return chunk_columns("excluded")


def count_touched(connection: Connection) -> dict[str, int]:
    """Return how many chunks the transaction inserts, updates and deletes."""
    rows: list[tuple[str, int]] = connection.execute(query("count_touched")).fetchall()
    return {"inserted": 0, "updated": 0, "deleted": 0} | dict(rows)


def archive_chunks(connection: Connection, space: Space, instance: Mapping[str, Any], publication_id: int) -> None:
    """Keep the rows of ``touched`` that are about to be replaced or deleted, and note the ids that will be new."""
    values = {**instance, "publication_id": publication_id}
    parts = {"history": space.history, "chunks": space.chunks, "columns": chunk_columns()}
    connection.execute(query("insert_history", **parts), values)
    connection.execute(query("insert_arrivals"), values)


def archive_documents(
    connection: Connection, instance: Mapping[str, Any], publication_id: int, vanished: Sequence[str]
) -> None:
    """Keep what is known of the documents in ``vanished`` and of those that ``staged`` makes others; note the new ones."""
    values = {**instance, "publication_id": publication_id, "vanished": list(vanished)}
    connection.execute(query("insert_documents_history"), values)


def forget_before(connection: Connection, space: Space, instance: Mapping[str, Any], horizon: int) -> int:
    """Forget what publications up to ``horizon`` replaced; it becomes the earliest that can be brought back.

    Returns how many chunk rows were forgotten.
    """
    values = {**instance, "horizon": horizon}
    forgotten = connection.execute(query("delete_history", history=space.history), values).rowcount
    for name in ("delete_arrivals", "delete_documents_history", "update_kept_publications"):
        connection.execute(query(name), values)
    return forgotten
