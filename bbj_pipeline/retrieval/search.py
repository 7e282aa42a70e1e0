"""``Searcher.search``: the five stages in order, over one snapshot of the database.

Dense and lexical legs, fusion, reranking when a reranker is given, generation-aware scoring. How a stage computes lives in
its own module; what is printed, in ``rendering``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from bbj_pipeline.errors import ConfigurationError, RejectedInput, SchemaError
from bbj_pipeline.records import GENERATIONS, Generation, clean_text
from bbj_pipeline.retrieval.contract import Candidate, Reranker, SearchHit, SearchResponse
from bbj_pipeline.retrieval.fusion import fuse
from bbj_pipeline.retrieval.generation import adjusted, generation_score
from bbj_pipeline.retrieval.legs import DenseLeg, Filter, LexicalLeg, Ranked, ids
from bbj_pipeline.settings import Settings
from bbj_pipeline.stages.contract import Embedder, Vector
from bbj_pipeline.storage.database import Connection, Database
from bbj_pipeline.storage.queries import query as sql_query
from bbj_pipeline.storage.spaces import Space, active_space

__all__ = ["MAX_LIMIT", "MAX_QUERY_CHARACTERS", "SearchConfig", "Searcher"]

MAX_QUERY_CHARACTERS = 4000
MAX_LIMIT = 100
RERANKED = 20
"""Fused candidates a reranker reads (blueprint, stage 4)."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SearchConfig:
    """How the stages are weighted. Candidates, weights and ``rrf_k`` are the blueprint's.

    ``target_weight`` and ``preference_weight`` are the largest share of its relevance a chunk can lose to its generation
    score: much when the caller names the generation he works in, little when the pipeline only prefers the modern one. On
    112 judged queries over the real corpora neither moves MRR or nDCG@10 by more than .005 (preference .05 to .3, all without
    their hints; target .2 to .8, the 35 that have one), so the wording decides.
    ``timeout`` is in seconds, for each statement.
    """

    dense_candidates: int = 20
    lexical_candidates: int = 20
    dense_weight: float = 0.7
    lexical_weight: float = 0.3
    rrf_k: int = 60
    target_weight: float = 0.8
    preference_weight: float = 0.2
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
        )


@dataclass(frozen=True, slots=True)
class _Found:
    """What the database gave for one query."""

    dense: Ranked
    lexical: Ranked
    fused: tuple[tuple[str, float], ...]
    candidates: Mapping[str, Candidate]


class _Clock:
    """Milliseconds by stage."""

    def __init__(self) -> None:
        self.milliseconds: dict[str, float] = {}

    def time(self, stage: str, work: Callable[[], T]) -> T:
        start = time.perf_counter()
        result = work()
        self.milliseconds[stage] = round((time.perf_counter() - start) * 1000, 3)
        return result


class Searcher:
    """Searches the active embedding space; safe to use from several threads when its embedder is."""

    def __init__(
        self, db: Database, embedder: Embedder, config: SearchConfig | None = None, *, reranker: Reranker | None = None
    ) -> None:
        self._database = db
        self._embedder = embedder
        self._config = config or SearchConfig()
        self._reranker = reranker

    def search(
        self,
        query: str,
        *,
        generation: Generation | None = None,
        kinds: Sequence[str] = (),
        limit: int = 5,
        strict: bool = False,
        explain: bool = False,
    ) -> SearchResponse:
        """Return the best ``limit`` (1 to 100) chunks for ``query``.

        ``generation`` is what the developer works in: it raises matching chunks and, when ``strict``, admits only them and
        universal ones. ``kinds`` admits only chunks of these source kinds. Raises ``RejectedInput`` for a query that is empty
        or longer than 4,000 characters, ``SchemaError`` when nothing is published yet, ``ConfigurationError`` when what is
        served was embedded otherwise than the query would be, and ``DatabaseUnavailable``.
        """
        text = _checked(query, generation, limit, strict=strict)
        clock = _Clock()
        embedding = clock.time("embed", lambda: self._embedder.embed_query(text))
        condition = Filter(tuple(kinds) or None, _admitted(generation) if strict else None)
        # A hint that is no filter gets candidates of its own: among the nearest of all, its generation may not occur.
        hinted = Filter(condition.kinds, _admitted(generation)) if generation is not None and not strict else None
        with self._database.snapshot(timeout=self._config.timeout) as connection:
            found = self._find(connection, text, embedding, (condition, hinted), limit, clock)
        relevance = self._relevance(text, found, clock)
        ranked = self._scored(found, relevance, generation)[:limit]
        hits = tuple(
            SearchHit(
                rank=rank,
                score=round(score, 6),
                chunk=found.candidates[identity],
                explain=self._explain(found, identity, relevance, generation) if explain else None,
            )
            for rank, (identity, score) in enumerate(ranked, start=1)
        )
        return SearchResponse(text, generation, hits, _summary(found, clock) if explain else None)

    def _find(
        self,
        connection: Connection,
        text: str,
        embedding: Vector,
        conditions: tuple[Filter, Filter | None],
        limit: int,
        clock: _Clock,
    ) -> _Found:
        """Stages 1 to 3, inside the snapshot."""
        config, space = self._config, self._space(connection)
        dense_leg, lexical_leg = DenseLeg(connection, space, embedding), LexicalLeg(connection, space, text)
        dense = clock.time("dense", lambda: dense_leg.search(*conditions, max(config.dense_candidates, limit)))
        lexical = clock.time("lexical", lambda: lexical_leg.search(*conditions, max(config.lexical_candidates, limit)))
        fused = fuse([(config.dense_weight, ids(dense.items)), (config.lexical_weight, ids(lexical.items))], k=config.rrf_k)
        candidates = clock.time("fetch", lambda: _candidates(connection, space, ids(fused)))
        return _Found(dense, lexical, tuple(fused), candidates)

    def _space(self, connection: Connection) -> Space:
        space = active_space(connection)
        if space is None:
            raise SchemaError("nothing is published yet", remedy="run 'bbj-pipeline run' first")
        if space.fingerprint != self._embedder.fingerprint:
            raise ConfigurationError(
                f"what is served was embedded as {space.fingerprint!r}, the query would be as {self._embedder.fingerprint!r}",
                remedy="set BBJ_EMBEDDING_MODEL to the served model, or publish every instance with the new one",
            )
        return space

    def _relevance(self, text: str, found: _Found, clock: _Clock) -> dict[str, float]:
        """Stage 4: the fused score, or a reranker's for the first of them, which alone are then results."""
        reranker = self._reranker
        if reranker is None or not found.fused:
            return dict(found.fused)
        first = ids(found.fused[:RERANKED])
        scores = clock.time("rerank", lambda: reranker.score(text, [found.candidates[identity].text for identity in first]))
        return dict(zip(first, map(float, scores), strict=True))

    def _scored(self, found: _Found, relevance: Mapping[str, float], generation: Generation | None) -> list[tuple[str, float]]:
        """Stage 5: relevance and generation together, best first; equal scores in order of id."""
        weight = self._config.preference_weight if generation is None else self._config.target_weight
        scored = (
            (identity, adjusted(value, generation_score(found.candidates[identity].generations, generation), weight=weight))
            for identity, value in relevance.items()
        )
        return sorted(scored, key=lambda item: (-item[1], item[0]))

    def _explain(
        self, found: _Found, identity: str, relevance: Mapping[str, float], generation: Generation | None
    ) -> dict[str, Any]:
        labels = found.candidates[identity].generations
        return {
            "dense": _place(found.dense, identity),
            "lexical": _place(found.lexical, identity),
            "fused": round(dict(found.fused)[identity], 6),
            "reranked": round(relevance[identity], 6) if self._reranker is not None else None,
            "generation_score": generation_score(labels, generation),
        }


def _checked(query: str, generation: Generation | None, limit: int, *, strict: bool) -> str:
    """Return the cleaned query, or say what is wrong with the request."""
    if len(query) > MAX_QUERY_CHARACTERS:
        raise RejectedInput(
            f"the query has {len(query):,} characters", remedy=f"shorten it to {MAX_QUERY_CHARACTERS:,} or fewer"
        )
    text = " ".join(clean_text(query).split())
    if not text:
        raise RejectedInput("the query is empty", remedy="ask in a few words what you look for")
    if generation is not None and generation not in GENERATIONS:
        raise RejectedInput(f"unknown generation {generation!r}", remedy=f"use one of: {', '.join(GENERATIONS)}")
    if not 1 <= limit <= MAX_LIMIT:
        raise RejectedInput(f"the limit is {limit}", remedy=f"use 1 to {MAX_LIMIT}")
    if strict and generation is None:
        raise RejectedInput("a strict search names no generation", remedy=f"add one of: {', '.join(GENERATIONS)}")
    return text


def _admitted(generation: Generation | None) -> tuple[Generation, ...] | None:
    """Return the labels of which a chunk must have one: universal documents are always relevant."""
    return None if generation is None else tuple(dict.fromkeys((generation, "all")))


def _candidates(connection: Connection, space: Space, identities: list[str]) -> dict[str, Candidate]:
    rows = connection.execute(sql_query("select_candidates", chunks=space.chunks), {"ids": identities})
    candidates = (
        Candidate(identity, kind, instance, key, title, tuple(path), header, content, url, tuple(generations), doc_type)
        for identity, kind, instance, key, title, path, header, content, url, generations, doc_type in rows
    )
    return {candidate.id: candidate for candidate in candidates}


def _place(leg: Ranked, identity: str) -> dict[str, Any] | None:
    """Return a chunk's rank (from 1) and score in a leg, ``None`` when the leg did not find it."""
    for rank, (found, score) in enumerate(leg.items, start=1):
        if found == identity:
            return {"rank": rank, "score": round(score, 6)}
    return None


def _summary(found: _Found, clock: _Clock) -> dict[str, Any]:
    return {
        "dense": {"path": found.dense.path, "matching": found.dense.matching, "candidates": len(found.dense.items)},
        "lexical": {"path": found.lexical.path, "candidates": len(found.lexical.items)},
        "fused": len(found.fused),
        "milliseconds": clock.milliseconds,
    }
