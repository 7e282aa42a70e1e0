"""What the service is asked and what it answers, as one set of models for REST, OpenAPI and MCP.

``Question`` is the one place that knows what may be asked: its fields are the arguments of ``Searcher.search`` by name.
"""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from bbj_pipeline.records import GENERATIONS, DocType, Generation, clean_text
from bbj_pipeline.retrieval.request import MAX_FILTERS, MAX_LIMIT, MAX_NEIGHBOURS, MAX_QUERY_CHARACTERS
from bbj_pipeline.sources.registry import source_kinds

__all__ = [
    "Answer",
    "ChunkDetail",
    "FeedbackBody",
    "FeedbackReceipt",
    "Health",
    "Liveness",
    "Opening",
    "Part",
    "Problem",
    "Question",
    "Readiness",
    "SearchBody",
    "Stats",
]

MAX_COMMENT = 2000
CHUNK_ID = r"^[0-9a-f]{32}$"

_EXAMPLE_ID = "3f2a9c51d07be846a1b2c3d4e5f60718"
_GENERATION = (
    "The generation of BBj the developer works in: 'character' (character terminals), 'vpro5' (Visual PRO/5 mnemonics such as "
    "PRINT (sysgui)'WINDOW'), 'bbj-gui' (BBj's Swing GUI through BBjAPI and BBjSysGui), 'dwc' (BBj in the browser: DWC, "
    "formerly BUI), 'all' (language parts that every generation shares). It raises matching passages; others stay below "
    "them in the answer. Leave it out when it is not known: the modern way then comes first."
)


def _searchable(text: str) -> str:
    if "\0" in text:
        raise PydanticCustomError("nul", "has a NUL character: remove it")
    if not clean_text(text).split():
        raise PydanticCustomError("empty", "is empty: ask in a few words what you look for")
    return text


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise PydanticCustomError("nul", "has a NUL character: remove it")
    return text


def _whole(value: object) -> object:
    """Return 5 for 5.0: JSON has one kind of number, and some clients write whole ones so."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _known_kind(kind: str) -> str:
    if kind not in source_kinds():
        raise PydanticCustomError("kind", "unknown source kind: use one of: {known}", {"known": ", ".join(source_kinds())})
    return kind


_QUERY_SCHEMA = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_QUERY_CHARACTERS,
    # no U+0000, and something besides white space and control characters
    "pattern": r"^[^\u0000]*[^\u0000-\u0020\u007f-\u00a0\s][^\u0000]*$",
}
QueryText = Annotated[str, Field(max_length=MAX_QUERY_CHARACTERS), AfterValidator(_searchable), WithJsonSchema(_QUERY_SCHEMA)]
Comment = Annotated[
    str,
    Field(max_length=MAX_COMMENT),
    AfterValidator(_without_nul),
    WithJsonSchema({"type": "string", "maxLength": MAX_COMMENT, "pattern": r"^[^\u0000]*$"}),
]
Kind = Annotated[str, AfterValidator(_known_kind), WithJsonSchema({"type": "string", "enum": list(source_kinds())})]
Source = Annotated[
    str,
    Field(max_length=200),
    AfterValidator(_without_nul),
    WithJsonSchema({"type": "string", "maxLength": 200, "pattern": r"^[^\u0000]*$"}),
]
Version = Annotated[str, Field(pattern=r"^[0-9]{1,4}(\.[0-9]{1,2})?$")]
Whole = Annotated[int, BeforeValidator(_whole)]
# Bounds outside of "or null", or after the validator, would not reach the schema.
Budget = Annotated[int, Field(ge=1, le=1_000_000), BeforeValidator(_whole)]
ChunkId = Annotated[str, Field(pattern=CHUNK_ID, examples=[_EXAMPLE_ID])]


class _Asked(BaseModel):
    """Input: an unknown field or another type is a mistake of the caller, and said."""

    model_config = ConfigDict(extra="forbid", strict=True)


class _Told(BaseModel):
    """Output: fields may be added."""

    model_config = ConfigDict(extra="allow")


class Question(_Asked):
    """What may be asked of a search."""

    query: QueryText = Field(
        description="The developer's question or an identifier, in plain words as a person would write it.",
        examples=["How do I create a window?"],
    )
    generation: Generation | None = Field(default=None, description=_GENERATION, examples=["dwc"])
    strict: bool = Field(
        default=False,
        description="Only passages of the given generation and those that hold for all; needs a generation.",
    )
    kinds: list[Kind] = Field(
        default_factory=list,
        max_length=20,
        description="Only these source kinds, for example 'javadoc' for API signatures; empty means all.",
    )
    sources: list[Source] = Field(
        default_factory=list,
        max_length=MAX_FILTERS,
        description="Only these instances, written kind/instance; empty means all.",
    )
    doc_types: list[DocType] = Field(
        default_factory=list, max_length=20, description="Only these types of passage, for example 'example'; empty means all."
    )
    version: Version | None = Field(
        default=None, description="The developer's BBj version, 19 or 19.10: leaves out what came later.", examples=["19.10"]
    )
    current: bool = Field(default=False, description="Leave out what is deprecated or no longer valid.")
    limit: Whole = Field(default=5, ge=1, le=MAX_LIMIT, description="Hits at most.")
    token_budget: Budget | None = Field(
        default=None, description="Tokens of the embedding model that all passages may have together."
    )
    neighbours: Whole = Field(
        default=0, ge=0, le=MAX_NEIGHBOURS, description="Passages before and after each hit to return with it."
    )
    confident: bool = Field(
        default=False, description="Nothing rather than noise: no hits when the documentation does not seem to have the answer."
    )

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of ``Searcher.search`` besides the query."""
        return self.model_dump(exclude={"query"})


class SearchBody(Question):
    """A question by REST."""

    explain: bool = Field(default=False, description="Show each stage's part in every hit, and the milliseconds.")

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"query": "How do I create a window?", "generation": "dwc"},
                {"query": "BBjSysGui addWindow", "kinds": ["javadoc"], "limit": 3},
            ]
        }
    )


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
    neighbours: list[dict[str, Any]] | None = Field(default=None, description="Passages around it, when asked for.")
    explain: dict[str, Any] | None = None


class Answer(_Told):
    """The best passages, best first."""

    query: str
    generation: Generation | None
    confidence: float = Field(description="0 to 1: how well the best hits fit the question.")
    hits: list[Hit]
    explain: dict[str, Any] | None = None

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "query": "How do I create a window?",
                    "generation": "dwc",
                    "confidence": 0.62,
                    "hits": [
                        {
                            "rank": 1,
                            "score": 0.91,
                            "id": _EXAMPLE_ID,
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


class Opening(_Asked):
    """What an agent opens."""

    chunk_id: ChunkId = Field(description="The chunk id of a hit: 32 hexadecimal digits.")
    neighbours: Whole = Field(default=1, ge=0, le=MAX_NEIGHBOURS, description="Passages to show before and after it.")


class FeedbackBody(_Asked):
    """A reader's word on a hit, or on a whole answer when no chunk is named."""

    query: QueryText = Field(description="The question that was asked.", examples=["How do I create a window?"])
    useful: bool
    chunk_id: ChunkId | None = Field(default=None, description="The hit; none means the answer as a whole.")
    generation: Generation | None = Field(default=None, description="The generation that was asked for.")
    comment: Comment | None = Field(default=None, description="What was missing or wrong.")

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"query": "How do I create a window?", "useful": False, "comment": "Only the terminal mnemonic is described."}
            ]
        }
    )


class FeedbackReceipt(BaseModel):
    """The number under which feedback was stored."""

    id: int


class InstanceStats(BaseModel):
    """The current publication of an instance."""

    chunks: int
    publication_id: int
    run_id: str
    published_at: datetime.datetime
    complete: bool = Field(description="Whether the export it was made from was complete.")


class Stats(BaseModel):
    """What is served."""

    fingerprint: str = Field(description="The embedding space.")
    dimension: int
    chunks: int
    instances: dict[str, InstanceStats] = Field(description="By kind/instance.")
    generations: dict[str, int] = Field(description="Chunks by label; one of several labels counts under each.")
    doc_types: dict[str, int]


class Part(BaseModel):
    """One thing the service needs."""

    ok: bool
    what: str
    remedy: str | None = None


class Liveness(BaseModel):
    """The process answers."""

    ok: Literal[True] = True
    version: str


class Readiness(BaseModel):
    """Whether a search would be answered, part by part."""

    ok: bool
    database: Part
    schema_: Part = Field(alias="schema")
    space: Part
    model: Part

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)


class Health(BaseModel):
    """Live and ready apart."""

    live: Liveness
    ready: Readiness


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
