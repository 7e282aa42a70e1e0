"""Asks the judged queries and keeps, of each answer, the ranking of documents. Nothing is scored here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from bbj_pipeline.evaluation.judged import JudgedQuery
from bbj_pipeline.evaluation.metrics import DEPTH
from bbj_pipeline.records import DocumentId, Generation
from bbj_pipeline.retrieval import Candidate, SearchHit, SearchResponse
from bbj_pipeline.stages.contract import Embedder, Vector, Vectors

__all__ = ["HITS", "Answer", "EmbedOnce", "Searches", "ask"]

HITS = 50
"""Chunks asked for: ten documents are among them almost always."""
_PAGE = re.compile(r"page \d+")
"""A section of a document without headings; a hit does not tell its page."""


class Searches(Protocol):
    """What is asked: a ``Searcher``."""

    def search(self, query: str, *, generation: Generation | None = None, limit: int = 5) -> SearchResponse:
        """Return the best chunks for ``query``."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a search gave for one judged query.

    ``documents`` are the first ten, best first. ``in_section`` tells whether a chunk of a judged section was among the hits'
    first ten documents, ``None`` when no section is judged. ``confidence`` is the search's own, in 0..1.
    """

    query: JudgedQuery
    documents: tuple[DocumentId, ...]
    in_section: bool | None
    confidence: float


class EmbedOnce:
    """An embedder that embeds each query once, for asking the same queries under many configurations."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Vector] = {}

    @property
    def fingerprint(self) -> str:
        """The embedder's own."""
        return self._embedder.fingerprint

    @property
    def dimension(self) -> int:
        """The embedder's own."""
        return self._embedder.dimension

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed documents, each time anew."""
        return self._embedder.embed_documents(texts)

    def embed_query(self, text: str) -> Vector:
        """Embed a query, or return the vector it was given before."""
        if text not in self._known:
            self._known[text] = self._embedder.embed_query(text)
        return self._known[text]


def ask(searcher: Searches, queries: Iterable[JudgedQuery], *, hinted: bool = True, limit: int = HITS) -> Iterator[Answer]:
    """Yield the answer to each query; without ``hinted`` the queries' generation hints are kept from the search."""
    for query in queries:
        response = searcher.search(query.text, generation=query.generation if hinted else None, limit=limit)
        documents = ranked_documents(response.hits)[:DEPTH]
        yield Answer(query, tuple(documents), _in_section(query, response.hits, documents), response.confidence)


def ranked_documents(hits: Iterable[SearchHit]) -> list[DocumentId]:
    """Return the documents in the order of their best chunks.

    Judgements name documents, so only a document's first chunk counts: counted again, a second one would be a second answer
    where the reader has one (and lift nDCG over 1); left in its place as worthless, it would punish long documents for being
    cut into chunks. A hit's copies are shown with it, so their documents stand right behind it.
    """
    found = (chunk for hit in hits for chunk in (hit.chunk, *hit.copies))
    return list(dict.fromkeys(_document(chunk) for chunk in found))


def _document(chunk: Candidate) -> DocumentId:
    return DocumentId(chunk.kind, chunk.instance, chunk.key)


def _in_section(query: JudgedQuery, hits: Sequence[SearchHit], documents: Sequence[DocumentId]) -> bool | None:
    sections = ((item.document, _plain(item.section)) for item in query.judgements if item.section is not None)
    wanted = {(document, section) for document, section in sections if not _PAGE.fullmatch(section)}
    if not wanted:
        return None
    first = set(documents)
    found = (chunk for hit in hits for chunk in (hit.chunk, *hit.copies) if _document(chunk) in first)
    return any((_document(chunk), heading) in wanted for chunk in found for heading in _headings(chunk))


def _headings(chunk: Candidate) -> Iterator[str]:
    """Yield the headings a chunk stands under, and those inside it: short sections are packed into one chunk."""
    inside = (line.lstrip("#") for line in chunk.content.splitlines() if line.startswith("#"))
    return map(_plain, (chunk.title, *chunk.heading_path, *inside))


def _plain(heading: str) -> str:
    """Return a heading without case, zero-width spaces and repeated white space, as headings are compared."""
    return " ".join(heading.replace("\u200b", "").casefold().split())
