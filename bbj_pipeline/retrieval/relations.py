"""What the corpus reports know of the found chunks: which are copies of each other, and what supersedes their documents.

Read in the snapshot of the search itself; before the reports have ever run, nothing is known and nothing changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bbj_pipeline.records import DocumentId
from bbj_pipeline.retrieval.contract import Candidate, DocumentLink
from bbj_pipeline.storage.corpus import document_links, representatives
from bbj_pipeline.storage.database import Connection
from bbj_pipeline.storage.spaces import Space

__all__ = ["Copies", "find_copies", "find_links", "same_text"]


@dataclass(frozen=True, slots=True)
class Copies:
    """The group of each chunk that has copies, by chunk id, and the ids that stand for their group where they are found."""

    groups: Mapping[str, str]
    preferred: frozenset[str] = frozenset()


def same_text(chunks: Sequence[Candidate]) -> Mapping[str, str]:
    """Group chunks whose header and content are equal to the letter."""
    return {chunk.id: chunk.text_hash for chunk in chunks}


def find_copies(connection: Connection, space: Space, chunks: Sequence[Candidate]) -> Copies:
    """Group equal texts and stored near-duplicates; of a copied page, the passages under one heading go together."""
    groups = dict(same_text(chunks))
    known = {chunk.id: chunk for chunk in chunks}
    found = representatives(connection, space, list(known))
    by_heading = {(_document(chunk), _heading(chunk)): chunk for chunk in reversed(chunks)}
    preferred = set()
    for identity, representative in found.items():
        original = representative.chunk_id
        if original is None:
            page = by_heading.get((representative.document, _heading(known[identity])))
            original = page.id if page is not None else None
        if original is None or original == identity:
            continue
        groups[identity] = groups.get(original, original)
        preferred.add(original)
    return Copies(groups, frozenset(preferred))


def find_links(connection: Connection, space: Space, chunks: Sequence[Candidate]) -> dict[str, tuple[DocumentLink, ...]]:
    """Return by chunk id what supersedes the chunk's document (the nearest first), what it supersedes, and what is related."""
    documents = {chunk.id: _document(chunk) for chunk in chunks}
    found = document_links(connection, space, list(dict.fromkeys(documents.values())))
    return {
        identity: tuple(
            DocumentLink(link.relation, link.id.kind, link.id.instance, link.id.key, link.title, link.url, link.note)
            for link in found[document]
        )
        for identity, document in documents.items()
        if document in found
    }


def _document(chunk: Candidate) -> DocumentId:
    return DocumentId(chunk.kind, chunk.instance, chunk.key)


def _heading(chunk: Candidate) -> str:
    return chunk.heading_path[-1].casefold() if chunk.heading_path else ""
