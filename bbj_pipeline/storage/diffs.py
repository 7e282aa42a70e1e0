"""What a publication changed, document by document: a bounded list for people, kept with the publication's record.

Reads what the transaction noted in ``touched``; it changes nothing and knows nothing of how it is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from bbj_pipeline.storage.database import Connection
from bbj_pipeline.storage.queries import query

__all__ = ["DIFF_DOCUMENTS", "Diff", "DocumentChange", "DocumentChanges", "select_diff"]

DIFF_DOCUMENTS = 100
"""Documents of each sort that are listed by name; the rest is counted."""


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """One document and how many of its chunks were inserted, updated and deleted."""

    doc_key: str
    inserted: int
    updated: int
    deleted: int


@dataclass(frozen=True, slots=True)
class DocumentChanges:
    """All documents of one sort: how many, how many of their chunks were touched, and the first of them by key."""

    documents: int = 0
    chunks: int = 0
    first: tuple[DocumentChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Diff:
    """The documents whose served chunks a publication added, changed or removed.

    A document of which only the raw hash or the time is new is not among them: what it serves is the same.
    """

    added: DocumentChanges = field(default_factory=DocumentChanges)
    changed: DocumentChanges = field(default_factory=DocumentChanges)
    removed: DocumentChanges = field(default_factory=DocumentChanges)

    def to_json(self) -> dict[str, Any]:
        """Return the diff as it is kept with the publication."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Diff:
        """Return a kept diff; one that was never taken is empty."""
        return cls(
            **{
                label: DocumentChanges(
                    found["documents"], found["chunks"], tuple(DocumentChange(**change) for change in found["first"])
                )
                for label, found in stored.items()
            }
        )


def select_diff(connection: Connection, instance: Mapping[str, Any], *, publication_id: int, is_first: bool) -> Diff:
    """Return what the transaction touched, once it has renewed ``documents``; ``is_first``: nothing was published before."""
    values = {**instance, "publication_id": publication_id, "is_first": is_first, "shown": DIFF_DOCUMENTS}
    totals: dict[str, tuple[int, int]] = {}
    first: dict[str, list[DocumentChange]] = {}
    for label, documents, chunks, *change in connection.execute(query("select_document_changes"), values):
        totals[label] = (documents, chunks)
        first.setdefault(label, []).append(DocumentChange(*change))
    return Diff(**{label: DocumentChanges(*totals[label], tuple(changes)) for label, changes in first.items()})
