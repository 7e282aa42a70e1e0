"""Publishes an instance: one transaction after which readers see its new chunks, or, if anything fails, its old ones.

Only rows that changed are written; ``staging`` finds them. What a row holds is decided in ``rows``, which space is served in
``spaces``; this module replaces, deletes within the deletion guard, and records the publication.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from psycopg.types.json import Jsonb

from bbj_pipeline.records import InstanceRef, content_hash
from bbj_pipeline.storage.database import Connection, Database
from bbj_pipeline.storage.diffs import Diff, select_diff
from bbj_pipeline.storage.history import (
    END_OF_TIME,
    archive_chunks,
    archive_documents,
    chunk_columns,
    excluded_columns,
    forget_before,
)
from bbj_pipeline.storage.lexical import settle
from bbj_pipeline.storage.publications import lock_instance, record_current
from bbj_pipeline.storage.queries import query
from bbj_pipeline.storage.rows import ROW_VERSION, PublishRow
from bbj_pipeline.storage.spaces import Space, activate_when_complete, prepare_space
from bbj_pipeline.storage.staging import StagedCounts, stage

__all__ = ["PublishResult", "PublishRow", "publish"]

GUARD_DOCUMENTS = 10
GUARD_SHARE = 0.10
"""Deletions are withheld when more documents than the first number and more than this share would vanish (design, 5.5)."""


@dataclass(frozen=True, slots=True)
class PublishResult:
    """What a publication did, in chunks; ``documents_deleted``, ``withheld`` and ``kept`` are documents.

    ``withheld`` wait for a complete or believable listing; ``kept`` are served as they were because they are broken now.

    ``active`` tells whether search reads the space published to; a new space waits until every instance is complete in it.
    ``held`` is the status when this very content was rolled away: ``publication_id`` is then the publication that holds it
    back, ``rolled_back_to`` the one it brought back.
    """

    publication_id: int
    status: Literal["published", "unchanged", "held"]
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0
    documents_deleted: int = 0
    withheld: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    space_id: int = 0
    active: bool = True
    rolled_back_to: int | None = None
    diff: Diff = field(default_factory=Diff)


def publish(
    db: Database,
    ref: InstanceRef,
    *,
    rows: Callable[[], Iterator[PublishRow]],
    fingerprint: str,
    dimension: int,
    input_version: str,
    run_id: str,
    code_versions: Mapping[str, str],
    content_version: str | None = None,
    complete: bool = True,
    broken: Collection[str] = (),
    approve_deletions: bool = False,
) -> PublishResult:
    """Make ``rows`` the served chunks of ``ref`` in the embedding space of ``fingerprint``, in one transaction.

    ``rows`` is called once (again when the connection was lost, and must then give the same rows) and gives one at a time;
    memory does not grow with their number. The same ``input_version`` as the current publication writes nothing, and
    neither does a ``content_version`` (the input without the model; ``input_version`` when left out) that was rolled away.
    Chunks of documents that are gone are deleted, unless the listing was not ``complete`` or the deletion guard holds; those
    documents are ``withheld``, and ``approve_deletions`` overrides both. Documents whose raw or document key is in ``broken``
    are not gone: their rows stay. Raises ``RejectedInput`` when two rows are one chunk and ``ModelError`` for a vector of
    another shape; whatever is raised, also by ``rows``, leaves the served rows as they were.
    """
    # A document that was broken and is now gone changes no row that is to be written, but one that is to be deleted.
    stays = content_hash(sorted(broken))[:16]
    record = {
        "run_id": run_id,
        "input_version": f"{ROW_VERSION}:{input_version}:{stays}",
        "content_version": f"{content_version or input_version}:{stays}",
        "code_versions": Jsonb(dict(code_versions)),
        "complete": complete,
        "rolled_back_to": None,
        "held": [],
    }

    def attempt(connection: Connection) -> PublishResult:
        space = prepare_space(connection, fingerprint, dimension)
        with connection.transaction():
            job = _Publication(connection, ref, space, rows, frozenset(broken), record)
            result = job.run(approve=approve_deletions)
        written = result.inserted + result.updated + result.deleted
        settle(connection, space, written)
        return result

    return db.retried(attempt)


@dataclass(frozen=True, slots=True)
class _Publication:
    """One publishing transaction; its methods are its steps, in order."""

    connection: Connection
    ref: InstanceRef
    space: Space
    rows: Callable[[], Iterator[PublishRow]]
    broken: frozenset[str]
    record: Mapping[str, Any]

    @property
    def instance(self) -> dict[str, Any]:
        return {"space_id": self.space.id, "kind": self.ref.kind, "instance": self.ref.instance}

    def run(self, *, approve: bool) -> PublishResult:
        lock_instance(self.connection, self.ref)
        current = self._one("select_current_publication")
        if current is not None and self._is_up_to_date(current):
            active = activate_when_complete(self.connection, self.space)
            return PublishResult(
                publication_id=current[0], status="unchanged", unchanged=current[4], space_id=self.space.id, active=active
            )
        hold = self._one("select_hold", content_version=self.record["content_version"])
        if hold is not None:
            return self._held(*hold, chunks=current[4] if current else 0)
        return self._publish(is_first=current is None, approve=approve)

    def _held(self, publication_id: int, rolled_back_to: int, *, chunks: int) -> PublishResult:
        active = activate_when_complete(self.connection, self.space)
        return PublishResult(
            publication_id=publication_id,
            status="held",
            unchanged=chunks,
            space_id=self.space.id,
            active=active,
            rolled_back_to=rolled_back_to,
        )

    def _publish(self, *, is_first: bool, approve: bool) -> PublishResult:
        if is_first:  # nothing to go back to, and nothing that an earlier life of this space left
            forget_before(self.connection, self.space, self.instance, END_OF_TIME)
        publication = self._one("insert_publication", **self.record)
        assert publication is not None
        counts = stage(self.connection, self.space, self.ref, self.rows(), publication_id=publication[0])
        # An export without a single document is an unmounted folder sooner than a source that was emptied.
        complete = self.record["complete"] and counts.documents > 0
        vanished, withheld, kept = self._vanished(complete=complete, approve=approve)
        deleted = self._touch_gone(counts, [*withheld, *kept])
        if not is_first:
            archive_chunks(self.connection, self.space, self.instance, publication[0])
            archive_documents(self.connection, self.instance, publication[0], vanished)
        if counts.changed:
            self._write_changed()
        self._delete(deleted, vanished)
        result = PublishResult(
            publication_id=publication[0],
            status="published",
            inserted=counts.inserted,
            updated=counts.updated,
            deleted=deleted,
            unchanged=counts.chunks - counts.changed,
            documents_deleted=len(vanished),
            withheld=tuple(withheld),
            kept=tuple(kept),
            space_id=self.space.id,
            diff=select_diff(self.connection, self.instance, publication_id=publication[0], is_first=is_first),
        )
        self._record(result, counts)
        return dataclasses.replace(result, active=activate_when_complete(self.connection, self.space))

    def _vanished(self, *, complete: bool, approve: bool) -> tuple[list[str], list[str], list[str]]:
        """Return the documents to delete, those withheld (one of the two is empty), and those kept because they are broken."""
        missing = self.connection.execute(query("select_vanished_documents"), self.instance).fetchall()
        kept = [key for key, raw_key in missing if key in self.broken or raw_key in self.broken]
        vanished = [key for key, raw_key in missing if key not in self.broken and raw_key not in self.broken]
        row = self._one("count_documents")
        served = row[0] if row else 0
        too_many = len(vanished) > GUARD_DOCUMENTS and len(vanished) > GUARD_SHARE * served
        return ([], vanished, kept) if (too_many or not complete) and not approve else (vanished, [], kept)

    def _touch_gone(self, counts: StagedCounts, staying: list[str]) -> int:
        """Note which chunks are to be deleted; return how many. To find them takes a look at every chunk of the instance."""
        if not counts.gone:
            return 0
        values = {**self.instance, "staying": staying}
        deleted = self.connection.execute(query("insert_touched_gone", chunks=self.space.chunks), values).rowcount
        self.connection.execute("analyze touched")
        return deleted

    def _write_changed(self) -> None:
        self.connection.execute("set local gin_pending_list_limit = '64MB'")
        parts = {"columns": chunk_columns(), "excluded": excluded_columns()}
        self.connection.execute(query("upsert_chunks", chunks=self.space.chunks, **parts))
        self.connection.execute(query("clean_pending_lists"), {"table": self.space.chunks.as_string(self.connection)})

    def _delete(self, deleted: int, vanished: list[str]) -> None:
        """Delete the chunks that are gone, the vanished documents among them, and renew what is known of documents."""
        if deleted:
            self.connection.execute(query("delete_touched_chunks", chunks=self.space.chunks))
        if vanished:
            self.connection.execute(query("delete_vanished_documents"), {**self.instance, "doc_keys": vanished})
        self.connection.execute(query("upsert_documents"), self.instance)

    def _record(self, result: PublishResult, counts: StagedCounts) -> None:
        names = ("inserted", "updated", "deleted", "unchanged", "documents_deleted")
        numbers = {"chunks": counts.chunks, "documents": counts.documents, **{name: getattr(result, name) for name in names}}
        record = {"counts": Jsonb(numbers), "diff": Jsonb(result.diff.to_json()), "withheld": len(result.withheld)}
        record_current(self.connection, self.instance, result.publication_id, record)

    def _one(self, name: str, **values: Any) -> tuple[Any, ...] | None:
        return self.connection.execute(query(name), {**self.instance, **values}).fetchone()

    def _is_up_to_date(self, current: tuple[Any, ...]) -> bool:
        """Tell whether publishing again would change nothing; withheld deletions and an incomplete listing stay open."""
        _, published_version, was_complete, withheld, _ = current
        is_same = published_version == self.record["input_version"] and withheld == 0
        return is_same and (was_complete or not self.record["complete"])
