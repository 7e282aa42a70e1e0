"""What a chunk gains when the question's own wording stands in it. Pure.

An identifier written whole, two words side by side, many of the words at once. BM25 counts words wherever they stand, and one
of them often as much as two; this looks at the few fused candidates only, so it may read their text.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Set

from bbj_pipeline.retrieval.bm25 import idf
from bbj_pipeline.stages.terms import identifier_terms, terms

__all__ = ["Wording"]

RARE_SHARE = 0.02
"""A pair of words is a phrase when one of them stands in less than this share of the chunks; "how do" is none."""
MAX_PAIRS = 50

_WORD = re.compile(r"\w+")


class Wording:
    """A question's identifiers and phrases; ``frequencies`` are document frequencies of its terms among ``chunks`` chunks."""

    def __init__(self, question: str, frequencies: Mapping[str, int], chunks: int) -> None:
        words = _WORD.findall(question.lower())
        rare = {word for word in words if any(0 < frequencies.get(term, 0) < RARE_SHARE * chunks for term in terms(word))}
        pairs = dict.fromkeys(pair for pair in itertools.pairwise(words) if rare.intersection(pair))
        self.phrases = list(pairs)[:MAX_PAIRS]
        self.identifiers = {name for name in identifier_terms(question) if frequencies.get(name)}
        self._weights = {term: idf(df, chunks) for term, df in frequencies.items()}
        self._total = sum(self._weights.values())

    def coverage(self, matched: Set[str]) -> float:
        """Return the share of the question's terms, by their IDF, that are among the ``matched`` ones of a chunk, in 0..1."""
        return sum(self._weights[term] for term in self._weights.keys() & matched) / self._total if self._total else 0.0

    def has_phrase(self, text: str) -> bool:
        """Tell whether two neighbouring words of the question, one of them rare, are neighbours in ``text`` too."""
        lower = text.lower()
        likely = [pair for pair in self.phrases if pair[0] in lower and pair[1] in lower]  # spares most texts the splitting
        return bool(likely) and not set(likely).isdisjoint(itertools.pairwise(_WORD.findall(lower)))

    def has_identifier(self, text: str) -> bool:
        """Tell whether an identifier of the question stands in ``text`` as it is written, in any case."""
        lower = text.lower()
        likely = {name for name in self.identifiers if name in lower}
        return bool(likely) and not likely.isdisjoint(terms(text))
