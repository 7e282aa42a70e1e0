"""The records of a search and what a reranker must offer. No SQL and no scoring.

Field names are those of the JSON the command line prints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bbj_pipeline.records import DocType, Generation, embedding_text, to_json

__all__ = ["Candidate", "Reranker", "SearchHit", "SearchResponse"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk as search reads it."""

    id: str
    kind: str
    instance: str
    key: str
    title: str
    heading_path: tuple[str, ...]
    contextual_header: str
    content: str
    url: str | None
    generations: tuple[Generation, ...]
    doc_type: DocType

    @property
    def text(self) -> str:
        """Contextual header and content, as they were embedded."""
        return embedding_text(self.contextual_header, self.content)


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One result. ``rank`` counts from 1, ``score`` lies in 0..1, ``explain`` tells each stage's part in it."""

    rank: int
    score: float
    chunk: Candidate
    explain: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the hit as one flat JSON object; ``url`` may be null, ``explain`` is there when asked for."""
        chunk = to_json(self.chunk)
        chunk["url"] = self.chunk.url
        explain = {} if self.explain is None else {"explain": to_json(self.explain)}
        return {"rank": self.rank, "score": self.score, **chunk, **explain}


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """The answer to one query, best hit first. ``explain`` tells paths, counts and milliseconds of the stages."""

    query: str
    generation: Generation | None
    hits: tuple[SearchHit, ...]
    explain: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the response as JSON data; ``explain`` is absent if not asked for."""
        explain = {} if self.explain is None else {"explain": to_json(self.explain)}
        return {"query": self.query, "generation": self.generation, "hits": [hit.to_json() for hit in self.hits], **explain}


class Reranker(Protocol):
    """Reads query and passages together, where the legs compare them apart (a cross-encoder)."""

    def score(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        """Return the relevance of each passage to the query, in 0..1."""
