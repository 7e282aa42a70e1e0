"""What may be asked of a search, and the checks before the model or the database is asked. No SQL and no scoring."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bbj_pipeline.errors import RejectedInput
from bbj_pipeline.records import DOC_TYPES, GENERATIONS, DocType, Generation, clean_text
from bbj_pipeline.retrieval.legs import Filter

__all__ = ["MAX_LIMIT", "MAX_NEIGHBOURS", "MAX_QUERY_CHARACTERS", "MAX_RERANK_MILLISECONDS", "SearchRequest"]

MAX_QUERY_CHARACTERS = 4000
MAX_LIMIT = 100
MAX_NEIGHBOURS = 5
MAX_FILTERS = 100
MAX_RERANK_MILLISECONDS = 60_000

_VERSION = re.compile(r"(\d{1,4})(?:\.(\d{1,2}))?")


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One question and what its answer may be.

    ``generation`` is what the developer works in: it raises matching chunks and, when ``strict``, admits only them and
    universal ones. ``kinds``, ``sources`` (``kind/instance``) and ``doc_types`` admit only their chunks when not empty;
    ``version`` ("19", "19.10": the developer's BBj) leaves out what came later, ``current`` what is deprecated. ``limit`` is
    1 to 100 hits, ``token_budget`` how many of the embedding model's tokens their passages may have together.
    ``neighbours`` asks for so many chunks before and after each hit. ``confident`` asks for nothing rather than for noise.
    ``rerank`` lets a cross-encoder decide, where one is configured; ``rerank_milliseconds`` is its time, 1 to 60,000.
    """

    query: str
    generation: Generation | None = None
    strict: bool = False
    kinds: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    doc_types: tuple[DocType, ...] = ()
    version: str | None = None
    current: bool = False
    limit: int = 5
    token_budget: int | None = None
    neighbours: int = 0
    confident: bool = False
    rerank: bool = True
    rerank_milliseconds: int | None = None
    explain: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "query", _text(self.query))
        for problem, remedy in self._problems():
            raise RejectedInput(problem, remedy=remedy)

    def _problems(self) -> list[tuple[str, str]]:
        found = []
        if self.generation is not None and self.generation not in GENERATIONS:
            found.append((f"unknown generation {self.generation!r}", f"use one of: {', '.join(GENERATIONS)}"))
        if not 1 <= self.limit <= MAX_LIMIT:
            found.append((f"the limit is {self.limit}", f"use 1 to {MAX_LIMIT}"))
        if self.strict and self.generation is None:
            found.append(("a strict search names no generation", f"add one of: {', '.join(GENERATIONS)}"))
        if unknown := sorted(set(self.doc_types) - set(DOC_TYPES)):
            found.append((f"unknown document type {unknown[0]!r}", f"use one of: {', '.join(DOC_TYPES)}"))
        if self.version is not None and _VERSION.fullmatch(self.version) is None:
            found.append((f"the version is {self.version[:40]!r}", "write it as 19 or 19.10"))
        if self.token_budget is not None and self.token_budget < 1:
            found.append((f"the token budget is {self.token_budget}", "use 1 or more"))
        if not 0 <= self.neighbours <= MAX_NEIGHBOURS:
            found.append((f"{self.neighbours} neighbours were asked for", f"use 0 to {MAX_NEIGHBOURS}"))
        if self.rerank_milliseconds is not None and not 1 <= self.rerank_milliseconds <= MAX_RERANK_MILLISECONDS:
            found.append((f"reranking may take {self.rerank_milliseconds} ms", f"use 1 to {MAX_RERANK_MILLISECONDS:,}"))
        if max(map(len, (self.kinds, self.sources))) > MAX_FILTERS:
            found.append(("too many kinds or sources were named", f"name {MAX_FILTERS} or fewer"))
        return found

    @property
    def filter(self) -> Filter:
        """Which chunks the legs may find."""
        # Universal documents are always relevant. A hint that is no filter gets candidates of its own: among the best of all
        # its generation may not occur.
        admitted = None if self.generation is None else tuple(dict.fromkeys((self.generation, "all")))
        return Filter(
            kinds=self.kinds or None,
            sources=self.sources or None,
            generations=admitted if self.strict else None,
            doc_types=self.doc_types or None,
            version=_number(self.version),
            current=self.current,
            hinted=None if self.strict else admitted,
        )


def _text(query: str) -> str:
    if len(query) > MAX_QUERY_CHARACTERS:
        raise RejectedInput(
            f"the query has {len(query):,} characters", remedy=f"shorten it to {MAX_QUERY_CHARACTERS:,} or fewer"
        )
    text = " ".join(clean_text(query).split())
    if not text:
        raise RejectedInput("the query is empty", remedy="ask in a few words what you look for")
    return text


def _number(version: str | None) -> int | None:
    """Return a version as a number, 1910 for 19.10; one without a minor version is the last of its year: "19" has 19.20."""
    match = None if version is None else _VERSION.fullmatch(version)
    if match is None:
        return None
    minor = 99 if match[2] is None else int(match[2].ljust(2, "0"))
    return int(match[1]) * 100 + minor
