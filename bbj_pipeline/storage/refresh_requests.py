"""The queue of refreshes asked for from outside: filled by the REST service, emptied by a sensor.

A request is stored once for each delivery, whatever is sent again. It is done when a run for it was seen, so that a crash of
either side between asking and running loses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from bbj_pipeline.records import InstanceRef
from bbj_pipeline.storage.database import Connection, Database
from bbj_pipeline.storage.queries import query

__all__ = ["ClaimedRequest", "claim", "enqueue", "finish", "forget_finished"]


@dataclass(frozen=True, slots=True)
class ClaimedRequest:
    """All waiting requests of one instance that one run answers: the key of that run, and why it was asked for."""

    ref: InstanceRef
    run_key: str
    reasons: tuple[str, ...]


def enqueue(database: Database, ref: InstanceRef, *, delivery_id: str, reason: str) -> bool:
    """Store a request; false when this delivery is already known, for whichever instance."""
    values = {"delivery_id": delivery_id, "kind": ref.kind, "instance": ref.instance, "reason": reason}
    with database.connection() as connection:
        return connection.execute(query("insert_refresh_request"), values).rowcount == 1


def claim(database: Database) -> list[ClaimedRequest]:
    """Give every new request a run key, one an instance; return all requests whose run was not seen yet, oldest first.

    A request that was claimed before keeps its key, so that asking again for its run starts no second one.
    """
    with database.connection() as connection, connection.transaction():
        connection.execute(query("claim_refresh_requests"))
        rows = connection.execute(query("select_claimed_requests")).fetchall()
    return [ClaimedRequest(InstanceRef(kind, name), run_key, tuple(reasons)) for kind, name, run_key, reasons in rows]


def finish(database: Database, run_key: str, *, run_id: str) -> None:
    """Record that the run of these requests exists; later runs of the instance need a request of their own."""
    with database.connection() as connection:
        connection.execute(query("finish_refresh_request"), {"run_key": run_key, "run_id": run_id})


def forget_finished(connection: Connection, *, keep_days: int, dry_run: bool) -> int:
    """Remove requests whose run was seen more than ``keep_days`` ago (a day at least); return how many there are.

    One that waits stays, however old it is. A delivery that is forgotten would count again.
    """
    values = {"keep_days": keep_days}
    if dry_run:
        row = connection.execute(query("count_finished_refresh_requests"), values).fetchone()
        return int(row[0]) if row else 0
    return connection.execute(query("delete_finished_refresh_requests"), values).rowcount
