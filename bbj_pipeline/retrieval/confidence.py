"""How sure a search may be that its best hits answer the question at all. Pure.

Neither leg's score tells by itself: BM25 has no scale, and a small embedding model finds something near to everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from bbj_pipeline.retrieval.bm25 import idf
from bbj_pipeline.stages.terms import terms

__all__ = ["confidence"]


def confidence(
    question: str,
    matched: Sequence[Set[str]],
    similarity: float,
    frequencies: Mapping[str, int],
    chunks: int,
    spellings: Mapping[str, Sequence[str]] | None = None,
) -> float:
    """Return the mean of the best cosine ``similarity`` and of the question's share that one passage has, in 0..1.

    ``matched`` are the question's terms that each passage has, ``spellings`` what a misspelt one may stand for. A term counts
    by its IDF, so a missing rare word costs more than a missing "how"; one that no chunk has costs most.
    """
    meant = {term: (spellings or {}).get(term, (term,)) for term in terms(question)}
    weights = {term: idf(max(frequencies.get(name, 0) for name in names), chunks) for term, names in meant.items()}
    total = sum(weights.values())
    shares = (
        sum(weight for term, weight in weights.items() if not found.isdisjoint(meant[term])) / total
        for found in matched
        if total
    )
    return round((max(0.0, similarity) + max(shares, default=0.0)) / 2, 6)
