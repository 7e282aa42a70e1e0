"""BM25's sums, pruned and completed, against plain additions over all postings. Pure."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbj_pipeline.retrieval.bm25 import Plan, Scores, first_scores
from bbj_pipeline.storage.lexical import Postings

BASE, SLOPE = 0.3, 0.01

Held = dict[int, dict[int, tuple[int, int]]]
"""By term and chunk: how often the term stands there, and the chunk's length."""

LENGTHS = st.lists(st.integers(1, 300), min_size=12, max_size=12)
FREQUENCIES = st.dictionaries(st.integers(0, 11), st.integers(1, 9), max_size=12)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Held, dict[int, float], set[int], int, int]:
    """Postings of some terms, their weights, the chunks that fit a hint, how many are wanted, and how many terms find."""
    lengths = draw(LENGTHS)
    listed = draw(st.lists(FREQUENCIES, min_size=1, max_size=5))
    held = {term: {chunk: (tf, lengths[chunk]) for chunk, tf in chunks.items()} for term, chunks in enumerate(listed)}
    weights = {term: draw(st.floats(0.01, 9)) for term in held}
    return held, weights, draw(st.sets(st.integers(0, 11))), draw(st.integers(1, 6)), draw(st.integers(1, len(held)))


def _postings(chunks: dict[int, tuple[int, int]], hinted: set[int]) -> Postings:
    ordered = sorted(chunks)
    return Postings(
        np.array(ordered, np.int64),
        np.array([chunks[chunk][0] for chunk in ordered], np.int64),
        np.array([chunk in hinted for chunk in ordered], np.bool_),
        np.array([chunks[chunk][1] for chunk in ordered], np.int64),
    )


def _expected(held: Held, weights: dict[int, float]) -> dict[int, float]:
    scores: dict[int, float] = {}
    for term, chunks in held.items():
        for chunk, (tf, length) in chunks.items():
            scores[chunk] = scores.get(chunk, 0) + weights[term] * tf / (tf + BASE + SLOPE * length)
    return scores


def _plan(weights: dict[int, float], finding: int) -> Plan:
    items = list(weights.items())
    return Plan(dict(items[:finding]), dict(items[finding:]), BASE, SLOPE)


@given(cases())
def test_pruning_keeps_every_chunk_that_can_be_among_the_best(
    case: tuple[Held, dict[int, float], set[int], int, int],
) -> None:
    """Found by some terms, pruned and completed by the others, the best chunks that have a finding term are all there."""
    held, weights, hinted, count, finding = case
    plan = _plan(weights, finding)
    postings = {term: _postings(chunks, hinted) for term, chunks in held.items() if chunks}
    scores, rest = first_scores(postings, plan), plan.rest
    for term, weight in plan.common.items():
        scores, rest = scores.hopeful(count, rest), rest - weight
        if term in postings:
            scores = scores.completed(plan.gains(postings[term], weight), postings[term].chunks)
    found = dict(zip(scores.chunks.tolist(), scores.scores.tolist(), strict=True))

    reachable = {chunk for term in plan.weights for chunk in held[term]}
    expected = {chunk: score for chunk, score in _expected(held, weights).items() if chunk in reachable}
    assert all(score == pytest.approx(expected[chunk]) for chunk, score in found.items())
    for among in (set(expected), set(expected) & hinted):
        ranked = sorted(among, key=lambda chunk: -expected[chunk])
        assert set(ranked[:count]) <= set(found) or _tied(ranked, expected, count)


def _tied(ranked: list[int], scores: dict[int, float], count: int) -> bool:
    """Whether places could go to others with the same score."""
    return len(ranked) > count and scores[ranked[count - 1]] == pytest.approx(scores[ranked[count]], abs=1e-8)


@given(cases())
def test_the_best_come_with_all_that_tie(case: tuple[Held, dict[int, float], set[int], int, int]) -> None:
    """The best of all and of the hinted are kept, whole groups of equal scores: who stays is decided by id, not here."""
    held, weights, hinted, count, _ = case
    postings = {term: _postings(chunks, hinted) for term, chunks in held.items() if chunks}
    best = first_scores(postings, _plan(weights, len(weights))).best(count)
    expected = {chunk: round(score, 9) for chunk, score in _expected(held, weights).items()}
    kept = set(best.chunks.tolist())
    for among in (set(expected), set(expected) & hinted):
        scores = sorted((expected[chunk] for chunk in among), reverse=True)
        least = scores[min(count, len(scores)) - 1] if scores else 0
        assert {chunk for chunk in among if expected[chunk] > least + 1e-8} <= kept
        assert sum(expected[chunk] >= least - 1e-8 for chunk in kept & among) >= min(count, len(among))


def test_scores_equal_but_for_the_order_of_addition_tie() -> None:
    """0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in the last digit; both chunks are kept as one place."""
    low, high = 0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1
    assert low != high
    scores = Scores(np.array([1, 2, 3]), np.array([False, False, False]), np.array([low, high, 0.1]))
    best = scores.best(1)
    assert best.chunks.tolist() == [1, 2]
    assert len(set(best.scores.tolist())) == 1


def test_proof_needs_full_places_or_every_match() -> None:
    """With places left an unseen chunk needs no score; with every match seen none can come; else the last place decides."""
    scores = Scores(np.array([1, 2]), np.array([True, False]), np.array([2.0, 1.0]))
    assert scores.proven(3, 10, 0) == 0
    assert scores.proven(3, 2, 1) == float("inf")
    assert scores.proven(1, 10, 1) == 2
    assert scores.proven(2, 10, 5) == 0
