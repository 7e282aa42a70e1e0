"""What a search tells about itself: milliseconds of the stages, and each stage's part in a hit. Nothing is decided here."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from bbj_pipeline.retrieval.contract import Candidate, DocumentLink, Reranker, Reranking
from bbj_pipeline.retrieval.legs import Ranked
from bbj_pipeline.retrieval.relations import Copies

__all__ = ["Clock", "Found", "explain_hit", "explain_search"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Found:
    """What the database gave for one query; ``fused`` are scores by id, best first, ``chunks`` counts all that are served.

    ``candidates`` are the shortlist, the only ones whose texts were read, and ``matched`` the terms of the question that each
    has; ``copies`` are known among them, ``links`` of their documents by chunk id.
    """

    chunks: int
    dense: Ranked
    lexical: Ranked
    fused: Mapping[str, float]
    candidates: Mapping[str, Candidate]
    matched: Mapping[str, frozenset[str]]
    copies: Copies
    links: Mapping[str, tuple[DocumentLink, ...]]

    @property
    def frequencies(self) -> Mapping[str, int]:
        """Document frequencies of the question's terms."""
        terms: Mapping[str, int] = self.lexical.details["terms"]
        return terms


class Clock:
    """Milliseconds by stage."""

    def __init__(self) -> None:
        self.milliseconds: dict[str, float] = {}

    def time(self, stage: str, work: Callable[[], T]) -> T:
        """Do the work and keep how long it took."""
        start = time.perf_counter()
        result = work()
        self.milliseconds[stage] = round((time.perf_counter() - start) * 1000, 3)
        return result


def explain_hit(found: Found, identity: str, relevance: float, generation: int, old: str | None) -> dict[str, Any]:
    """Return rank and score in each leg (null where it is not), the fused score, the relevance scored, the generation score.

    ``old`` is the chunk of a superseded document that the relevance comes from, if it does.
    """
    ranks = {name: leg.places.get(identity) for name, leg in (("dense", found.dense), ("lexical", found.lexical))}
    places = {name: None if place is None else {"rank": place[0], "score": round(place[1], 6)} for name, place in ranks.items()}
    return {
        **places,
        "fused": round(found.fused[identity], 6),
        "relevance": round(relevance, 6),
        "generation_score": generation,
        **({} if old is None else {"in_place_of": old}),
    }


def explain_search(found: Found, clock: Clock, reranking: Reranking, reranker: Reranker | None) -> dict[str, Any]:
    """Return path, counts and details of the legs, what became of the reranking, and the milliseconds of all stages."""
    legs = (("dense", found.dense), ("lexical", found.lexical))
    counts = {name: {"path": leg.path, "candidates": len(leg.items), **leg.details} for name, leg in legs}
    rerank = {"model": None if reranker is None else reranker.name, **reranking.to_json()}
    return {**counts, "fused": len(found.fused), "rerank": rerank, "milliseconds": clock.milliseconds}
