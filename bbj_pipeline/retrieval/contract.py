"""The records of a search and what its replaceable parts must offer. No SQL and no scoring.

Field names are those of the JSON the command line prints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from bbj_pipeline.records import DocType, Generation, embedding_text, to_json

__all__ = [
    "Candidate",
    "DocumentLink",
    "Groups",
    "NoHits",
    "NotReranked",
    "Reranker",
    "Reranking",
    "SearchHit",
    "SearchResponse",
]

NotReranked = Literal["no reranker is configured", "not asked for", "nothing to rerank", "budget spent", "the reranker failed"]
"""Why an order is that of the fusion."""
NoHits = Literal["nothing matches", "confidence below the floor", "token budget too small"]
"""Why an answer has no hits."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk as search reads it; ``deprecated`` marks what a version deprecated or the authors no longer hold valid."""

    id: str
    kind: str
    instance: str
    key: str
    ordinal: int
    title: str
    heading_path: tuple[str, ...]
    contextual_header: str
    content: str
    url: str | None
    generations: tuple[Generation, ...]
    doc_type: DocType
    tokens: int
    since_version: str | None
    deprecated_in: str | None
    deprecated: bool
    superseded_by: tuple[str, ...]
    migration_note: str | None
    text_hash: str

    @property
    def text(self) -> str:
        """Contextual header and content, as they were embedded."""
        return embedding_text(self.contextual_header, self.content)


@dataclass(frozen=True, slots=True)
class DocumentLink:
    """A document that a found one leads to; ``relation`` is ``superseded_by``, ``supersedes`` or ``related``."""

    relation: str
    kind: str
    instance: str
    key: str
    title: str
    url: str | None
    note: str


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One result. ``rank`` counts from 1, ``score`` lies in 0..1, ``explain`` tells each stage's part in it.

    ``copies`` are other chunks of the same or nearly the same text, ``neighbours`` the chunks around it, in order, ``links``
    what supersedes its document, is superseded by it or related to it.
    """

    rank: int
    score: float
    chunk: Candidate
    copies: tuple[Candidate, ...] = ()
    neighbours: tuple[Candidate, ...] = ()
    links: tuple[DocumentLink, ...] = ()
    explain: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the hit as one flat JSON object; ``url`` may be null, ``explain`` is there when asked for."""
        flat: dict[str, Any] = {"rank": self.rank, "score": self.score, **_plain(self.chunk)}
        if self.copies:
            flat["copies"] = [{"kind": copy.kind, "instance": copy.instance, "key": copy.key} for copy in self.copies]
        if self.links:
            flat["links"] = [{**to_json(link), "url": link.url} for link in self.links]
        if self.neighbours:
            flat["neighbours"] = [_plain(chunk) for chunk in self.neighbours]
        return flat if self.explain is None else {**flat, "explain": to_json(self.explain)}


@dataclass(frozen=True, slots=True)
class Reranking:
    """Whether a cross-encoder decided the order, why not if it did not, and how long it took (0 when it was not asked)."""

    done: bool
    reason: NotReranked | None
    milliseconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the fields it has in a response."""
        reason = {} if self.reason is None else {"rerank_reason": self.reason}
        spent = {"rerank_milliseconds": self.milliseconds} if self.milliseconds else {}
        return {"reranked": self.done, **reason, **spent}


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """The answer to one query, best hit first. ``explain`` tells paths, counts and milliseconds of the stages.

    ``confidence`` (0..1) is how well the best hits fit the question; below the floor a confident search returns no hits.
    It is computed before a cross-encoder reorders them, so one floor holds with and without it. ``without`` says why there are
    no hits, where there are none.
    """

    query: str
    generation: Generation | None
    hits: tuple[SearchHit, ...]
    confidence: float = 0.0
    reranking: Reranking = Reranking(False, "no reranker is configured")
    without: NoHits | None = None
    explain: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the response as JSON data; ``explain`` is absent if not asked for."""
        explain = {} if self.explain is None else {"explain": to_json(self.explain)}
        return {
            "query": self.query,
            "generation": self.generation,
            "confidence": self.confidence,
            **self.reranking.to_json(),
            **({} if self.without is None else {"no_hits_reason": self.without}),
            "hits": [hit.to_json() for hit in self.hits],
            **explain,
        }


class Reranker(Protocol):
    """Reads query and passages together, where the legs compare them apart (a cross-encoder)."""

    @property
    def name(self) -> str:
        """The model and its revision."""

    def warm(self) -> None:
        """Get ready to score; raises ``ModelError`` when it cannot."""

    def score(self, query: str, passages: Sequence[str], *, seconds: float) -> Sequence[float] | None:
        """Return a score of each passage, higher is better, on any scale; ``None`` when ``seconds`` were not enough for all."""


class Groups(Protocol):
    """Knows which chunks are copies of each other."""

    def __call__(self, chunks: Sequence[Candidate]) -> Mapping[str, str]:
        """Return the group of each chunk that has copies, by chunk id; chunks of one group are shown once."""


def _plain(chunk: Candidate) -> dict[str, Any]:
    plain = to_json(chunk)
    plain["url"] = chunk.url
    del plain["text_hash"]
    return dict(plain)
