"""Embedding spaces: one fingerprint, one dimension, one table of chunks; and which of them search reads.

Vectors of two spaces never stand in one table. What is written into a space's table belongs to ``publishing``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from psycopg import sql

from bbj_pipeline.errors import SchemaError
from bbj_pipeline.storage.database import Connection
from bbj_pipeline.storage.queries import query, template

__all__ = [
    "Space",
    "activate_when_complete",
    "active_space",
    "find_space",
    "lock_spaces",
    "missing_instances",
    "prepare_space",
    "register_space",
]

MAX_HNSW_DIMENSION = 2000
"""pgvector indexes no longer ``vector`` (its documentation, "HNSW")."""
MAX_INLINE_DIMENSION = 1536
"""Up to 6 kB a vector fits into a page (8 kB) beside the rest of its row."""
_LOCK = "select pg_advisory_xact_lock(hashtextextended('bbj_pipeline spaces', 0))"


@dataclass(frozen=True, slots=True)
class Space:
    """One embedding space as the database knows it."""

    id: int
    fingerprint: str
    dimension: int
    state: str

    @property
    def chunks(self) -> sql.Identifier:
        """The table of its chunks."""
        return sql.Identifier(f"chunks_{self.id}")

    @property
    def history(self) -> sql.Identifier:
        """The table of what its publications replaced."""
        return sql.Identifier(f"chunks_{self.id}_history")

    @property
    def terms(self) -> sql.Identifier:
        """The table of the terms that stand in its chunks, with their document frequencies."""
        return sql.Identifier(f"terms_{self.id}")

    @property
    def postings(self) -> sql.Identifier:
        """The table of where each term stands."""
        return sql.Identifier(f"postings_{self.id}")

    @property
    def indexes(self) -> dict[str, sql.Identifier]:
        """The names of the indexes that search uses, by purpose."""
        return {name: sql.Identifier(f"chunks_{self.id}_{name}") for name in ("hnsw", "words", "generation")}


def lock_spaces(connection: Connection) -> None:
    """Keep the served space from changing until the transaction ends. After the instance's lock, never before it."""
    connection.execute(_LOCK)


def active_space(connection: Connection) -> Space | None:
    """Return the space that search reads, or ``None`` before the first publication."""
    return _space(connection.execute(query("select_active_space")).fetchone())


def find_space(connection: Connection, fingerprint: str) -> Space | None:
    """Return the space of a fingerprint, if it is registered."""
    return _space(connection.execute(query("select_space"), {"fingerprint": fingerprint}).fetchone())


def register_space(connection: Connection, fingerprint: str, dimension: int) -> Space:
    """Return the space of ``fingerprint``, registering it if it is new; raise ``SchemaError`` when its dimension differs."""
    connection.execute(query("insert_space"), {"fingerprint": fingerprint, "dimension": dimension})
    space = find_space(connection, fingerprint)
    if space is None or space.dimension != dimension:
        found = "gone" if space is None else f"{space.dimension}-dimensional"
        raise SchemaError(
            f"the embedding space {fingerprint!r} is {found}, {dimension} dimensions were given",
            remedy="put the dimension into the embedder's fingerprint",
        )
    return space


def prepare_space(connection: Connection, fingerprint: str, dimension: int) -> Space:
    """Return the space with its chunks table made and its state ``filling`` or ``active``; in a transaction of its own."""
    if dimension > MAX_HNSW_DIMENSION:
        raise SchemaError(
            f"{dimension} dimensions cannot be indexed, {MAX_HNSW_DIMENSION} can", remedy="choose a model with shorter vectors"
        )
    with connection.transaction():
        lock_spaces(connection)
        space = register_space(connection, fingerprint, dimension)
        if space.state in ("filling", "active"):
            return space
        if space.state == "registered":
            storage = sql.SQL("plain") if dimension <= MAX_INLINE_DIMENSION else sql.SQL("external")
            connection.execute(template("chunks_table", chunks=space.chunks, dimension=sql.Literal(dimension), storage=storage))
            connection.execute("select add_lexical_index(%s)", (space.id,))
            connection.execute(query("add_history"), {"space_id": space.id})
            connection.execute(query("share_space"), {"space_id": space.id})
        return _set_state(connection, space, "filling")


def missing_instances(connection: Connection, active: Space, new: Space) -> list[tuple[str, str, str]]:
    """Return kind, instance and reason of what the switch from ``active`` to ``new`` waits for."""
    return connection.execute(query("select_missing_instances"), {"old": active.id, "new": new.id}).fetchall()


def activate_when_complete(connection: Connection, space: Space) -> bool:
    """Switch search to ``space`` when nothing served would be lost; return whether it is active at the end.

    Runs inside the publishing transaction. Publications of several instances take turns here, so that the last one sees
    the others. Nothing is lost when no space is active yet or each instance published in the active one has a complete
    publication in this one. The search indexes are built now, over all rows at once: cheaper than row by row while filling.
    """
    lock_spaces(connection)
    active = active_space(connection)
    if active is not None and active.id == space.id:
        return True
    current = find_space(connection, space.fingerprint)
    if current is not None and current.state == "retired":  # the switch to another space was committed meanwhile
        connection.execute(query("forget_current_publications"), {"space_id": space.id})
        return False
    if active is not None:
        if missing_instances(connection, active, space):
            return False
        connection.execute("drop view doc_chunks")
        _set_state(connection, active, "retired")
        connection.execute(query("forget_current_publications"), {"space_id": active.id})
    # Serial: a parallel build allocates its memory in /dev/shm, which is 64 MB in most containers.
    connection.execute("set local max_parallel_maintenance_workers = 0; set local maintenance_work_mem = '512MB'")
    connection.execute(template("chunks_indexes", chunks=space.chunks, **space.indexes))
    connection.execute(template("doc_chunks_view", chunks=space.chunks, space_id=sql.Literal(space.id)))
    for name in ("show_provenance", "share_space"):
        connection.execute(query(name), {"space_id": space.id})
    _set_state(connection, space, "active")
    return True


def _set_state(connection: Connection, space: Space, state: str) -> Space:
    connection.execute(query("update_space_state"), {"space_id": space.id, "state": state})
    return Space(space.id, space.fingerprint, space.dimension, state)


def _space(row: tuple[Any, ...] | None) -> Space | None:
    return None if row is None else Space(*row)
