"""Judged queries: questions with the documents that answer them, read from JSON lines. Nothing is asked here.

One object a line: ``id``, ``query``, ``generation`` (hint or null), ``type``, and ``relevant``: a list of ``kind``,
``instance``, ``key``, ``heading`` (a section, or null for the whole document) and ``grade`` (1 helps, 2 answers).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.records import DocumentId, Generation, clean_text, content_hash

__all__ = ["NEGATIVE", "JudgedQuery", "JudgedSet", "Judgement", "load_judged"]

NEGATIVE = "negative"
"""The type of a query that has no answer in the corpus."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """How well a document answers a query; ``section`` is the heading of its best part, ``None`` for the whole document."""

    document: DocumentId
    grade: int
    section: str | None = None


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A question, the hint it is asked with, and every document that is of use for it. Others count as grade 0."""

    id: str
    text: str
    generation: Generation | None
    type: str
    judgements: tuple[Judgement, ...]

    @property
    def is_negative(self) -> bool:
        """Whether nothing in the corpus answers it."""
        return not self.judgements

    @property
    def kind(self) -> str | None:
        """The source kind it was written for: that of its first judgement."""
        return self.judgements[0].document.kind if self.judgements else None

    @property
    def grades(self) -> dict[DocumentId, int]:
        """Grade by document."""
        return {judgement.document: judgement.grade for judgement in self.judgements}


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """The queries of one file, in its order."""

    name: str
    queries: tuple[JudgedQuery, ...]

    @property
    def digest(self) -> str:
        """Identity of the set's content: results of two runs are comparable when it is equal."""
        return content_hash(self.queries)

    @property
    def answerable(self) -> tuple[JudgedQuery, ...]:
        """The queries that have an answer; negatives have no rank to measure."""
        return tuple(query for query in self.queries if not query.is_negative)

    @property
    def negatives(self) -> tuple[JudgedQuery, ...]:
        """The queries that have none."""
        return tuple(query for query in self.queries if query.is_negative)


class _Relevant(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    kind: str = Field(min_length=1)
    instance: str = Field(min_length=1)
    key: str = Field(min_length=1)
    heading: str | None = None
    grade: int = Field(ge=1, le=2)


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    id: str = Field(min_length=1, pattern=r"^\S+$")
    query: str = Field(min_length=1, max_length=4000)
    generation: Generation | None
    type: str = Field(min_length=1)
    relevant: list[_Relevant]

    @model_validator(mode="after")
    def _negative_or_answered(self) -> Self:
        if (self.type == NEGATIVE) != (not self.relevant):
            raise ValueError("a query is of type 'negative' exactly when nothing is relevant to it")
        return self


def load_judged(path: Path) -> JudgedSet:
    """Read a judged set; raise ``ConfigurationError`` naming file, line and field for anything that is not one.

    Ids are unique, and so is a document within its query.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise ConfigurationError(
            f"the judged queries {path} cannot be read ({reason})", remedy="name an existing JSON lines file in BBJ_JUDGED_FILE"
        ) from None
    queries = tuple(_query(path, number, line) for number, line in enumerate(lines, start=1) if line.strip())
    if not queries:
        raise ConfigurationError(f"{path} has no judged query", remedy="write one JSON object a line")
    _require_unique(path, "the query id", [query.id for query in queries])
    for query in queries:
        _require_unique(path, f"in query {query.id}, the document", [str(judgement.document) for judgement in query.judgements])
    return JudgedSet(path.name, queries)


def _query(path: Path, number: int, line: str) -> JudgedQuery:
    try:
        found = _Line.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ConfigurationError(
            f"{path} line {number}{f', {place}' if place else ''}: {first['msg']}", remedy="correct this line"
        ) from None
    judgements = tuple(
        Judgement(DocumentId(item.kind, item.instance, clean_text(item.key)), item.grade, item.heading)
        for item in found.relevant
    )
    return JudgedQuery(found.id, found.query, found.generation, found.type, judgements)


def _require_unique(path: Path, what: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ConfigurationError(f"{path}: {what} {name!r} stands twice", remedy="keep one of them")
        seen.add(name)
