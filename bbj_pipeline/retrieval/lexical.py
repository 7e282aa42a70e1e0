"""The lexical leg of a search inside one database snapshot: any of the question's words, by exact BM25."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bbj_pipeline.retrieval.bm25 import Plan, Scores, first_scores, plan, proving_plan
from bbj_pipeline.retrieval.legs import Ranked
from bbj_pipeline.retrieval.spelling import edit_distance, tolerated
from bbj_pipeline.stages.terms import terms
from bbj_pipeline.storage.database import Connection
from bbj_pipeline.storage.lexical import Admitted, Postings, Term, find_terms, near_terms, numbered, read_postings
from bbj_pipeline.storage.spaces import Space

__all__ = ["LexicalLeg"]

FIRST_POSTINGS = 30_000
FIRST_SHARE = 0.5
"""Postings read to find the first candidates, at least, and as a share of all chunks: so many that a second look is rare. On
250,000 chunks p95 was twice as long with 30,000."""
POSTINGS_PER_PROBE = 8
"""Reading so many postings of a term in order takes as long as looking up one chunk among them."""
MAX_CORRECTED = 3
"""Misspelt words of one question that are corrected; the longest, whose neighbours are fewest."""
MAX_SPELLINGS = 3
"""Terms that one misspelt word may stand for."""


@dataclass(frozen=True, slots=True)
class LexicalLeg:
    """BM25 with any-term semantics; a question without a single known term finds nothing."""

    connection: Connection
    space: Space
    question: str
    first_postings: int | None = None

    def search(self, among: Admitted, candidates: int) -> Ranked:
        """Return the ``candidates`` chunks of the highest BM25 score, and as many of those that fit the hint; exact.

        Candidates are first looked for by the rarest terms. That is enough when the last of the best scores as much as all
        the other terms together could give; if not, that score tells which of them must take part in the search too.
        """
        words = list(dict.fromkeys(terms(self.question)))
        known = find_terms(self.connection, self.space, words)
        weighted, corrected = self._with_spellings(words, known)
        details: dict[str, Any] = {"terms": {term.text: term.df for term, _ in weighted}, "corrected": corrected or None}
        if not weighted:
            return Ranked((), {}, "no terms", details)
        read: dict[int, Postings] = {}
        dfs = {term.id: term.df for term, _ in weighted}
        first = max(FIRST_POSTINGS, round(FIRST_SHARE * among.chunks)) if self.first_postings is None else self.first_postings
        bounds = plan(weighted, among, first)
        scores = self._scores(read, bounds, dfs, among, candidates)
        reached = scores.proven(candidates, among.matching, among.hinted_matching)
        if bounds.rest > reached:
            bounds = proving_plan(weighted, among, reached)
            scores = self._scores(read, bounds, dfs, among, candidates)
        details["common"] = len(bounds.common)
        return self._named(scores.best(candidates), candidates, details)

    def _scores(
        self, read: dict[int, Postings], bounds: Plan, dfs: Mapping[int, int], among: Admitted, candidates: int
    ) -> Scores:
        """Score the chunks that the finding terms lead to; postings ``read`` before are not read again."""
        missing = [term for term in bounds.weights if term not in read]
        read |= self._read(missing, among)
        scores = first_scores(read, bounds)
        rest = bounds.rest
        for term, weight in bounds.common.items():
            # With each term counted the last of the best rises and less is to come: fewer chunks are looked up in the next.
            scores, rest = scores.hopeful(candidates, rest), rest - weight
            probed = None if dfs[term] < POSTINGS_PER_PROBE * len(scores.chunks) else scores.chunks.tolist()
            postings = self._read([term], among, probed).get(term)
            if postings is not None:
                scores = scores.completed(bounds.gains(postings, weight), postings.chunks)
        return scores

    def _read(self, terms: Sequence[int], among: Admitted, chunks: Sequence[int] | None = None) -> dict[int, Postings]:
        return read_postings(self.connection, self.space, terms, facets=among.facets, hinted=among.hinted, chunks=chunks)

    def _named(self, best: Scores, candidates: int, details: dict[str, Any]) -> Ranked:
        """Return the best of all and the best of those that fit the hint; of equal scores the first ids stay."""
        known = numbered(self.connection, self.space, best.chunks.tolist())
        rows = sorted(
            (-score, *known[number], hinted)
            for number, score, hinted in zip(best.chunks.tolist(), best.scores.tolist(), best.hinted.tolist(), strict=True)
        )
        kept = {row[1] for row in rows[:candidates]} | {row[1] for row in [row for row in rows if row[3]][:candidates]}
        chosen = [row for row in rows if row[1] in kept]
        return Ranked(
            tuple((identity, -score) for score, identity, _, _ in chosen),
            {identity: labels for _, identity, labels, _ in chosen},
            "bm25",
            details,
        )

    def _with_spellings(
        self, words: Sequence[str], known: Sequence[Term]
    ) -> tuple[list[tuple[Term, float]], dict[str, list[str]]]:
        """Return the known terms and, for words that no chunk has, the terms they may be misspelt for, with factors."""
        weighted = dict.fromkeys(known, 1.0)
        texts = {term.text for term in known}
        corrected: dict[str, list[str]] = {}
        unknown = sorted((word for word in words if word not in texts and tolerated(word)), key=lambda word: (-len(word), word))
        for word in unknown[:MAX_CORRECTED]:
            most = tolerated(word)
            near = [(edit_distance(word, term.text, most), term) for term in self._near(word, most)]
            spellings = sorted(((distance, -term.df, term.text, term) for distance, term in near if distance <= most))
            chosen = [item for item in spellings if item[0] == spellings[0][0]][:MAX_SPELLINGS]
            for distance, _, text, term in chosen:
                corrected.setdefault(word, []).append(text)
                weighted[term] = max(weighted.get(term, 0.0), 1 / (1 + distance))
        return sorted(weighted.items(), key=lambda item: (item[0].df, item[0].text)), corrected

    def _near(self, word: str, most: int) -> list[Term]:
        return near_terms(self.connection, self.space, word, most)
