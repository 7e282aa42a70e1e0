"""A reranker's order, its budget and its failures, as the answers of a search tell them; and what supersession adds."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from bbj_pipeline.errors import ModelError, RejectedInput
from bbj_pipeline.records import DocumentId, InstanceRef
from bbj_pipeline.retrieval import SearchConfig, Searcher, SearchHit, SearchResponse, render_text
from bbj_pipeline.retrieval.contract import Candidate, DocumentLink
from bbj_pipeline.retrieval.reranking import reordered
from bbj_pipeline.retrieval.succession import inherited, with_counterpart
from bbj_pipeline.stages.modernisation import DocumentLink as StoredLink
from bbj_pipeline.stages.modernisation import LinkGraph
from bbj_pipeline.storage.corpus import replace_links
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.publishing import PublishRow
from bbj_pipeline_tests.fakes import CountingEmbedder
from bbj_pipeline_tests.storage.chunk_factory import DIMENSION, chunk, put, unit

EMBEDDER = CountingEmbedder(DIMENSION, "test:8")
QUESTION = "How do I open a file?"
LEVEL = SearchConfig(preference_weight=0)


class Fixed:
    """A reranker that scores by a table of contents, or else misbehaves as told; ``asked`` keeps what it was given."""

    def __init__(
        self, scores: dict[str, float] | None = None, *, failure: Exception | None = None, spent: bool = False
    ) -> None:
        self.name = "fixed@1"
        self._scores = scores or {}
        self._failure = failure
        self._spent = spent
        self.asked: list[tuple[list[str], float]] = []

    def warm(self) -> None:
        """Is always ready."""

    def score(self, query: str, passages: Sequence[str], *, seconds: float) -> list[float] | None:
        self.asked.append((list(passages), seconds))
        if self._failure is not None:
            raise self._failure
        time.sleep(0.002)
        found = (self._scores.get(passage.split()[-1], 0.0) for passage in passages)
        return None if self._spent else list(found)


@pytest.fixture
def corpus(database: Database) -> Database:
    """Ten chunks, each a little farther from the question than the one before; the even ones are dwc, the odd ones vpro5."""
    near = EMBEDDER.vector(QUESTION)
    rows = [
        PublishRow(
            chunk(f"{n}.md", content=f"passage{n}", generations=("dwc",) if n % 2 == 0 else ("vpro5",)),
            near + 0.1 * n * unit(*([0] * (n % DIMENSION)), 1),
        )
        for n in range(10)
    ]
    put(database, rows, "1")
    return database


def _contents(response: SearchResponse) -> list[str]:
    return [hit.chunk.content for hit in response.hits]


def test_the_order_is_the_rerankers(corpus: Database) -> None:
    """The first candidates stand in the order of its scores, whatever their scale; the others follow as they were."""
    before = _contents(Searcher(corpus, EMBEDDER, LEVEL).search(QUESTION, limit=10))
    scores = {content: -100.0 - place for place, content in enumerate(reversed(before[:4]))}
    reranker = Fixed(scores)
    searcher = Searcher(corpus, EMBEDDER, replace(LEVEL, rerank_candidates=4), reranker=reranker)
    response = searcher.search(QUESTION, limit=10, explain=True)
    assert _contents(response) == [*before[:4][::-1], *before[4:]]
    assert [hit.score for hit in response.hits] == sorted((hit.score for hit in response.hits), reverse=True)
    assert len(reranker.asked[0][0]) == 4
    told = response.to_json()
    assert told["reranked"] is True
    assert "rerank_reason" not in told
    assert told["rerank_milliseconds"] >= 2
    first = told["hits"][0]["explain"]
    assert first["rerank"] == {"rank": 1, "score": -100.0}
    assert first["relevance"] == 1
    assert "rerank" not in told["hits"][4]["explain"]
    assert told["explain"]["rerank"]["model"] == "fixed@1"


def test_generations_weigh_after_the_reranker_as_before(corpus: Database) -> None:
    """A hint lowers a chunk of another generation by the share it loses without a reranker; equal scores keep their order."""
    searcher = Searcher(corpus, EMBEDDER, SearchConfig(target_weight=0.8), reranker=Fixed({"passage1": 5.0}))
    hits = {hit.chunk.content: hit for hit in searcher.search(QUESTION, generation="dwc", limit=10).hits}
    # vpro5 for dwc is 70: a loss of .8 * .3; relevance 1 at rank 1
    assert hits["passage1"].score == pytest.approx(1 - 0.8 * 0.3)
    legacy_last = [hit.chunk.generations[0] for hit in searcher.search(QUESTION, generation="dwc", limit=10).hits]
    assert legacy_last[0] == "dwc"
    plain = Searcher(corpus, EMBEDDER, LEVEL)
    assert _contents(Searcher(corpus, EMBEDDER, LEVEL, reranker=Fixed()).search(QUESTION)) == _contents(plain.search(QUESTION))


@pytest.mark.parametrize(
    ("reranker", "reason"),
    [
        (Fixed(spent=True), "budget spent"),
        (Fixed({"passage3": math.nan}), "the reranker failed"),
        (Fixed({"passage3": math.inf}), "the reranker failed"),
        (Fixed(failure=ModelError("out of memory", remedy="buy some")), "the reranker failed"),
    ],
)
def test_without_all_scores_the_order_stays_and_is_said(corpus: Database, reranker: Fixed, reason: str) -> None:
    """A spent budget, a score that is no number and a failing model leave the fused order, and the answer says which."""
    plain = Searcher(corpus, EMBEDDER).search(QUESTION)
    response = Searcher(corpus, EMBEDDER, reranker=reranker).search(QUESTION, explain=True)
    assert _contents(response) == _contents(plain)
    assert [hit.score for hit in response.hits] == [hit.score for hit in plain.hits]
    told = response.to_json()
    assert (told["reranked"], told["rerank_reason"]) == (False, reason)
    assert told["explain"]["rerank"]["rerank_reason"] == reason
    assert f"Not reranked: {reason}." in render_text(response)
    assert told["confidence"] == plain.confidence


def test_it_is_asked_only_when_wanted(corpus: Database) -> None:
    """Switched off for a request, absent, or with nothing to compare, it is not asked; the answer says why."""
    reranker = Fixed()
    searcher = Searcher(corpus, EMBEDDER, reranker=reranker)
    off = searcher.search(QUESTION, rerank=False)
    single = searcher.search(QUESTION, kinds=["no-such-kind"])
    none = Searcher(corpus, EMBEDDER).search(QUESTION)
    reasons = ["not asked for", "nothing to rerank", "no reranker is configured"]
    assert [response.to_json()["rerank_reason"] for response in (off, single, none)] == reasons
    assert reranker.asked == []
    assert "reranked" not in render_text(none)


def test_the_budget_is_the_configured_one_or_the_requests(corpus: Database) -> None:
    """Milliseconds of the request come before the configuration's; what is no time is refused."""
    reranker = Fixed()
    searcher = Searcher(corpus, EMBEDDER, SearchConfig(rerank_seconds=1.5), reranker=reranker)
    searcher.search(QUESTION)
    searcher.search(QUESTION, rerank_milliseconds=250)
    assert [seconds for _, seconds in reranker.asked] == [1.5, 0.25]
    for wrong in (0, 60_001):
        with pytest.raises(RejectedInput, match=f"reranking may take {wrong} ms: use 1 to 60,000"):
            searcher.search(QUESTION, rerank_milliseconds=wrong)


def test_copies_are_scored_once(database: Database) -> None:
    """A text that stands in many documents takes one of the reranker's places."""
    rows = [PublishRow(chunk(f"{n}.md", content="Subscribe to our letter."), unit(1, 0.1)) for n in range(8)]
    put(database, [*rows, PublishRow(chunk("real.md", content="A letter field."), unit(1))], "1")
    reranker = Fixed()
    Searcher(database, EMBEDDER, reranker=reranker).search("letter")
    assert len(reranker.asked[0][0]) == 2


def test_equal_scores_keep_the_order_before() -> None:
    """Ties are decided by the order that stood before, so that an answer is the same each time."""
    hits = [SearchHit(0, 1 - n / 10, _candidate(str(n))) for n in range(4)]
    found = reordered(hits, [1.0, 2.0, 2.0, 1.0], k=60, adjust=lambda relevance, labels: relevance)
    assert [hit.chunk.id for hit in found] == ["1", "2", "0", "3"]
    assert [hit.score for hit in found] == [round(61 / (60 + rank), 6) for rank in (1, 2, 3, 4)]


def _candidate(identity: str, key: str = "a.md") -> Candidate:
    return Candidate(
        identity, "mdx", "docs", key, 0, "T", (), "T", "text", None, (), "concept", 1, None, None, False, (), None, identity
    )  # fmt: skip


def test_a_successor_is_as_relevant_as_what_it_supersedes() -> None:
    """The best passage of the newer document takes the fused relevance of the older one where its own is less, only then."""
    candidates = {name: _candidate(name, key) for name, key in (("old", "o"), ("new1", "n"), ("new2", "n"), ("else", "e"))}
    to_old = DocumentLink("supersedes", "mdx", "docs", "o", "O", None, "")
    links = dict.fromkeys(("new1", "new2"), (to_old,))
    fused = {"old": 0.6, "new1": 0.3, "new2": 0.4, "else": 0.5}
    own = {**fused, "old": 0.8}  # the question names the old way: that is the old page's own
    assert inherited(own, fused, candidates, links) == {"new2": ("old", 0.6)}
    assert inherited({**own, "new2": 0.7}, fused, candidates, links) == {}
    related = {name: (replace(to_old, relation="related"),) for name in links}
    assert inherited(own, fused, candidates, related) == {}
    without = {name: candidate for name, candidate in candidates.items() if name != "old"}
    assert inherited(own, fused, without, links) == {}


def test_who_is_shown_one_way_is_shown_both() -> None:
    """The counterpart of a chosen passage takes the last place when it has none; a single place is never taken."""
    hits = [SearchHit(0, 1 - n / 10, _candidate(str(n))) for n in range(6)]
    ids = [hit.chunk.id for hit in with_counterpart(hits[:3], hits, [("5", "0")], 3)]
    assert ids == ["0", "1", "5"]
    assert with_counterpart(hits[:3], hits, [("0", "1")], 3) == hits[:3]
    assert with_counterpart(hits[:1], hits, [("5", "0")], 1) == hits[:1]
    assert with_counterpart(hits[:3], hits, [("5", "2")], 3) == hits[:3]


def test_the_modern_way_stands_before_the_legacy_one_it_supersedes(database: Database) -> None:
    """A question in the words of the old page leads to the new one, which has none of them, and to the old one by its hint."""
    near = EMBEDDER.vector(QUESTION)
    rows = [PublishRow(chunk("old.md", content="open a file", generations=("vpro5",)), near)]
    rows += [PublishRow(chunk(f"{n}.md", content="a file", generations=("dwc",)), near + n * unit(1)) for n in (1, 2, 3)]
    rows.append(PublishRow(chunk("new.md", content="streams", generations=("dwc",)), -near))
    put(database, rows, "1")
    old, new = (DocumentId("mdx", "docs", key) for key in ("old.md", "new.md"))
    replace_links(
        database,
        LinkGraph((StoredLink(old, "superseded_by", new, "curated", ""),), ()),
        {old: ("Old", None), new: ("New", None)},
    )
    searcher = Searcher(database, EMBEDDER)

    def keys(**options: Any) -> list[str]:
        return [hit.chunk.key for hit in searcher.search(QUESTION, **options).hits]

    assert keys(generation="dwc")[0] == "new.md"
    assert "old.md" in keys(generation="dwc", limit=2)
    assert keys(generation="vpro5")[0] == "old.md"
    assert "new.md" in keys(generation="vpro5", limit=2)
    assert keys()[0] == "new.md"
    explained = searcher.search(QUESTION, generation="dwc", explain=True).hits[0]
    assert explained.explain is not None
    assert explained.explain["in_place_of"] == rows[0].chunk.chunk_id(InstanceRef("mdx", "docs"))
    assert json.loads(json.dumps(explained.to_json()))["links"][0]["relation"] == "supersedes"
