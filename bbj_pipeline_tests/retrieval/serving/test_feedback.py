"""Feedback and the gap report: what readers say is kept, what they ask only where that is allowed."""

from __future__ import annotations

import datetime

import httpx
import numpy as np
import pytest

from bbj_pipeline.retrieval.serving.gaps import group_gaps, render_gaps
from bbj_pipeline.settings import Settings
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.feedback import Gap, select_gaps
from bbj_pipeline_tests.retrieval.serving.conftest import EMBEDDER
from bbj_pipeline_tests.retrieval.serving.servers import call, running

LONG_AGO = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)


def _gaps(database: Database) -> list[Gap]:
    return select_gaps(database, since=LONG_AGO, limit=100)


def _gap(query: str, asked: int = 1, **fields: object) -> Gap:
    values: dict[str, object] = {"hits": 0, "strength": 0.0, "not_useful": 0, "useful": 0, "comments": ()} | fields
    return Gap(query=query, generation=None, asked=asked, last=LONG_AGO, **values)  # type: ignore[arg-type]


def test_feedback_is_kept_with_its_document(small: Database, small_url: str) -> None:
    """A judged hit is stored with the document it belonged to, and an unhelpful one is a gap, with its comment."""
    hit = call(small_url, query="Open a window").json()["hits"][0]
    body = {
        "query": "Open a window",
        "chunk_id": hit["id"],
        "useful": False,
        "comment": "Where is the title?",
        "generation": "dwc",
    }
    made = httpx.post(f"{small_url}/feedback", json=body)
    assert made.status_code == 201
    with small.connection() as connection:
        row = connection.execute("select id, kind, instance, doc_key, useful, comment from feedback").fetchone()
    assert row == (made.json()["id"], "mdx", "docs", hit["key"], False, "Where is the title?")
    (gap,) = _gaps(small)
    assert (gap.query, gap.generation, gap.not_useful, gap.hits, gap.comments) == (
        "Open a window", "dwc", 1, None, ("Where is the title?",),
    )  # fmt: skip


def test_feedback_on_an_answer_as_a_whole_and_on_an_unknown_chunk(small: Database, small_url: str) -> None:
    """No chunk means the answer; a chunk that is not served is 404 and leaves no row; praise is no gap."""
    assert httpx.post(f"{small_url}/feedback", json={"query": "w", "useful": True}).status_code == 201
    unknown = httpx.post(f"{small_url}/feedback", json={"query": "w", "useful": False, "chunk_id": "0" * 32})
    assert unknown.status_code == 404
    assert _gaps(small) == []
    with small.connection() as connection:
        assert connection.execute("select count(*) from feedback").fetchone() == (1,)


@pytest.mark.parametrize(
    "body",
    [{"query": "w"}, {"query": "w", "useful": "yes"}, {"query": "w", "useful": True, "chunk_id": "../x"},
     {"query": "w", "useful": True, "comment": "a\0b"}, {"query": "w", "useful": True, "comment": "c" * 2001}],
)  # fmt: skip
def test_feedback_is_bounded(small_url: str, body: dict[str, object]) -> None:
    """What is missing, of another type, or too long is 422."""
    assert httpx.post(f"{small_url}/feedback", json=body).status_code == 422


def test_questions_are_not_kept_unless_allowed(small: Database, small_url: str) -> None:
    """By default an unanswered question leaves no trace in the database."""
    assert call(small_url, query="w", kinds=["pdf"]).json()["hits"] == []
    assert _gaps(small) == []


def test_questions_without_an_answer_are_counted_where_allowed(small: Database, settings: Settings) -> None:
    """One row a question, whatever its wording: stop words, order and endings do not count; another generation does."""
    with running(small, EMBEDDER, settings.model_copy(update={"log_queries": True, "gap_floor": 0.0})) as url:
        for query in ("How do I print labels?", "printing a label", "Labels: print them"):
            call(url, query=query, kinds=["pdf"])
        call(url, query="print labels", kinds=["pdf"], generation="dwc")
        call(url, query="Open a window.")
    found = {(gap.generation, gap.query): (gap.asked, gap.hits) for gap in _gaps(small)}
    assert found == {(None, "Labels: print them"): (3, 0), ("dwc", "print labels"): (1, 0)}


def test_weak_answers_are_gaps_too(small: Database, settings: Settings) -> None:
    """An answer below the configured floor is counted with its hits."""
    with running(small, EMBEDDER, settings.model_copy(update={"log_queries": True, "gap_floor": 1.0})) as url:
        call(url, query="something about nothing", limit=2)
    (gap,) = _gaps(small)
    assert (gap.asked, gap.hits) == (1, 2)


def test_near_questions_are_one_topic() -> None:
    """Questions whose vectors are near the first of a group join it; the heaviest topic is first."""
    gaps = [_gap("a", 3), _gap("b", 2), _gap("near b", 2)]
    vectors = np.array([[1, 0], [0, 1], [0.1, 0.995]], dtype=np.float32)
    groups = group_gaps(gaps, vectors)
    assert [[gap.query for gap in group.gaps] for group in groups] == [["b", "near b"], ["a"]]
    assert [group.weight for group in groups] == [4, 3]


def test_the_report_is_markdown_that_a_question_cannot_break() -> None:
    """Topics with counts, wordings and comments; markup in what people wrote is text."""
    gaps = [_gap("# <b>print</b>\n[x](y)", 2, not_useful=1, comments=("*bad*",)), _gap("print labels")]
    report = render_gaps(group_gaps(gaps, np.array([[1, 0], [1, 0]], dtype=np.float32)), days=90)
    assert report.startswith("# Questions without a good answer, last 90 days\n")
    assert "2 questions in 1 topics." in report
    assert "## \\# \\<b\\>print\\</b\\> \\[x\\](y)" in report
    assert "left without an answer 4 times" in report
    assert "also asked as: print labels" in report
    assert "> \\*bad\\*" in report
    assert "BBJ_LOG_QUERIES" in render_gaps([], days=90)
