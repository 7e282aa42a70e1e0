"""The weights and bounds of a search, and where each comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from bbj_pipeline.settings import Settings

__all__ = ["SearchConfig"]


@dataclass(frozen=True, slots=True)
class SearchConfig:
    """How the stages are weighted.

    Candidates and weights are what 112 judged queries over the real corpora chose (``benchmarks/RESULTS.md``); the blueprint's
    20 a leg with .7 and .3 were worse than the lexical leg alone. ``rrf_k`` is the blueprint's.

    ``target_weight`` and ``preference_weight`` are the largest share of its relevance a chunk can lose to its generation
    score: much when the caller names the generation he works in, little when the pipeline only prefers the modern one.
    ``phrase_bonus`` and ``identifier_bonus`` are the shares a chunk gains in which two neighbouring words of the question, or
    one of its identifiers, stand as they were written, ``coverage_bonus`` that of one in which all its terms stand.
    ``rerank_candidates`` is how many of the first hits a reranker reads (the blueprint's 20), in ``rerank_seconds`` at most.
    ``confidence_floor`` is what a confident search demands: the middle between what the samples' negative queries reach at most
    (.30) and their answerable ones at least (.41). ``per_document`` and ``kind_share`` bound how many of the hits
    come from one document and one kind while others are left. ``timeout`` is in seconds, for each statement.
    """

    dense_candidates: int = 100
    lexical_candidates: int = 100
    dense_weight: float = 0.5
    lexical_weight: float = 0.5
    rrf_k: int = 60
    target_weight: float = 0.8
    preference_weight: float = 0.2
    phrase_bonus: float = 0.2
    identifier_bonus: float = 0.2
    coverage_bonus: float = 0.2
    rerank_candidates: int = 20
    rerank_seconds: float = 2.0
    confidence_floor: float = 0.35
    per_document: int = 2
    kind_share: float = 0.8
    timeout: float = 10.0

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Take what the settings say and leave the rest at its default."""
        return cls(
            dense_candidates=settings.dense_candidates,
            lexical_candidates=settings.lexical_candidates,
            dense_weight=settings.dense_weight,
            lexical_weight=settings.lexical_weight,
            rrf_k=settings.rrf_k,
            confidence_floor=settings.confidence_floor,
            rerank_candidates=settings.reranker_candidates,
            rerank_seconds=settings.reranker_milliseconds / 1000,
        )
