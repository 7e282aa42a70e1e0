"""What is known across sources: streams the served corpus to the reports, keeps what they find, and gives it to search.

Each set of findings is replaced in one transaction, so that a reader sees the earlier set or the new one. What is found is
decided in ``stages``; nothing here computes it.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from psycopg.types.json import Jsonb

from bbj_pipeline.records import DocumentId, InstanceRef
from bbj_pipeline.stages.duplicates import Copy
from bbj_pipeline.stages.modernisation import DroppedLink, LinkGraph
from bbj_pipeline.storage.database import Connection, Database
from bbj_pipeline.storage.queries import query
from bbj_pipeline.storage.spaces import Space, active_space

__all__ = [
    "CorpusReader",
    "CorpusRow",
    "DocumentCopy",
    "LinkedDocument",
    "Representative",
    "StoredReport",
    "corpus_reader",
    "document_links",
    "published_generations",
    "read_report",
    "replace_duplicates",
    "replace_links",
    "representatives",
    "save_report",
]

MOST_STEPS = 8
"""Steps of supersession that are followed from a document: there are four generations of user interface."""
_ROWS = 500
_SECONDS = 600.0
_LOCK = "select pg_advisory_xact_lock(hashtextextended('bbj_pipeline corpus', 0))"


@dataclass(frozen=True, slots=True)
class CorpusRow:
    """A served chunk with what is known of its document; ``metadata`` as published."""

    id: str
    kind: str
    instance: str
    doc_key: str
    ordinal: int
    title: str
    heading_path: list[str]
    doc_type: str
    generation: list[str]
    content: str
    url: str | None
    tokens: int
    since_version: str | None
    still_valid: bool | None
    supersedes: list[str]
    superseded_by: list[str]
    migration_note: str | None
    metadata: Mapping[str, Any]
    last_updated: datetime.datetime | None

    @property
    def document(self) -> DocumentId:
        """The identity of its document."""
        return DocumentId(self.kind, self.instance, self.doc_key)


@dataclass(frozen=True, slots=True)
class LinkedDocument:
    """A document that a link leads to from an asked one.

    ``relation`` is ``superseded_by``, ``supersedes`` or ``related``. ``distance`` counts steps of supersession, from 1.
    """

    relation: str
    id: DocumentId
    title: str
    url: str | None
    origin: str
    note: str
    distance: int


@dataclass(frozen=True, slots=True)
class DocumentCopy:
    """A document, or the section of one, that is a near-duplicate of another."""

    document: DocumentId
    section: str
    representative: DocumentId
    representative_section: str
    jaccard: float


@dataclass(frozen=True, slots=True)
class Representative:
    """What a chunk is a copy of: a chunk (``chunk_id``), or for a chunk of a copied page its document alone."""

    chunk_id: str | None
    document: DocumentId
    jaccard: float


@dataclass(frozen=True, slots=True)
class StoredReport:
    """The latest report of a name, as Markdown."""

    name: str
    markdown: str
    counts: Mapping[str, Any]
    run_id: str
    created_at: datetime.datetime


class CorpusReader:
    """The served corpus and what is known across it, at one moment; an empty one before the first publication."""

    def __init__(self, connection: Connection, space: Space | None) -> None:
        self._connection = connection
        self._space = space
        self._cursors = 0

    def rows(self) -> Iterator[CorpusRow]:
        """Yield all served chunks, document by document in reading order; memory does not grow with their number."""
        if self._space is None:
            return
        self._cursors += 1
        with self._connection.cursor(name=f"corpus_{self._cursors}") as cursor:
            cursor.itersize = _ROWS
            cursor.execute(query("select_corpus_chunks", chunks=self._space.chunks), {"space_id": self._space.id})
            for row in cursor:
                yield CorpusRow(*row)

    def dropped_links(self) -> list[DroppedLink]:
        """Return the extracted links that are not in the graph."""
        rows = self._connection.execute(query("select_dropped_links"))
        return [DroppedLink(DocumentId(*row[:3]), *row[3:]) for row in rows]

    def links(self) -> list[tuple[DocumentId, str, DocumentId, str]]:
        """Return all links as (from, relation, to, origin)."""
        rows = self._connection.execute(query("select_all_document_links"))
        return [(DocumentId(*row[:3]), row[3], DocumentId(*row[4:7]), row[7]) for row in rows]

    def copies(self) -> list[Copy]:
        """Return all copied chunks."""
        return [Copy(*row) for row in self._connection.execute(query("select_all_duplicates"))]

    def document_copies(self) -> list[DocumentCopy]:
        """Return all copied documents."""
        rows = self._connection.execute(query("select_all_duplicate_documents"))
        return [DocumentCopy(DocumentId(*row[:3]), row[3], DocumentId(*row[4:7]), row[7], row[8]) for row in rows]


@contextmanager
def corpus_reader(db: Database) -> Iterator[CorpusReader]:
    """Give a reader whose every question is answered from the same state of the database."""
    with db.snapshot(timeout=_SECONDS) as connection:
        yield CorpusReader(connection, active_space(connection))


def replace_links(db: Database, graph: LinkGraph, documents: Mapping[DocumentId, tuple[str, str | None]]) -> None:
    """Make ``graph`` the links that search follows; ``documents`` gives title and URL of each document in it."""
    named = sorted({item for link in graph.links for item in (link.source, link.target)})
    with db.connection() as connection, connection.transaction():
        connection.execute(_LOCK)
        connection.execute("delete from document_links; delete from linked_documents; delete from dropped_links")
        _insert(
            connection,
            "insert_document_link",
            ((*link.source, link.relation, *link.target, link.origin, link.note) for link in graph.links),
        )
        _insert(connection, "insert_linked_document", ((*item, *documents[item]) for item in named))
        _insert(
            connection,
            "insert_dropped_link",
            ((*item.source, item.relation, item.target, item.reason, item.detail) for item in graph.dropped),
        )


def replace_duplicates(db: Database, copies: Iterable[Copy], documents: Iterable[DocumentCopy]) -> None:
    """Make these the copies that search collapses."""
    with db.connection() as connection, connection.transaction():
        connection.execute(_LOCK)
        connection.execute("delete from duplicates; delete from duplicate_documents")
        _insert(connection, "insert_duplicate", ((copy.member, copy.representative, copy.jaccard) for copy in copies))
        _insert(
            connection,
            "insert_duplicate_document",
            (
                (*item.document, item.section, *item.representative, item.representative_section, item.jaccard)
                for item in documents
            ),
        )


def document_links(
    connection: Connection, space: Space, documents: Sequence[DocumentId]
) -> dict[DocumentId, list[LinkedDocument]]:
    """Return what supersedes, is superseded by and is related to each of ``documents``, the nearest first.

    A document without links is not in the result; neither are targets that ``space`` does not serve.
    """
    values = {
        "space_id": space.id,
        "kinds": [item.kind for item in documents],
        "instances": [item.instance for item in documents],
        "keys": [item.key for item in documents],
        "most_steps": MOST_STEPS,
    }
    found: dict[DocumentId, list[LinkedDocument]] = {}
    for row in connection.execute(query("select_document_links"), values):
        linked = LinkedDocument(row[3], DocumentId(*row[4:7]), *row[7:])
        found.setdefault(DocumentId(*row[:3]), []).append(linked)
    return found


def representatives(connection: Connection, space: Space, chunk_ids: Sequence[str]) -> dict[str, Representative]:
    """Return, for each of ``chunk_ids`` that is a copy, what it is a copy of; of a chunk that is none, nothing.

    Search keeps the hit whose id or document is the representative's and shows the others as its alternates.
    """
    values = {"ids": list(chunk_ids), "space_id": space.id}
    found: dict[str, Representative] = {}
    for row in connection.execute(query("select_duplicates", chunks=space.chunks), values):
        found.setdefault(row[0], Representative(row[2], DocumentId(*row[3:6]), row[6]))
    return found


def published_generations(db: Database, ref: InstanceRef) -> dict[tuple[str, ...], int]:
    """Return the number of served chunks of an instance by their generations; empty when nothing of it is served."""
    with db.connection() as connection:
        space = active_space(connection)
        if space is None:
            return {}
        values = {"space_id": space.id, "kind": ref.kind, "instance": ref.instance}
        return {tuple(row[0]): row[1] for row in connection.execute(query("select_published_generations"), values)}


def save_report(db: Database, name: str, markdown: str, counts: Mapping[str, Any], run_id: str) -> None:
    """Keep a report in place of the earlier one of its name."""
    values = {"name": name, "markdown": markdown, "counts": Jsonb(dict(counts)), "run_id": run_id}
    with db.connection() as connection:
        connection.execute(query("upsert_corpus_report"), values)


def read_report(db: Database, name: str) -> StoredReport | None:
    """Return the latest report of a name, ``None`` when none was made."""
    with db.connection() as connection:
        row = connection.execute(query("select_corpus_report"), {"name": name}).fetchone()
    return None if row is None else StoredReport(*row)


def _insert(connection: Connection, name: str, rows: Iterable[tuple[Any, ...]]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(query(name), rows)
