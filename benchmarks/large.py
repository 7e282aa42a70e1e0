"""A corpus of any size in the blueprint's proportions, for the measurements of loading and searching. Synthetic, and said so.

Vectors lie around centres, as embeddings of real texts do; words follow Zipf's law. Real chunks can be mixed in: their texts
are read from a published database.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bbj_pipeline.records import Chunk, Generation, InstanceRef
from bbj_pipeline.stages.contract import Embedder, Vector, Vectors
from bbj_pipeline.storage.publishing import PublishRow

SHARES = {"flare": 44_587, "wordpress": 2_950, "web_crawl": 1_798, "mdx": 951, "javadoc": 695, "bbj_source": 106, "pdf": 47}
"""Chunks of each kind in the blueprint's corpus."""
LABELS: tuple[tuple[tuple[Generation, ...], float], ...] = (
    (("all",), 0.42),
    (("bbj-gui", "dwc"), 0.25),
    (("dwc",), 0.15),
    (("bbj-gui",), 0.08),
    (("character",), 0.032),
    (("vpro5",), 0.018),
    ((), 0.05),
)
"""Generations of the chunks; the rarest is in 1.8 % of them, as in the blueprint."""
VOCABULARY = 60_000
CENTRES = 400
TERM_SHARES = (0.0001, 0.001, 0.0029, 0.0066, 0.0132, 0.0217, 0.0366, 0.0894, 0.1647, 0.337, 0.8991)
"""Deciles of the share of the chunks that a term of a judged question stands in: 120 questions, 9,919 chunks."""
TERMS = 9
"""Terms of a judged question, the median."""
_FUNCTION_WORDS = (
    "the",
    "a",
    "to",
    "of",
    "and",
    "in",
    "is",
    "for",
    "with",
    "that",
    "on",
    "be",
    "as",
    "it",
    "this",
    "are",
    "by",
)
_TYPES = ("concept", "api-reference", "language-reference", "example")


@dataclass(frozen=True)
class Corpus:
    """``count`` chunks with ``dimension`` numbers each; the same seed gives the same corpus."""

    count: int
    dimension: int
    seed: int = 7
    real: Sequence[tuple[str, str, str]] = ()
    """Title, header and content of real chunks, which take the first places of each kind in turn."""

    def instances(self) -> dict[InstanceRef, range]:
        """Positions of the chunks by instance, the largest first."""
        bounds = np.round(np.cumsum([0, *SHARES.values()]) / sum(SHARES.values()) * self.count).astype(int).tolist()
        return {
            InstanceRef(kind, "large"): range(start, end) for kind, start, end in zip(SHARES, bounds, bounds[1:], strict=False)
        }

    def vectors(self, first: int, count: int) -> Vectors:
        """Unit vectors of ``count`` chunks from position ``first``, which must be a multiple of 500."""
        centres = np.random.default_rng(self.seed).standard_normal((CENTRES, self.dimension)).astype(np.float32)
        rng = np.random.default_rng((self.seed, 1, first))
        near = centres[rng.integers(CENTRES, size=count)] + 0.8 * rng.standard_normal((count, self.dimension)).astype(
            np.float32
        )
        return (near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float32)

    def text(self, position: int) -> tuple[str, str, str]:
        """Title, header and content of one chunk."""
        if position % 5 == 0 and position // 5 < len(self.real):
            return self.real[position // 5]
        rng = np.random.default_rng((self.seed, 2, position))
        ranks = np.exp(rng.random(int(rng.integers(50, 140))) * np.log(VOCABULARY)).astype(int)  # density 1 / rank
        words = [_word(int(rank)) for rank in ranks]
        title = f"{_word(int(ranks[0]) + 200)} {_word(int(ranks[1]) + 200)}"
        return title, f"Guide > {title}", " ".join(words)

    def rows(self, ref: InstanceRef, positions: range, edited: frozenset[int] = frozenset()) -> Iterator[PublishRow]:
        """The rows of one instance, one at a time; those of ``edited`` positions have another text."""
        choices = [labels for labels, _ in LABELS]
        edges = np.cumsum([share for _, share in LABELS])
        vectors = self.vectors(0, 0)
        start = 0
        for position in positions:
            if position - start >= len(vectors):
                start = position - position % 500
                vectors = self.vectors(start, 500)
            labels = choices[min(int(np.searchsorted(edges, _uniform(position))), len(choices) - 1)]
            title, header, content = self.text(position)
            chunk = Chunk(
                kind=ref.kind, key=f"d{position // 4:06}.md", ordinal=position % 4, section_ordinal=position % 4, title=title,
                heading_path=(title,), contextual_header=header, tokens=120, doc_type=_TYPES[position % 4],  # type: ignore[arg-type]
                content=f"{content} edited" if position in edited else content, generations=labels, raw_key="r", raw_sha256="0",
                metadata={"since_version": f"{position % 20 + 5}.00"} if position % 3 == 0 else {},
            )  # fmt: skip
            yield PublishRow(chunk, vectors[position - start])

    def questions(self, count: int) -> list[tuple[str, Vector]]:
        """Questions of nine words of some chunk each, as common as those of judged questions, with a vector near that chunk's.

        Of the chunk's words that is taken which is nearest in frequency to a draw from ``TERM_SHARES``.
        """
        rng = np.random.default_rng((self.seed, 3))
        shares = self._shares(rng.integers(self.count, size=2000).tolist())
        asked = []
        for position in rng.integers(self.count, size=count).tolist():
            # An identifier is several terms, of which "get" stands in every synthetic chunk.
            words = sorted({word for word in self.text(position)[2].split() if not word.startswith("get")})
            logs = np.log([max(shares.get(word, 0.0), 1 / self.count) for word in words])
            chosen: list[str] = []
            for wanted in np.interp(rng.random(TERMS), np.linspace(0, 1, len(TERM_SHARES)), np.log(TERM_SHARES)):
                nearest = int(np.argmin(np.abs(logs - wanted)))
                chosen.append(words[nearest])
                logs[nearest] = np.inf
            start = position - position % 500
            vector = self.vectors(start, 500)[position - start] + 0.05 * rng.standard_normal(self.dimension)
            asked.append((" ".join(chosen), (vector / np.linalg.norm(vector)).astype(np.float32)))
        return asked

    def _shares(self, positions: Sequence[int]) -> dict[str, float]:
        """The share of these chunks that a word stands in."""
        found = Counter(word for position in positions for word in set(self.text(position)[2].split()))
        return {word: times / len(positions) for word, times in found.items()}


class Known:
    """An embedder for the questions of a corpus: their vectors are given. With a ``model`` its time is spent all the same."""

    def __init__(self, corpus: Corpus, questions: Sequence[tuple[str, Vector]], model: Embedder | None = None) -> None:
        self._model = model
        self.fingerprint = f"synthetic:{corpus.dimension}"
        self.dimension = corpus.dimension
        self._vectors = {" ".join(text.split()): vector for text, vector in questions}

    def embed_query(self, text: str) -> Vector:
        if self._model is not None:
            self._model.embed_query(text)
        return self._vectors[text]

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        raise NotImplementedError("only questions are embedded here")


def _word(rank: int) -> str:
    """The word of a frequency rank: a function word, then made-up ones; every seventh looks like an identifier."""
    if rank < len(_FUNCTION_WORDS):
        return _FUNCTION_WORDS[rank]
    syllables = []
    number = rank
    while number:
        number, digit = divmod(number, 60)
        syllables.append("bcdfghklmnprstv"[digit // 5 + digit % 3] + "aeiou"[digit % 5])
    stem = "".join(syllables) + "bdgkln"[rank % 6]
    return f"get{stem.title()}" if rank % 7 == 3 else stem


def _uniform(position: int) -> float:
    """A number in 0..1 that looks random and depends on the position alone."""
    return (position * 2_654_435_761 % 2**32) / 2**32
