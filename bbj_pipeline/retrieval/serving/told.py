"""What the service answers about content: hits, chunks with their origin, receipts and failures.

Models for REST, OpenAPI and MCP alike. How the service itself does is in ``state``.
"""

from __future__ import annotations

import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from bbj_pipeline.records import GENERATIONS, DocType, Generation
from bbj_pipeline.retrieval.serving.asked import EXAMPLE_ID

__all__ = ["Answer", "ChunkDetail", "FeedbackReceipt", "Problem"]


class _Told(BaseModel):
    """Output: fields may be added."""

    model_config = ConfigDict(extra="allow")


class Link(_Told):
    """A document that a passage's document leads to."""

    relation: str = Field(description="'superseded_by', 'supersedes' or 'related'.")
    kind: str
    instance: str
    key: str
    title: str
    url: str | None
    note: str = Field(description="What a migration has to know, where someone wrote it down.")


class Hit(_Told):
    """One passage."""

    rank: int
    score: float = Field(description="0 to 1, comparable inside one answer.")
    id: str = Field(description="Opens the passage with its neighbours and its origin.")
    kind: str
    instance: str
    key: str
    title: str
    heading_path: list[str]
    contextual_header: str
    content: str
    url: str | None = Field(description="Where the passage stands on the public site, if it does.")
    generations: list[Generation] = Field(description="Empty means unknown.")
    doc_type: DocType
    deprecated: bool = Field(description="A version deprecated it, or its authors no longer hold it valid.")
    superseded_by: list[str] = Field(description="Documents that take its place.")
    copies: list[dict[str, str]] | None = Field(default=None, description="Where the same text stands as well.")
    links: list[Link] | None = Field(default=None, description="The modern way beside a legacy one, and what belongs to it.")
    neighbours: list[dict[str, Any]] | None = Field(default=None, description="Passages around it, when asked for.")
    explain: dict[str, Any] | None = None


class Answer(_Told):
    """The best passages, best first."""

    query: str
    generation: Generation | None
    confidence: float = Field(
        description="0 to 1: how well the best hits fit the question; the same with and without a cross-encoder."
    )
    reranked: bool = Field(description="Whether a cross-encoder decided the order.")
    rerank_reason: str | None = Field(
        default=None,
        description="Why it did not: 'no reranker is configured', 'not asked for', 'nothing to rerank', 'budget spent' or "
        "'the reranker failed'.",
    )
    rerank_milliseconds: float | None = Field(default=None, description="How long it took, where it was asked.")
    no_hits_reason: str | None = Field(
        default=None,
        description="Why there are no hits, where there are none: 'nothing matches', 'confidence below the floor' or 'token "
        "budget too small'.",
    )
    hits: list[Hit]
    explain: dict[str, Any] | None = None

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "query": "How do I create a window?",
                    "generation": "dwc",
                    "confidence": 0.62,
                    "reranked": True,
                    "rerank_milliseconds": 412.5,
                    "hits": [
                        {
                            "rank": 1,
                            "score": 0.91,
                            "id": EXAMPLE_ID,
                            "kind": "javadoc",
                            "instance": "bbj-api",
                            "key": "com.basis.bbj.proxies.BBjSysGui",
                            "title": "BBjSysGui",
                            "heading_path": ["BBjSysGui", "addWindow"],
                            "contextual_header": "BBjSysGui > addWindow",
                            "content": "BBjTopLevelWindow addWindow(int x, int y, int w, int h, string title)",
                            "url": None,
                            "generations": ["bbj-gui", "dwc"],
                            "doc_type": "api-reference",
                            "deprecated": False,
                            "superseded_by": [],
                        }
                    ],
                }
            ]
        }
    )


class Provenance(BaseModel):
    """Where a chunk comes from."""

    raw_key: str | None = Field(description="The raw document's key in its instance.")
    raw_sha256: str | None = Field(description="SHA-256 of the raw document's bytes.")
    text_hash: str = Field(description="SHA-256 of what was embedded.")
    last_updated: datetime.datetime | None
    publication_id: int
    run_id: str
    published_at: datetime.datetime
    code_versions: dict[str, str] = Field(description="Versions of the stages that made it.")


class Neighbour(BaseModel):
    """A chunk before or after."""

    id: str
    ordinal: int
    title: str
    contextual_header: str
    content: str


class ChunkDetail(BaseModel):
    """One served chunk, its origin, and what stands around it in its document."""

    id: str
    kind: str
    instance: str
    key: str
    ordinal: int = Field(description="Place in its document, from 0.")
    title: str
    heading_path: list[str]
    contextual_header: str
    content: str
    url: str | None
    generations: list[Generation]
    doc_type: DocType
    tokens: int
    anchor: str | None
    page: int | None
    since_version: str | None
    deprecated_in: str | None
    still_valid: bool | None
    supersedes: list[str]
    superseded_by: list[str]
    migration_note: str | None
    keywords: list[str]
    provenance: Provenance
    neighbours: list[Neighbour] = Field(description="In the document's order; those before have a smaller ordinal.")


class FeedbackReceipt(BaseModel):
    """The number under which feedback was stored."""

    id: int


class Mistake(BaseModel):
    """One thing that is wrong in a request."""

    where: str
    what: str


class Problem(BaseModel):
    """A failure as RFC 9457 describes it, with the remedy."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str = Field(description="What happened.")
    remedy: str = Field(description="What to do.")
    errors: list[Mistake] | None = Field(default=None, description="Each mistake of a request that is not understood.")

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank",
                    "title": "Unprocessable Content",
                    "status": 422,
                    "detail": "the request is not understood (body.generation: unknown)",
                    "remedy": f"use one of: {', '.join(GENERATIONS)}",
                }
            ]
        }
    )
