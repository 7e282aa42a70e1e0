"""Publishes an instance: one transaction after which readers see its new chunks, or, if anything fails, its old ones.

Only rows that changed are written. What a row holds is decided in ``rows``, which space is served in ``spaces``; this module
compares, copies, deletes within the deletion guard, and records the publication.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from psycopg import sql
from psycopg.types.json import Jsonb

from bbj_pipeline.errors import RejectedInput
from bbj_pipeline.records import InstanceRef, content_hash
from bbj_pipeline.storage.database import Connection, Database
from bbj_pipeline.storage.lexical import settle
from bbj_pipeline.storage.queries import query
from bbj_pipeline.storage.rows import (
    CHUNK_COLUMNS,
    ROW_VERSION,
    STAGED_TYPES,
    PublishRow,
    chunk_types,
    chunk_values,
    staged_values,
)
from bbj_pipeline.storage.spaces import Space, activate_when_complete, prepare_space

__all__ = ["PublishResult", "PublishRow", "publish"]

GUARD_DOCUMENTS = 10
GUARD_SHARE = 0.10
"""Deletions are withheld when more documents than the first number and more than this share would vanish (design, 5.5)."""
BATCH = 500
"""Rows in one COPY: a megabyte or two, whatever the corpus."""
ANALYZE_SHARE = 0.05
"""Statistics are taken anew when more than this share of an instance's chunks changed."""


@dataclass(frozen=True, slots=True)
class PublishResult:
    """What a publication did, in chunks; ``documents_deleted``, ``withheld`` and ``kept`` are documents.

    ``withheld`` wait for a complete or believable listing; ``kept`` are served as they were because they are broken now.

    ``active`` tells whether search reads the space published to; a new space waits until every instance is complete in it.
    """

    publication_id: int
    status: Literal["published", "unchanged"]
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0
    documents_deleted: int = 0
    withheld: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    space_id: int = 0
    active: bool = True


@dataclass(frozen=True, slots=True)
class _Counts:
    chunks: int
    documents: int
    inserted: int
    updated: int


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
    complete: bool = True,
    broken: Collection[str] = (),
    approve_deletions: bool = False,
) -> PublishResult:
    """Make ``rows`` the served chunks of ``ref`` in the embedding space of ``fingerprint``, in one transaction.

    ``rows`` is called once or twice and must give the same rows each time, one at a time; memory does not grow with their
    number. The same ``input_version`` as the current publication writes nothing. Chunks of documents that are gone are
    deleted, unless the listing was not ``complete`` or the deletion guard holds; those documents are ``withheld``, and
    ``approve_deletions`` overrides both. Documents whose raw or document key is in ``broken`` are not gone: their rows stay.
    Raises ``RejectedInput`` when two rows are one chunk and ``ModelError`` for a vector
    of another shape; whatever is raised, also by ``rows``, leaves the served rows as they were.
    """
    with db.connection() as connection:
        space = prepare_space(connection, fingerprint, dimension)
        with connection.transaction():
            job = _Publication(connection, ref, space, rows, frozenset(broken))
            # A document that was broken and is now gone changes no row that is to be written, but one that is to be deleted.
            version = f"{ROW_VERSION}:{input_version}:{content_hash(sorted(job.broken))[:16]}"
            result = job.run(version, run_id, code_versions, complete, approve_deletions)
        written = result.inserted + result.updated + result.deleted
        if written > ANALYZE_SHARE * (result.unchanged + written):
            connection.execute(sql.SQL("analyze {}, documents").format(space.chunks))
            settle(connection, space)
    return result


@dataclass(frozen=True, slots=True)
class _Publication:
    """One publishing transaction; its methods are its steps, in order."""

    connection: Connection
    ref: InstanceRef
    space: Space
    rows: Callable[[], Iterator[PublishRow]]
    broken: frozenset[str]

    @property
    def instance(self) -> dict[str, Any]:
        return {"space_id": self.space.id, "kind": self.ref.kind, "instance": self.ref.instance}

    def run(
        self, input_version: str, run_id: str, code_versions: Mapping[str, str], complete: bool, approve: bool
    ) -> PublishResult:
        self._lock()
        current = self._one("select_current_publication")
        if current is not None and _is_up_to_date(current, input_version, complete=complete):
            active = activate_when_complete(self.connection, self.space)
            return PublishResult(
                publication_id=current[0], status="unchanged", unchanged=current[4], space_id=self.space.id, active=active
            )
        counts = self._stage()
        # An export without a single document is an unmounted folder sooner than a source that was emptied.
        vanished, withheld, kept = self._vanished(complete=complete and counts.documents > 0, approve=approve)
        record = {"run_id": run_id, "input_version": input_version, "complete": complete}
        publication = self._one("insert_publication", **record, code_versions=Jsonb(dict(code_versions)))
        assert publication is not None
        if counts.inserted + counts.updated:
            self._write_changed(counts, publication[0])
        result = PublishResult(
            publication_id=publication[0],
            status="published",
            inserted=counts.inserted,
            updated=counts.updated,
            deleted=self._delete(vanished, [*withheld, *kept]),
            unchanged=counts.chunks - counts.inserted - counts.updated,
            documents_deleted=len(vanished),
            withheld=tuple(withheld),
            kept=tuple(kept),
            space_id=self.space.id,
        )
        self._record(result, counts)
        return dataclasses.replace(result, active=activate_when_complete(self.connection, self.space))

    def _lock(self) -> None:
        self.connection.execute(
            "select pg_advisory_xact_lock(hashtextextended('bbj_pipeline publish ' || %s, 0))", (str(self.ref),)
        )

    def _stage(self) -> _Counts:
        """Copy identities and hashes of all rows, and let the database find the new and the changed ones."""
        self.connection.execute(query("create_staging"))
        with self.connection.cursor() as cursor, cursor.copy(query("copy_staged")) as copy:
            copy.set_types(STAGED_TYPES)
            for n, row in enumerate(self.rows()):
                copy.write_row(staged_values(n, row.chunk, self.ref))
        duplicate = self._one("select_duplicate")
        if duplicate is not None:
            raise RejectedInput(
                f"{self.ref} has {duplicate[1]} chunks with one identity in {duplicate[0]!r}",
                remedy="number the chunks of a section from 0, each number once",
            )
        self.connection.execute("alter table staged add primary key (id); analyze staged")
        self.connection.execute(query("insert_wanted", chunks=self.space.chunks))
        counts = self._one("count_staged")
        assert counts is not None
        return _Counts(*counts)

    def _vanished(self, *, complete: bool, approve: bool) -> tuple[list[str], list[str], list[str]]:
        """Return the documents to delete, those withheld (one of the two is empty), and those kept because they are broken."""
        missing = self.connection.execute(query("select_vanished_documents"), self.instance).fetchall()
        kept = [key for key, raw_key in missing if key in self.broken or raw_key in self.broken]
        vanished = [key for key, raw_key in missing if key not in self.broken and raw_key not in self.broken]
        row = self._one("count_documents")
        served = row[0] if row else 0
        too_many = len(vanished) > GUARD_DOCUMENTS and len(vanished) > GUARD_SHARE * served
        return ([], vanished, kept) if (too_many or not complete) and not approve else (vanished, [], kept)

    def _write_changed(self, counts: _Counts, publication_id: int) -> None:
        self.connection.execute(query("create_changed", chunks=self.space.chunks))
        stream = self.rows()
        first = written = 0
        while batch := list(islice(stream, BATCH)):
            bounds = {"first": first, "last": first + len(batch)}
            wanted = [n - first for (n,) in self.connection.execute(query("select_wanted"), bounds)]
            self._copy_changed([batch[n] for n in wanted], publication_id)
            first += len(batch)
            written += len(wanted)
        if written != counts.inserted + counts.updated or first != counts.chunks:
            raise RejectedInput(
                f"the rows of {self.ref} differed when read again", remedy="run it again when nothing writes them"
            )
        columns = sql.SQL(", ").join(map(sql.Identifier, CHUNK_COLUMNS))
        self.connection.execute("set local gin_pending_list_limit = '64MB'")
        excluded = sql.SQL(", ").join(sql.Identifier("excluded", name) for name in CHUNK_COLUMNS)
        self.connection.execute(query("upsert_chunks", chunks=self.space.chunks, columns=columns, excluded=excluded))
        self.connection.execute(query("clean_pending_lists"), {"table": self.space.chunks.as_string(self.connection)})

    def _copy_changed(self, batch: list[PublishRow], publication_id: int) -> None:
        if not batch:
            return
        columns = sql.SQL(", ").join(map(sql.Identifier, CHUNK_COLUMNS))
        with self.connection.cursor() as cursor, cursor.copy(query("copy_changed", columns=columns)) as copy:
            copy.set_types(chunk_types())
            for changed in batch:
                copy.write_row(chunk_values(changed, self.ref, dimension=self.space.dimension, publication_id=publication_id))

    def _delete(self, vanished: list[str], staying: list[str]) -> int:
        """Delete the chunks that are gone, the vanished documents among them, and renew what is known of documents."""
        deleted = self.connection.execute(
            query("delete_vanished_chunks", chunks=self.space.chunks), {**self.instance, "staying": staying}
        ).rowcount
        if vanished:
            self.connection.execute(query("delete_vanished_documents"), {**self.instance, "doc_keys": vanished})
        self.connection.execute(query("upsert_documents"), self.instance)
        return deleted

    def _record(self, result: PublishResult, counts: _Counts) -> None:
        names = ("inserted", "updated", "deleted", "unchanged", "documents_deleted")
        numbers = {"chunks": counts.chunks, "documents": counts.documents, **{name: getattr(result, name) for name in names}}
        self.connection.execute(
            query("update_current_publication"),
            {
                **self.instance,
                "publication_id": result.publication_id,
                "counts": Jsonb(numbers),
                "withheld": len(result.withheld),
            },
        )

    def _one(self, name: str, **values: Any) -> tuple[Any, ...] | None:
        return self.connection.execute(query(name), {**self.instance, **values}).fetchone()


def _is_up_to_date(current: tuple[Any, ...], input_version: str, *, complete: bool) -> bool:
    """Tell whether publishing again would change nothing; withheld deletions and an incomplete listing stay open."""
    _, published_version, was_complete, withheld, _ = current
    return published_version == input_version and withheld == 0 and (was_complete or not complete)
