"""``Searcher.search``: the five stages in order, over one snapshot of the database.

Dense and lexical legs, fusion, reranking when a reranker is given, generation-aware scoring before and after it; then the
selection of hits. How a stage computes lives in its own module; what may be asked, in ``request``; what is printed, in
``rendering``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

from bbj_pipeline.errors import ConfigurationError, NotFound, SchemaError
from bbj_pipeline.records import DocType, Generation
from bbj_pipeline.retrieval.bonus import Wording
from bbj_pipeline.retrieval.confidence import confidence
from bbj_pipeline.retrieval.config import SearchConfig
from bbj_pipeline.retrieval.contract import Candidate, Groups, NoHits, Reranker, Reranking, SearchHit, SearchResponse
from bbj_pipeline.retrieval.dense import DenseLeg
from bbj_pipeline.retrieval.explaining import Clock, Found, explain_hit, explain_search
from bbj_pipeline.retrieval.fusion import fuse
from bbj_pipeline.retrieval.generation import adjusted, generation_score
from bbj_pipeline.retrieval.legs import ids
from bbj_pipeline.retrieval.lexical import LexicalLeg
from bbj_pipeline.retrieval.relations import Copies, find_copies, find_links
from bbj_pipeline.retrieval.request import SearchRequest
from bbj_pipeline.retrieval.reranking import rerank
from bbj_pipeline.retrieval.selection import balanced, collapsed, numbered, surrounded, within_budget
from bbj_pipeline.retrieval.succession import inherited, with_counterpart
from bbj_pipeline.stages.contract import Embedder, Vector
from bbj_pipeline.storage.database import Connection, Database
from bbj_pipeline.storage.lexical import admitted, served_sources
from bbj_pipeline.storage.passages import fetch_neighbours, fetch_passages
from bbj_pipeline.storage.spaces import Space, active_space

__all__ = ["SearchConfig", "Searcher"]

EMBEDDING_THREADS = 8
"""Questions that are embedded at once; a model that computes here takes one at a time."""
QUESTIONS_KEPT = 1000
"""Questions whose vectors are remembered: an agent asks again with another filter, a reader turns the page."""
SHORTLIST = 50
"""Candidates whose texts are read, for their wording; three times the limit when that is more."""
JUDGED = 5
"""Hits whose wording decides about the confidence in an answer."""


class Searcher:
    """Searches the active embedding space; safe to use from several threads when its parts are.

    Equal texts and the near-duplicates that the corpus reports found are shown once; ``groups`` may say otherwise.
    """

    def __init__(
        self,
        db: Database,
        embedder: Embedder,
        config: SearchConfig | None = None,
        *,
        reranker: Reranker | None = None,
        groups: Groups | None = None,
    ) -> None:
        self._database = db
        self._embedder = embedder
        self._config = config or SearchConfig()
        self._reranker = reranker
        self._groups = groups
        self._embedding = ThreadPoolExecutor(EMBEDDING_THREADS, thread_name_prefix="embed")
        self._vector = lru_cache(QUESTIONS_KEPT)(embedder.embed_query)

    def close(self) -> None:
        """Forget the questions that still wait for the model; no search may begin after it."""
        self._embedding.shutdown(wait=False, cancel_futures=True)

    @property
    def reranker(self) -> Reranker | None:
        """The reranker, if there is one."""
        return self._reranker

    def search(
        self,
        query: str,
        *,
        generation: Generation | None = None,
        strict: bool = False,
        kinds: Sequence[str] = (),
        sources: Sequence[str] = (),
        doc_types: Sequence[DocType] = (),
        version: str | None = None,
        current: bool = False,
        limit: int = 5,
        token_budget: int | None = None,
        neighbours: int = 0,
        confident: bool = False,
        rerank: bool = True,
        rerank_milliseconds: int | None = None,
        explain: bool = False,
    ) -> SearchResponse:
        """Return the best chunks for ``query``; what the options mean, ``SearchRequest`` says.

        Raises ``RejectedInput`` for a request that cannot be answered, ``SchemaError`` when nothing is published yet,
        ``ConfigurationError`` when what is served was embedded otherwise than the query would be, and ``DatabaseUnavailable``.
        """
        request = SearchRequest(
            query, generation, strict, tuple(kinds), tuple(sources), tuple(doc_types), version, current, limit, token_budget,
            neighbours, confident, rerank, rerank_milliseconds, explain,
        )  # fmt: skip
        clock = Clock()
        # The model works beside the database, which looks for the words meanwhile.
        embedding = self._embedding.submit(clock.time, "embed", lambda: self._vector(request.query))

        def find(connection: Connection) -> tuple[Space, Found]:
            space = self._space(connection)
            return space, self._find(connection, space, request, embedding.result, clock)

        space, found = self._database.read(find, timeout=self._config.timeout)
        # A reranker takes its time: the connection is back in the pool by now.
        hits, pairs = self._hits(request, found, clock)
        sure = self._confidence(request, found, hits)
        unsure = request.confident and sure < self._config.confidence_floor
        if unsure:
            hits = []
        hits, reranking = self._reranked(request, collapsed(hits, found.copies.groups, found.copies.preferred), clock)
        chosen = [
            dataclasses.replace(hit, links=found.links.get(hit.chunk.id, ())) for hit in self._chosen(request, hits, pairs)
        ]
        if chosen and request.neighbours:
            names = [hit.chunk.id for hit in chosen]
            around = self._database.read(
                lambda connection: fetch_neighbours(connection, space, names, request.neighbours), timeout=self._config.timeout
            )
            chosen = surrounded(chosen, around, request.token_budget)
        told = explain_search(found, clock, reranking, self._reranker) if explain else None
        without: NoHits | None = None
        if not chosen:
            without = "confidence below the floor" if unsure else "token budget too small" if hits else "nothing matches"
        return SearchResponse(request.query, generation, numbered(chosen), sure, reranking, without, told)

    def _space(self, connection: Connection) -> Space:
        space = active_space(connection)
        if space is None:
            raise SchemaError("nothing is published yet", remedy="run 'bbj-pipeline run' first")
        if space.fingerprint != self._embedder.fingerprint:
            raise ConfigurationError(
                f"what is served was embedded as {space.fingerprint!r}, the query would be as {self._embedder.fingerprint!r}",
                remedy="set BBJ_EMBEDDING_MODEL and BBJ_EMBEDDING_WINDOW to what is served, or publish all with these",
            )
        return space

    def _find(
        self, connection: Connection, space: Space, request: SearchRequest, embedding: Callable[[], Vector], clock: Clock
    ) -> Found:
        """Stages 1 to 3; ``embedding`` waits for the question's vector."""
        config, condition = self._config, request.filter
        if unknown := sorted(
            set(request.sources) - set(served := served_sources(connection, space) if request.sources else ())
        ):
            raise NotFound(f"no source {unknown[0]!r} is served", remedy=f"use: {', '.join(served)}")
        among = clock.time("filter", lambda: admitted(connection, space, condition.values, filtered=not condition.is_open))
        # Copies are folded later, so that twice as many are looked for as are asked for.
        wanted = (max(config.dense_candidates, 2 * request.limit), max(config.lexical_candidates, 2 * request.limit))
        lexical = clock.time("lexical", lambda: LexicalLeg(connection, space, request.query).search(among, wanted[1]))
        vectors = DenseLeg(connection, space, clock.time("wait", embedding))
        nearest = clock.time("dense", lambda: vectors.search(among, wanted[0]))
        dense = clock.time("completed", lambda: vectors.completed(nearest, ids(lexical.items), wanted[0]))
        fused = fuse([(config.dense_weight, ids(dense.items)), (config.lexical_weight, ids(lexical.items))], k=config.rrf_k)
        short = self._shortlist(request, dict(fused), {**dense.generations, **lexical.generations})
        passages = clock.time("fetch", lambda: fetch_passages(connection, space, short, lexical.details["terms"]))
        candidates = {identity: Candidate(identity, *values[:-1]) for identity, values in passages.items()}
        matched = {identity: frozenset(values[-1]) for identity, values in passages.items()}
        copies = clock.time("copies", lambda: self._copies(connection, space, list(candidates.values())))
        links = clock.time("links", lambda: find_links(connection, space, list(candidates.values())))
        return Found(among.chunks, dense, lexical, dict(fused), candidates, matched, copies, links)

    def _copies(self, connection: Connection, space: Space, chunks: Sequence[Candidate]) -> Copies:
        return find_copies(connection, space, chunks) if self._groups is None else Copies(self._groups(chunks))

    def _shortlist(
        self, request: SearchRequest, fused: Mapping[str, float], generations: Mapping[str, Sequence[Generation]]
    ) -> list[str]:
        """Return the candidates whose texts are worth reading: the best by score and generation."""
        scored = {identity: self._adjusted(request, fused[identity], labels)[0] for identity, labels in generations.items()}
        best = sorted(scored, key=lambda identity: (-scored[identity], identity))
        return best[: max(SHORTLIST, 3 * request.limit, 2 * self._config.rerank_candidates)]

    def _adjusted(self, request: SearchRequest, relevance: float, labels: Sequence[Generation]) -> tuple[float, int]:
        """Return the relevance as the generations leave it, and the generation score."""
        weight = self._config.preference_weight if request.generation is None else self._config.target_weight
        score = generation_score(labels, request.generation)
        return adjusted(relevance, score, weight=weight), score

    def _hits(self, request: SearchRequest, found: Found, clock: Clock) -> tuple[list[SearchHit], list[tuple[str, str]]]:
        """All results by fused score, wording, succession and generation, best first; equal scores in order of id.

        Also the pairs of a legacy chunk and the one that is relevant in its stead, by id, the best first.
        """
        wording = Wording(request.query, found.frequencies, found.chunks)
        most = 1 + self._config.phrase_bonus + self._config.identifier_bonus + self._config.coverage_bonus
        scale = {identity: found.fused[identity] / most for identity in found.candidates}
        own = clock.time("wording", lambda: {name: fused * self._gain(wording, found, name) for name, fused in scale.items()})
        # A legacy identifier asks for the legacy page: what the letters gave it is not handed on.
        lent = {name: fused * self._covered(wording, found, name) for name, fused in scale.items()}
        raised = inherited(own, lent, found.candidates, found.links)
        hits = []
        for identity, chunk in found.candidates.items():
            old, relevance = raised.get(identity, (None, own[identity]))
            score, generation = self._adjusted(request, relevance, chunk.generations)
            explain = explain_hit(found, identity, relevance, generation, old) if request.explain else None
            hits.append(SearchHit(0, round(score, 6), chunk, explain=explain))
        pairs = sorted(((old, new) for new, (old, _) in raised.items()), key=lambda pair: (-lent[pair[0]], pair))
        return sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id)), pairs

    def _reranked(self, request: SearchRequest, hits: list[SearchHit], clock: Clock) -> tuple[list[SearchHit], Reranking]:
        """Stage 4, over what would be returned without it: a hint has brought its generation forward, copies are folded."""
        reranker, config = self._reranker, self._config
        if reranker is None:
            return hits, Reranking(False, "no reranker is configured")
        if not request.rerank:
            return hits, Reranking(False, "not asked for")
        if len(hits) < 2:
            return hits, Reranking(False, "nothing to rerank")
        wanted = request.rerank_milliseconds
        seconds = config.rerank_seconds if wanted is None else wanted / 1000
        return clock.time(
            "rerank",
            lambda: rerank(
                reranker,
                request.query,
                hits,
                count=config.rerank_candidates,
                seconds=seconds,
                k=config.rrf_k,
                adjust=lambda relevance, labels: self._adjusted(request, relevance, labels)[0],
            ),
        )

    def _gain(self, wording: Wording, found: Found, identity: str) -> float:
        text = found.candidates[identity].text
        phrase = self._config.phrase_bonus if wording.has_phrase(text) else 0.0
        identifier = self._config.identifier_bonus if wording.has_identifier(text) else 0.0
        return self._covered(wording, found, identity) + phrase + identifier

    def _covered(self, wording: Wording, found: Found, identity: str) -> float:
        return 1 + self._config.coverage_bonus * wording.coverage(found.matched[identity])

    def _confidence(self, request: SearchRequest, found: Found, hits: Sequence[SearchHit]) -> float:
        similarity = found.dense.items[0][1] if found.dense.items else 0.0
        matched = [found.matched[hit.chunk.id] for hit in hits[:JUDGED]]
        spellings = found.lexical.details["corrected"] or {}
        return confidence(request.query, matched, similarity, found.frequencies, found.chunks, spellings)

    def _chosen(self, request: SearchRequest, hits: Sequence[SearchHit], pairs: Sequence[tuple[str, str]]) -> list[SearchHit]:
        config = self._config
        chosen = balanced(hits, request.limit, per_document=config.per_document, kind_share=config.kind_share)
        return within_budget(with_counterpart(chosen, hits, pairs, request.limit), request.token_budget)
