"""What is no longer needed, and its removal: removed instances, unread spaces, old history, vectors, requests and raw bytes.

Nothing that is served is touched here, except an instance that the operator names and that is no longer configured. Each
removal is a transaction of its own, and can be asked for without being done.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import psycopg

from bbj_pipeline.errors import ConfigurationError, DatabaseUnavailable
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.storage.database import Connection, Database
from bbj_pipeline.storage.history import forget_before
from bbj_pipeline.storage.publications import drop_instance, lock_instance, status
from bbj_pipeline.storage.queries import query
from bbj_pipeline.storage.refresh_requests import forget_finished
from bbj_pipeline.storage.spaces import Space, active_space, lock_spaces
from bbj_pipeline.storage.stage_files import StageStore

__all__ = ["VECTOR_BATCH", "Removal", "Retention", "prune", "unconfigured"]

LOCK_SECONDS = 5
VECTOR_BATCH = 5_000
"""Vectors deleted in one transaction: some 20 MB at 1,024 dimensions, and no lock that an embedding run waits for long."""
_DAY = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Retention:
    """What stays: the newest ``publications`` of an instance, and what is younger than ``days``."""

    publications: int
    days: int


@dataclass(frozen=True, slots=True)
class Removal:
    """One thing that was removed, or would be: what it is, and how much of ``unit`` it holds."""

    what: str
    amount: int
    unit: str

    def __str__(self) -> str:
        return f"{self.what}: {self.amount:,} {self.unit}"


def unconfigured(db: Database, configured: Collection[InstanceRef]) -> list[InstanceRef]:
    """Return the instances that are published and no longer configured, in order."""
    return sorted({InstanceRef(row.kind, row.instance) for row in status(db)} - set(configured))


def prune(
    db: Database,
    store: StageStore,
    *,
    retention: Retention,
    configured: Collection[InstanceRef],
    instances: Sequence[InstanceRef] = (),
    spaces: bool = False,
    dry_run: bool = False,
) -> list[Removal]:
    """Remove history, vectors, finished requests and raw bytes beyond ``retention``, and the named ``instances``.

    With ``spaces`` also those that nobody reads.

    With ``dry_run`` nothing is removed, and what would be is returned all the same. Raises ``ConfigurationError`` for an
    instance that is still configured or was never known; nothing is removed then.
    """
    for ref in instances:
        if ref in configured:
            raise ConfigurationError(f"{ref} is still configured", remedy="remove it from sources.yaml first")
        if ref not in unconfigured(db, configured) and not store.has(ref):
            raise ConfigurationError(f"nothing is known of {ref}", remedy="'bbj-pipeline status' lists what is published")
    removals = [removal for ref in instances for removal in _prune_instance(db, store, ref, dry_run=dry_run)]
    if spaces:
        removals += _prune_spaces(db, retention, dry_run=dry_run)
    removals += _prune_history(db, retention, dry_run=dry_run)
    requests = db.retried(partial(forget_finished, keep_days=retention.days, dry_run=dry_run))
    removals += [Removal("finished refresh requests", requests, "rows")] if requests else []
    removals += db.retried(partial(_prune_vectors, retention=retention, dry_run=dry_run))
    removals += _prune_blobs(db, store, retention, dry_run=dry_run)
    return removals


def _prune_instance(db: Database, store: StageStore, ref: InstanceRef, *, dry_run: bool) -> list[Removal]:
    chunks = db.read(partial(_count_instance, ref=ref)) if dry_run else drop_instance(db, ref)
    files, _ = store.remove(ref, dry_run=dry_run)
    return [Removal(f"instance {ref}, table", chunks, "chunks"), Removal(f"instance {ref}, stage files", files, "files")]


def _count_instance(connection: Connection, ref: InstanceRef) -> int:
    values = {"kind": ref.kind, "instance": ref.instance}
    spaces = [Space(*row) for row in connection.execute(query("select_spaces_with_chunks"))]
    return sum(_number(connection, "count_instance_chunks", values, space) for space in spaces)


def _prune_spaces(db: Database, retention: Retention, *, dry_run: bool) -> list[Removal]:
    rows = db.read(
        lambda connection: connection.execute(query("select_prunable_spaces"), {"keep_days": retention.days}).fetchall()
    )
    removals = []
    for space_id, fingerprint, state, _ in rows:
        space = Space(space_id, fingerprint, 0, state)
        chunks = db.read(partial(_number, name="count_space_chunks", values={}, space=space))
        if not dry_run:
            db.retried(partial(_drop_space, space=space))
        removals.append(Removal(f"{state} embedding space {space_id} ({fingerprint})", chunks, "chunks"))
    return removals


def _drop_space(connection: Connection, space: Space) -> None:
    try:
        with connection.transaction():
            connection.execute(f"set local lock_timeout = '{LOCK_SECONDS}s'")
            lock_spaces(connection)
            connection.execute(query("drop_space"), {"space_id": space.id})
    except (psycopg.errors.LockNotAvailable, psycopg.errors.RaiseException) as error:
        raise DatabaseUnavailable(
            f"the embedding space {space.id} is in use ({str(error).splitlines()[0]})", remedy="prune when no run is going on"
        ) from None


def _prune_history(db: Database, retention: Retention, *, dry_run: bool) -> list[Removal]:
    values = {"keep_publications": retention.publications, "keep_days": retention.days}
    rows = db.read(lambda connection: connection.execute(query("select_horizons"), values).fetchall())
    removals = []
    for space_id, kind, instance, horizon, publications in rows:
        space, ref = Space(space_id, "", 0, ""), InstanceRef(kind, instance)
        forgotten = db.retried(partial(_forget, space=space, ref=ref, horizon=horizon, dry_run=dry_run))
        what = f"history of {ref} before publication #{horizon}, {publications} publications"
        removals.append(Removal(what, forgotten, "replaced chunks"))
    return removals


def _forget(connection: Connection, space: Space, ref: InstanceRef, horizon: int, *, dry_run: bool) -> int:
    instance: dict[str, Any] = {"space_id": space.id, "kind": ref.kind, "instance": ref.instance}
    if dry_run:
        return _number(connection, "count_history", {**instance, "horizon": horizon}, space)
    with connection.transaction():
        lock_instance(connection, ref)
        return forget_before(connection, space, instance, horizon)


def _prune_vectors(connection: Connection, *, retention: Retention, dry_run: bool) -> list[Removal]:
    """Remove the served model's old vectors of texts that no chunk has, neither served nor kept; after the history, therefore.

    A text that comes back is embedded again. Each batch is a transaction, so what an interrupted run removed stays removed.
    """
    space = active_space(connection)
    if space is None:
        return []
    values = {"space_id": space.id, "keep_days": retention.days, "batch": VECTOR_BATCH}
    connection.execute("drop table if exists pg_temp.used, pg_temp.unused")
    connection.execute(query("create_unused", chunks=space.chunks, history=space.history))
    found = connection.execute(query("insert_unused"), values).rowcount
    for after in range(0, 0 if dry_run else found, VECTOR_BATCH):
        connection.execute(query("delete_unused_embeddings"), {**values, "after": after})
    connection.execute("drop table pg_temp.used, pg_temp.unused")
    return [Removal("vectors of texts that are gone", found, "vectors")] if found else []


def _prune_blobs(db: Database, store: StageStore, retention: Retention, *, dry_run: bool) -> list[Removal]:
    """Remove raw bytes that are old and belong neither to an export nor to a served or kept document.

    An export may find old bytes and count on them before its manifest says so: while one is being written, nothing is removed.
    """
    rows = db.read(lambda connection: connection.execute(query("select_raw_hashes")).fetchall())
    needed = {sha256 for (sha256,) in rows} | store.manifest_hashes()
    oldest = time.time() - retention.days * _DAY
    removed, size = store.blobs.prune(needed, older_than=oldest, dry_run=dry_run, stop=store.is_exporting)
    return [Removal("raw bytes without a document", removed, f"files, {size:,} bytes")]


def _number(connection: Connection, name: str, values: dict[str, Any], space: Space) -> int:
    row = connection.execute(query(name, chunks=space.chunks, history=space.history), values).fetchone()
    return int(row[0]) if row else 0
