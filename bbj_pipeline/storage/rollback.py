"""Brings an earlier publication of an instance back, in one transaction and without computing anything.

The rows of then become current again as a publication of their own, so that going back can itself be gone back from. What was
rolled away is held: its very content is not published again until something else was, or an operator lifts the hold.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from psycopg.types.json import Jsonb

from bbj_pipeline.errors import DatabaseUnavailable, RejectedInput
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.storage.database import Connection, Database
from bbj_pipeline.storage.diffs import Diff, select_diff
from bbj_pipeline.storage.history import archive_chunks, chunk_columns, count_touched, excluded_columns
from bbj_pipeline.storage.publications import lock_instance, record_current
from bbj_pipeline.storage.queries import query
from bbj_pipeline.storage.spaces import Space, active_space, lock_spaces

__all__ = ["KeptPublication", "RollbackResult", "kept_publications", "lift_hold", "rollback"]


@dataclass(frozen=True, slots=True)
class RollbackResult:
    """What a rollback did: the new publication, whose state it brought back, which one it left, and the chunks it changed."""

    publication_id: int
    rolled_back_to: int
    rolled_back_from: int
    inserted: int
    updated: int
    deleted: int
    chunks: int
    diff: Diff


@dataclass(frozen=True, slots=True)
class KeptPublication:
    """A publication of an instance that can be brought back, or is current."""

    publication_id: int
    run_id: str
    published_at: datetime.datetime
    counts: Mapping[str, int]
    code_versions: Mapping[str, str]
    is_current: bool
    rolled_back_to: int | None
    _diff: Mapping[str, Any]

    @property
    def diff(self) -> Diff:
        """The documents it changed."""
        return Diff.from_json(self._diff)


def rollback(db: Database, ref: InstanceRef, *, to: int | None = None, run_id: str) -> RollbackResult:
    """Make the state of publication ``to`` of ``ref`` the served one; without ``to``, the one before what is served now.

    Raises ``RejectedInput`` when the instance is not served, when there is no such publication, or when its state is no
    longer kept or belongs to an embedding space that is not served; nothing is changed then.
    """
    plan = _Plan()
    return db.retried(lambda connection: _rollback(connection, ref, to, run_id, plan))


def kept_publications(db: Database, ref: InstanceRef) -> list[KeptPublication]:
    """Return the publications of ``ref`` in the served space that can be brought back, the newest first."""
    values = {"kind": ref.kind, "instance": ref.instance}
    rows = db.read(lambda connection: connection.execute(query("select_kept_publications"), values).fetchall())
    return [KeptPublication(*row) for row in rows]


def lift_hold(db: Database, ref: InstanceRef) -> bool:
    """Let the content that was rolled away be published again by the next refresh; return whether any was held."""
    values = {"kind": ref.kind, "instance": ref.instance}
    return db.retried(lambda connection: connection.execute(query("update_held"), values).rowcount > 0)


@dataclass(slots=True)
class _Plan:
    """What the first attempt found and chose: when its commit was lost on the way, the next one must not go further back."""

    current: int = 0
    target: int = 0


def _rollback(connection: Connection, ref: InstanceRef, to: int | None, run_id: str, plan: _Plan) -> RollbackResult:
    with connection.transaction():
        lock_instance(connection, ref)
        space = active_space(connection)
        if space is None:
            raise RejectedInput("nothing is published yet", remedy="run 'bbj-pipeline run'")
        return _Rollback(connection, ref, space).run(to, run_id, plan)


@dataclass(frozen=True, slots=True)
class _Publication:
    """A row of ``publications`` as ``select_publication`` gives it."""

    id: int
    space_id: int
    input_version: str
    content_version: str
    code_versions: Mapping[str, str]
    complete: bool
    withheld: int
    is_kept: bool
    rolled_back_to: int | None
    held: list[str]
    counts: Mapping[str, int]
    diff: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Rollback:
    """One rollback transaction."""

    connection: Connection
    ref: InstanceRef
    space: Space

    @property
    def instance(self) -> dict[str, Any]:
        return {"space_id": self.space.id, "kind": self.ref.kind, "instance": self.ref.instance}

    def run(self, to: int | None, run_id: str, plan: _Plan) -> RollbackResult:
        row = self._one("select_current_publication")
        if row is None:
            raise RejectedInput(f"{self.ref} is not served", remedy="'bbj-pipeline status' lists what is")
        current = self._publication(row[0])
        if plan.target and current.id > plan.current and current.rolled_back_to == plan.target:
            return _result(current, plan.current)
        target = self._target(current, plan.target or to)
        plan.current, plan.target = current.id, target.id
        held = sorted({*current.held, current.content_version} - {target.content_version})
        publication = self._one(
            "insert_publication",
            run_id=run_id,
            input_version=target.input_version,
            content_version=target.content_version,
            code_versions=Jsonb(dict(target.code_versions)),
            complete=target.complete,
            rolled_back_to=target.id,
            held=held,
        )
        assert publication is not None
        changes = self._restore(target.id, publication[0])
        diff = select_diff(self.connection, self.instance, publication_id=publication[0], is_first=False)
        self._record(publication[0], target, changes, diff)
        self.connection.execute(query("forget_held_publications"), {**self.instance, "held": held})
        lock_spaces(self.connection)
        if active_space(self.connection) != self.space:
            raise DatabaseUnavailable("another embedding space is served by now", remedy="run the rollback again")
        return _result(self._publication(publication[0]), current.id)

    def _target(self, current: _Publication, to: int | None) -> _Publication:
        if to is None:
            found = self._one("select_previous_publication")
            to = found[0] if found else None
            if to is None:
                raise RejectedInput(
                    f"no publication of {self.ref} before #{current.id} is kept", remedy="publish the earlier content again"
                )
        target = self._publication(to)
        if target.id == current.id:
            raise RejectedInput(f"publication #{to} of {self.ref} is the one that is served", remedy="name another one")
        if target.space_id != self.space.id:
            raise RejectedInput(
                f"publication #{to} of {self.ref} was made by another embedding model",
                remedy="configure that model again and run; a rollback stays within what is served",
            )
        if not target.is_kept:
            raise RejectedInput(
                f"publication #{to} of {self.ref} is no longer kept",
                remedy="'bbj-pipeline status --publications' lists those that are",
            )
        return target

    def _publication(self, publication_id: int) -> _Publication:
        row = self._one("select_publication", publication_id=publication_id)
        if row is None:
            raise RejectedInput(
                f"{self.ref} has no publication #{publication_id}",
                remedy="'bbj-pipeline status --publications' lists those that are kept",
            )
        return _Publication(*row)

    def _restore(self, target: int, publication_id: int) -> dict[str, int]:
        """Exchange the chunks and documents that are not as they were; return the numbers of chunks by change."""
        values = {**self.instance, "target": target, "publication_id": publication_id}
        tables = {"chunks": self.space.chunks, "history": self.space.history}
        for name in ("create_touched", "create_undo"):
            self.connection.execute(query(name))
        for name in ("insert_undo", "insert_undo_documents"):
            self.connection.execute(query(name, **tables), values)
        self.connection.execute("analyze undo, undo_documents")
        self.connection.execute(query("insert_touched_by_undo", **tables))
        self.connection.execute("analyze touched")
        archive_chunks(self.connection, self.space, self.instance, publication_id)
        self.connection.execute(query("insert_documents_history_by_undo"), values)
        self.connection.execute(query("delete_touched_chunks", **tables))
        self.connection.execute("set local gin_pending_list_limit = '64MB'")
        columns = {"columns": chunk_columns(), "old_columns": chunk_columns("old"), "excluded": excluded_columns()}
        self.connection.execute(query("restore_chunks", **tables, **columns))
        self.connection.execute(query("clean_pending_lists"), {"table": self.space.chunks.as_string(self.connection)})
        for name in ("delete_undone_documents", "restore_documents"):
            self.connection.execute(query(name), values)
        return count_touched(self.connection)

    def _record(self, publication_id: int, target: _Publication, changes: Mapping[str, int], diff: Diff) -> None:
        chunks, documents = (int((self._one(name) or (0,))[0]) for name in ("count_instance_chunks", "count_documents"))
        unchanged = chunks - changes["inserted"] - changes["updated"]
        numbers = {
            "chunks": chunks, "documents": documents, **changes,
            "unchanged": unchanged, "documents_deleted": diff.removed.documents,
        }  # fmt: skip
        record = {"counts": Jsonb(numbers), "diff": Jsonb(diff.to_json()), "withheld": target.withheld}
        record_current(self.connection, self.instance, publication_id, record)

    def _one(self, name: str, **values: Any) -> tuple[Any, ...] | None:
        return self.connection.execute(query(name, chunks=self.space.chunks), {**self.instance, **values}).fetchone()


def _result(done: _Publication, rolled_back_from: int) -> RollbackResult:
    assert done.rolled_back_to is not None
    counts = {name: done.counts[name] for name in ("inserted", "updated", "deleted", "chunks")}
    return RollbackResult(done.id, done.rolled_back_to, rolled_back_from, **counts, diff=Diff.from_json(done.diff))
