"""Stage 4: the first hits in the order of a cross-encoder, inside a time budget. Knows no model and no SQL.

Scores of a cross-encoder have no scale: one model's logits lie in -11..11, another's in 0..1. Only their order is used, and put
on the scale of the fusion, reciprocal ranks, so that generations weigh after it what they were measured to weigh before it.
"""

from __future__ import annotations

import dataclasses
import logging
import math
import time
from collections.abc import Callable, Sequence

from bbj_pipeline.errors import PipelineError
from bbj_pipeline.records import Generation
from bbj_pipeline.retrieval.contract import NotReranked, Reranker, Reranking, SearchHit

__all__ = ["reordered", "rerank"]

Adjust = Callable[[float, Sequence[Generation]], float]
"""Gives the score that a relevance (0..1) has with a chunk's generations."""

log = logging.getLogger(__name__)


def rerank(
    reranker: Reranker, query: str, hits: Sequence[SearchHit], *, count: int, seconds: float, k: int, adjust: Adjust
) -> tuple[list[SearchHit], Reranking]:
    """Return the hits with the first ``count`` in the reranker's order, and what became of it.

    When ``seconds`` are over before all of them are scored, when a score is no number or when the model fails, the hits come
    back as they were: half an order would be none.
    """
    first = hits[:count]
    started = time.perf_counter()
    scores: Sequence[float] | None = None
    reason: NotReranked | None = None
    try:
        scores = reranker.score(query, [hit.chunk.text for hit in first], seconds=seconds)
    except PipelineError as error:
        log.warning("not reranked: %s", error)
        reason = "the reranker failed"
    milliseconds = round((time.perf_counter() - started) * 1000, 3)
    if reason is None and scores is None:
        reason = "budget spent"
    elif scores is not None and not all(map(math.isfinite, scores)):
        log.warning("not reranked: %s gave a score that is no number", reranker.name)
        scores, reason = None, "the reranker failed"
    if scores is None:
        return list(hits), Reranking(False, reason, milliseconds)
    return reordered(hits, scores, k=k, adjust=adjust), Reranking(True, None, milliseconds)


def reordered(hits: Sequence[SearchHit], scores: Sequence[float], *, k: int, adjust: Adjust) -> list[SearchHit]:
    """Order the first ``len(scores)`` hits by score and generation; equal scores keep their order, the others follow.

    The hit at rank r (from 1) has the relevance (k + 1) / (k + r), which ``adjust`` lowers by its generations.
    """
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
    ranks = {place: rank for rank, place in enumerate(order, start=1)}
    scored = []
    for place, score in enumerate(scores):
        hit, rank = hits[place], ranks[place]
        relevance = (k + 1) / (k + rank)
        explain = None
        if hit.explain is not None:
            seen = {"rank": rank, "score": round(float(score), 6)}
            explain = {**hit.explain, "rerank": seen, "relevance": round(relevance, 6)}
        final = round(adjust(relevance, hit.chunk.generations), 6)
        scored.append((-final, rank, dataclasses.replace(hit, score=final, explain=explain)))
    first = [hit for _, _, hit in sorted(scored, key=lambda item: item[:2])]
    lowest = first[-1].score if first else 1.0
    return [*first, *(dataclasses.replace(hit, score=round(lowest * hit.score, 6)) for hit in hits[len(scores) :])]
