"""Reads what is published, and takes an instance out of the database.

Publishing itself lives in ``publishing``; a removal here is an operator's decision, so no deletion guard stands before it.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bbj_pipeline.records import InstanceRef
from bbj_pipeline.storage.database import Connection, Database
from bbj_pipeline.storage.history import END_OF_TIME, forget_before
from bbj_pipeline.storage.queries import query
from bbj_pipeline.storage.spaces import Space, activate_when_complete, active_space, missing_instances

__all__ = ["InstanceStatus", "SwitchWait", "drop_instance", "lock_instance", "record_current", "status", "switch_waits"]


@dataclass(frozen=True, slots=True)
class InstanceStatus:
    """The current publication of an instance in one embedding space; ``counts`` as recorded, ``withheld`` in documents.

    ``rolled_back_to`` is the publication whose state it brought back, ``held`` how many contents it holds back since then.
    """

    kind: str
    instance: str
    publication_id: int
    run_id: str
    published_at: datetime.datetime
    counts: Mapping[str, int]
    code_versions: Mapping[str, str]
    withheld: int
    complete: bool
    space_id: int
    fingerprint: str
    space_state: str
    rolled_back_to: int | None
    held: int


@dataclass(frozen=True, slots=True)
class SwitchWait:
    """An instance that keeps search from switching to the new embedding space ``space_id``, and why."""

    kind: str
    instance: str
    space_id: int
    reason: str


def lock_instance(connection: Connection, ref: InstanceRef) -> None:
    """Wait until no other transaction publishes ``ref``, rolls it back or removes it; let go at the transaction's end."""
    connection.execute("select pg_advisory_xact_lock(hashtextextended('bbj_pipeline publish ' || %s, 0))", (str(ref),))


def record_current(connection: Connection, instance: Mapping[str, Any], publication_id: int, record: Mapping[str, Any]) -> None:
    """Complete the record of a publication (``counts``, ``diff``, ``withheld``) and make it its instance's current one."""
    connection.execute(query("clear_current_publication"), instance)
    connection.execute(query("update_current_publication"), {"publication_id": publication_id, **record})


def status(db: Database) -> list[InstanceStatus]:
    """Return the current publications by kind, instance and space; an instance being moved to a new space stands twice."""
    return db.read(lambda connection: [InstanceStatus(*row) for row in connection.execute(query("select_status"))])


def switch_waits(db: Database) -> list[SwitchWait]:
    """Return what each embedding space that is being filled still waits for before search switches to it."""
    return db.read(_switch_waits)


def _switch_waits(connection: Connection) -> list[SwitchWait]:
    active = active_space(connection)
    filling = [Space(*row) for row in connection.execute(query("select_filling_spaces"))] if active else []
    return [
        SwitchWait(kind, instance, space.id, reason)
        for space in filling
        for kind, instance, reason in (missing_instances(connection, active, space) if active else ())
    ]


def drop_instance(db: Database, ref: InstanceRef) -> int:
    """Delete all chunks of ``ref`` in every space and what is kept of its past, in one transaction; return how many chunks.

    The records of its publications stay, none of them can be brought back.
    """
    return db.retried(lambda connection: _drop_instance(connection, ref))


def _drop_instance(connection: Connection, ref: InstanceRef) -> int:
    deleted = 0
    with connection.transaction():
        lock_instance(connection, ref)
        spaces = [Space(*row) for row in connection.execute(query("select_spaces_with_chunks"))]
        for space in spaces:
            values: dict[str, Any] = {"space_id": space.id, "kind": ref.kind, "instance": ref.instance}
            deleted += connection.execute(query("delete_instance_chunks", chunks=space.chunks), values).rowcount
            for name in ("delete_instance_documents", "clear_current_publication"):
                connection.execute(query(name), values)
            forget_before(connection, space, values, END_OF_TIME)
        for space in spaces:
            if space.state == "filling":
                activate_when_complete(connection, space)
    return deleted
