"""Brings a publication's rows into the database, in one reading: which there are, and whole those that are new or changed.

What it makes are temporary tables of the transaction (``staged``, ``touched``, ``changed``); nothing that is served is
written here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from psycopg import sql

from bbj_pipeline.errors import RejectedInput
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.storage.database import Connection
from bbj_pipeline.storage.queries import query
from bbj_pipeline.storage.rows import COPIED_COLUMNS, STAGED_TYPES, Identity, PublishRow, chunk_values, identify, staged_values
from bbj_pipeline.storage.spaces import Space

__all__ = ["StagedCounts", "stage"]

BATCH = 500
"""Rows that are compared and copied together: a megabyte or two, whatever the corpus."""


@dataclass(frozen=True, slots=True)
class StagedCounts:
    """Chunks and documents of the publication, chunks to insert and to update, and chunks served before it."""

    chunks: int
    documents: int
    inserted: int
    updated: int
    served: int

    @property
    def changed(self) -> int:
        """Rows to write."""
        return self.inserted + self.updated

    @property
    def gone(self) -> int:
        """Served rows that are not among the new ones."""
        return self.served - (self.chunks - self.inserted)


def stage(
    connection: Connection, space: Space, ref: InstanceRef, rows: Iterator[PublishRow], *, publication_id: int
) -> StagedCounts:
    """Read all rows, compare them with what is served, and copy those that differ.

    Raises ``RejectedInput`` when two rows are one chunk, and ``ModelError`` for a vector of another shape.
    """
    for name in ("create_staging", "create_touched", "create_changed"):
        connection.execute(query(name, chunks=space.chunks))
    first = 0
    while batch := [(row, identify(row.chunk, ref)) for row in islice(rows, BATCH)]:
        _copy_staged(connection, first, batch)
        changed = _changed(connection, space, batch)
        if changed:
            values = [
                chunk_values(row, ref, identity, dimension=space.dimension, publication_id=publication_id)
                for row, identity in batch
                if identity.id in changed
            ]
            _copy_changed(connection, values)
        first += len(batch)
    instance = {"space_id": space.id, "kind": ref.kind, "instance": ref.instance}
    duplicate = connection.execute(query("select_duplicate")).fetchone()
    if duplicate is not None:
        raise RejectedInput(
            f"{ref} has {duplicate[1]} chunks with one identity in {duplicate[0]!r}",
            remedy="number the chunks of a section from 0, each number once",
        )
    connection.execute("alter table staged add primary key (id); analyze staged, touched")
    counts = connection.execute(query("count_staged"), instance).fetchone()
    assert counts is not None
    return StagedCounts(*counts)


def _copy_staged(connection: Connection, first: int, batch: Sequence[tuple[PublishRow, Identity]]) -> None:
    with connection.cursor() as cursor, cursor.copy(query("copy_staged")) as copy:
        copy.set_types(STAGED_TYPES)
        for n, (row, identity) in enumerate(batch, first):
            copy.write_row(staged_values(n, row.chunk, identity))


def _changed(connection: Connection, space: Space, batch: Sequence[tuple[PublishRow, Identity]]) -> set[str]:
    """Note which rows are new or changed; return their ids."""
    compared = {
        "ids": [identity.id for _, identity in batch],
        "hashes": [identity.row_hash for _, identity in batch],
        "doc_keys": [row.chunk.key for row, _ in batch],
    }
    rows = connection.execute(query("insert_touched_new", chunks=space.chunks), compared)
    return {chunk_id for (chunk_id,) in rows}


def _copy_changed(connection: Connection, rows: Sequence[tuple[object, ...]]) -> None:
    columns = sql.SQL(", ").join(map(sql.Identifier, COPIED_COLUMNS))
    with connection.cursor() as cursor, cursor.copy(query("copy_changed", columns=columns)) as copy:
        copy.set_types(list(COPIED_COLUMNS.values()))
        for row in rows:
            copy.write_row(row)
