"""How many rows are served, for whoever shows it: read from the counts each publication keeps, never by counting chunks."""

from __future__ import annotations

from bbj_pipeline.records import InstanceRef
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.queries import query

__all__ = ["count_rows"]


def count_rows(db: Database, ref: InstanceRef) -> tuple[int, int]:
    """Return how many chunks of ``ref``, and how many of all instances, the active space serves."""
    with db.connection() as connection:
        found = connection.execute(query("count_shown_rows"), {"kind": ref.kind, "instance": ref.instance}).fetchone()
    return (0, 0) if found is None else (int(found[0]), int(found[1]))
