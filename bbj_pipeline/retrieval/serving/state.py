"""What the service answers about itself: health, part by part, and statistics of what is served."""

from __future__ import annotations

import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Health", "Liveness", "Part", "Readiness", "Stats"]


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
    reranker: Part

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)


class Health(BaseModel):
    """Live and ready apart."""

    live: Liveness
    ready: Readiness
