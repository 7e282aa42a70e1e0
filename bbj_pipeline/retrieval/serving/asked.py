"""What the service may be asked, as models for REST, OpenAPI and MCP alike: bounds and messages of every field.

``Question`` is the one place that knows what a search takes: its fields are the arguments of ``Searcher.search`` by name.
What is answered is in ``told`` and ``state``.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from bbj_pipeline.records import DocType, Generation, clean_text
from bbj_pipeline.retrieval.request import MAX_FILTERS, MAX_LIMIT, MAX_NEIGHBOURS, MAX_QUERY_CHARACTERS, MAX_RERANK_MILLISECONDS
from bbj_pipeline.sources.registry import source_kinds

__all__ = ["CHUNK_ID", "EXAMPLE_ID", "FeedbackBody", "Opening", "Question", "SearchBody"]

MAX_COMMENT = 2000
CHUNK_ID = r"^[0-9a-f]{32}$"

EXAMPLE_ID = "3f2a9c51d07be846a1b2c3d4e5f60718"
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
Milliseconds = Annotated[int, Field(ge=1, le=MAX_RERANK_MILLISECONDS), BeforeValidator(_whole)]
ChunkId = Annotated[str, Field(pattern=CHUNK_ID, examples=[EXAMPLE_ID])]


class _Asked(BaseModel):
    """Input: an unknown field or another type is a mistake of the caller, and said."""

    model_config = ConfigDict(extra="forbid", strict=True)


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
    rerank: bool = Field(
        default=True,
        description="Let a cross-encoder order the best passages, where the service has one; the answer says whether it did.",
    )
    rerank_milliseconds: Milliseconds | None = Field(
        default=None,
        description="Time the cross-encoder has; when that is not enough, the order without it comes back. None means the "
        "service's own.",
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
