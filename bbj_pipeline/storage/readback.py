"""Reads the served chunks of an instance back as the records they were published from, and lends a database to try others in.

For measurements that need another index; nothing served is written here.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from psycopg import sql

from bbj_pipeline.records import Chunk, InstanceRef
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.migrations import migrate
from bbj_pipeline.storage.publishing import PublishRow
from bbj_pipeline.storage.queries import query
from bbj_pipeline.storage.spaces import active_space

__all__ = ["scratch_database", "served_rows", "unpublished"]

_PREFIX = "bbj_evaluation_"


def served_rows(db: Database, ref: InstanceRef) -> list[PublishRow]:
    """Return the served chunks of ``ref`` with their vectors, by document and ordinal."""
    with db.connection() as connection:
        rows = connection.execute(query("select_served_chunks"), {"kind": ref.kind, "instance": ref.instance}).fetchall()
    found = []
    for row in rows:
        (key, ordinal, section_ordinal, title, path, header, content, tokens, doc_type, generations, url, anchor, page,
         overlap, metadata, raw_key, raw_sha256, vector) = row  # fmt: skip
        chunk = Chunk(
            ref.kind, key, ordinal, section_ordinal, title, tuple(path), header, content, tokens, doc_type,
            tuple(generations), url, anchor, page, overlap, metadata, raw_key, raw_sha256,
        )  # fmt: skip
        found.append(PublishRow(chunk, vector.to_numpy().astype(np.float32)))
    return found


def unpublished(db: Database, documents: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Return those of ``documents`` (kind, instance, key) that the active space has not, in the order given."""
    kinds, instances, keys = (list(column) for column in zip(*documents, strict=True)) if documents else ([], [], [])
    with db.connection() as connection:
        space = active_space(connection)
        values = {"kinds": kinds, "instances": instances, "keys": keys, "space_id": space.id if space else None}
        return connection.execute(query("select_unpublished_documents"), values).fetchall()


@contextmanager
def scratch_database(db: Database) -> Iterator[Database]:
    """Lend an empty database at the current schema on the same server; it is dropped at the end.

    Raises ``SchemaError`` when the role may not create databases.
    """
    name = f"{_PREFIX}{secrets.token_hex(6)}"
    url = db.ensure_database(name)
    try:
        with Database(url) as scratch:
            migrate(scratch)
            yield scratch
    finally:
        with db.direct_connection() as connection:
            connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))
