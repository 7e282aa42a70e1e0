"""Judgements and rankings in TREC's file formats, which every evaluation tool reads. Text in, text out; no files."""

from __future__ import annotations

from collections.abc import Iterable

from bbj_pipeline.evaluation.judged import JudgedQuery
from bbj_pipeline.evaluation.running import Answer
from bbj_pipeline.records import DocumentId

__all__ = ["qrels", "run"]


def qrels(queries: Iterable[JudgedQuery]) -> str:
    """Return ``query 0 document grade`` a line; negatives have none."""
    return "".join(
        f"{query.id} 0 {_name(judgement.document)} {judgement.grade}\n" for query in queries for judgement in query.judgements
    )


def run(answers: Iterable[Answer], *, tag: str = "bbj-pipeline") -> str:
    """Return ``query Q0 document rank score tag`` a line.

    The score is 1/rank: tools sort by it and not by rank, and break ties their own way; so there are no ties.
    """
    return "".join(
        f"{answer.query.id} Q0 {_name(document)} {rank} {1 / rank:.6f} {tag}\n"
        for answer in answers
        for rank, document in enumerate(answer.documents, start=1)
    )


def _name(document: DocumentId) -> str:
    """Return a document's name as one word: white space, which parts the columns, is written %20 and a percent sign %25."""
    return "".join(f"%{ord(char):02X}" if char.isspace() or char == "%" else char for char in str(document))
