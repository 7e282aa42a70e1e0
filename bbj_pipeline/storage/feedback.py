"""Writes what readers say of answers and the questions without a good one, and reads both for the gap report.

Grouping and wording of the report belong to ``retrieval``. Whether a question may be kept at all is the caller's decision.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from bbj_pipeline.records import Generation
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.queries import query

__all__ = ["Feedback", "Gap", "add_feedback", "add_gap", "select_gaps"]


@dataclass(frozen=True, slots=True)
class Feedback:
    """A reader's word on one hit, or on the whole answer when ``chunk_id`` is ``None``."""

    query: str
    useful: bool
    generation: Generation | None = None
    chunk_id: str | None = None
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """A question without a good answer: how often it was asked in vain, and how readers judged what it found.

    ``hits`` and ``strength`` are of the last time; both are ``None`` when the question is known from feedback alone.
    """

    query: str
    generation: Generation | None
    asked: int
    hits: int | None
    strength: float | None
    not_useful: int
    useful: int
    comments: tuple[str, ...]
    last: datetime.datetime

    @property
    def weight(self) -> int:
        """How often someone was left without an answer."""
        return self.asked + self.not_useful


def add_feedback(db: Database, feedback: Feedback) -> int | None:
    """Store one feedback; return its number, ``None`` when its chunk is not served (any more)."""
    values = {
        "query": feedback.query,
        "generation": feedback.generation,
        "chunk_id": feedback.chunk_id,
        "useful": feedback.useful,
        "comment": feedback.comment,
    }
    with db.connection() as connection:
        row = connection.execute(query("add_feedback"), values).fetchone()
    return None if row is None else row[0]


def add_gap(db: Database, question: str, generation: Generation | None, *, hits: int, strength: float | None) -> None:
    """Count a question that got ``hits`` hits of the given strength (0..1), and that is too little."""
    values = {"query": question, "generation": generation, "hits": hits, "strength": strength}
    with db.connection() as connection:
        connection.execute(query("add_question_gap"), values)


def select_gaps(db: Database, *, since: datetime.datetime, limit: int) -> list[Gap]:
    """Return the questions without a good answer since then, the most pressing first, ``limit`` at most."""
    with db.connection() as connection:
        rows = connection.execute(query("select_gaps"), {"since": since, "limit": limit}).fetchall()
    return [
        Gap(text, generation, asked, hits, strength, bad, good, tuple(comments), last)
        for text, generation, asked, hits, strength, bad, good, comments, last in rows
    ]
