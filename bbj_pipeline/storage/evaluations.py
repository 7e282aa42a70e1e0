"""Keeps what evaluations found: one row a run, one a query. What the numbers mean belongs to ``evaluation``."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.types.json import Jsonb

from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.queries import query

__all__ = [
    "EvaluationMeans",
    "EvaluationRecord",
    "QueryResult",
    "StoredEvaluation",
    "evaluation_history",
    "evaluation_scores",
    "latest_evaluation",
    "record_evaluation",
]


@dataclass(frozen=True, slots=True)
class QueryResult:
    """What one query gave; ``scores`` are its metrics by name, ``None`` for one without an answer in the corpus."""

    query_id: str
    scores: Mapping[str, float] | None
    documents: Sequence[str]
    confidence: float


@dataclass(frozen=True, slots=True)
class EvaluationRecord:
    """A run of the judged queries: of which set (``judged``, its digest), state of everything, and publications it speaks."""

    run_id: str
    judged: str
    judged_name: str
    state: str
    space_id: int
    publications: Mapping[str, int]
    config: Mapping[str, Any]
    report: str
    compared_with: int | None
    regressed: bool


@dataclass(frozen=True, slots=True)
class StoredEvaluation:
    """A run as it is kept; ``publications`` are ids by ``kind/instance``."""

    id: int
    run_id: str
    state: str
    space_id: int
    publications: Mapping[str, int]
    report: str
    regressed: bool


@dataclass(frozen=True, slots=True)
class EvaluationMeans:
    """The mean of each metric in one run."""

    id: int
    evaluated_at: datetime.datetime
    regressed: bool
    means: Mapping[str, float]


def record_evaluation(db: Database, record: EvaluationRecord, results: Sequence[QueryResult]) -> int:
    """Store a run with the results of its queries in one transaction; return its id."""
    run = {
        "run_id": record.run_id, "judged": record.judged, "judged_name": record.judged_name, "state": record.state,
        "space_id": record.space_id, "publications": Jsonb(dict(record.publications)), "config": Jsonb(dict(record.config)),
        "report": record.report, "compared_with": record.compared_with, "regressed": record.regressed,
    }  # fmt: skip
    with db.connection() as connection, connection.transaction():
        row = connection.execute(query("insert_evaluation"), run).fetchone()
        assert row is not None  # an insert that returns its id
        values = [
            {
                "evaluation_id": row[0],
                "query_id": result.query_id,
                "scores": None if result.scores is None else Jsonb(dict(result.scores)),
                "documents": list(result.documents),
                "confidence": result.confidence,
            }
            for result in results
        ]
        with connection.cursor() as cursor:
            cursor.executemany(query("insert_evaluation_result"), values)
    return int(row[0])


def latest_evaluation(db: Database, judged: str, *, baseline: bool) -> StoredEvaluation | None:
    """Return the last run of the judged set with this digest; with ``baseline`` the last that was no regression."""
    with db.connection() as connection:
        row = connection.execute(query("select_latest_evaluation"), {"judged": judged, "baseline": baseline}).fetchone()
    return None if row is None else StoredEvaluation(*row)


def evaluation_scores(db: Database, evaluation_id: int) -> dict[str, Mapping[str, float]]:
    """Return the metrics of a run's answerable queries by query id."""
    with db.connection() as connection:
        return dict(connection.execute(query("select_evaluation_scores"), {"evaluation_id": evaluation_id}).fetchall())


def evaluation_history(db: Database, judged: str, *, limit: int) -> list[EvaluationMeans]:
    """Return the means of the last ``limit`` runs of a judged set, the oldest first."""
    with db.connection() as connection:
        rows = connection.execute(query("select_evaluation_history"), {"judged": judged, "limit": limit}).fetchall()
    return [EvaluationMeans(identity, when, regressed, means or {}) for identity, when, regressed, means in reversed(rows)]
