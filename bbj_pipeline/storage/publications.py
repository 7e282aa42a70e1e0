"""Reads what is published, and takes an instance out of the database.

Publishing itself lives in ``publishing``; a removal here is an operator's decision, so no deletion guard stands before it.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bbj_pipeline.records import InstanceRef
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.queries import query
from bbj_pipeline.storage.spaces import Space, activate_when_complete

__all__ = ["InstanceStatus", "drop_instance", "status"]


@dataclass(frozen=True, slots=True)
class InstanceStatus:
    """The current publication of an instance in one embedding space; ``counts`` as recorded, ``withheld`` in documents."""

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


def status(db: Database) -> list[InstanceStatus]:
    """Return the current publications by kind, instance and space; an instance being moved to a new space stands twice."""
    with db.connection() as connection:
        return [InstanceStatus(*row) for row in connection.execute(query("select_status"))]


def drop_instance(db: Database, ref: InstanceRef) -> int:
    """Delete all chunks of ``ref`` in every space, in one transaction; return how many. Publications stay as history."""
    deleted = 0
    with db.connection() as connection, connection.transaction():
        connection.execute("select pg_advisory_xact_lock(hashtextextended('bbj_pipeline publish ' || %s, 0))", (str(ref),))
        spaces = [Space(*row) for row in connection.execute(query("select_spaces_with_chunks"))]
        for space in spaces:
            values: dict[str, Any] = {"space_id": space.id, "kind": ref.kind, "instance": ref.instance}
            deleted += connection.execute(query("delete_instance_chunks", chunks=space.chunks), values).rowcount
            for name in ("delete_instance_documents", "clear_current_publication"):
                connection.execute(query(name), values)
        for space in spaces:
            if space.state == "filling":
                activate_when_complete(connection, space)
    return deleted
