"""Judged sets: the given one and ours are read as they stand, and every mistake is named with its line."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.evaluation import load_judged
from bbj_pipeline.records import GENERATIONS
from bbj_pipeline.settings import SAMPLES_DIR, Settings
from bbj_pipeline.sources.registry import source_kinds
from bbj_pipeline_tests.paths import SHARED

LINE: dict[str, Any] = {
    "id": "a1",
    "query": "open a window",
    "generation": "dwc",
    "type": "howto",
    "relevant": [{"kind": "mdx", "instance": "docs", "key": "a.md", "heading": None, "grade": 2}],
}


def _file(tmp_path: Path, *lines: dict[str, Any]) -> Path:
    path = tmp_path / "judged.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_the_given_set_is_read_whole() -> None:
    """The counts of its own README: 120 queries, 337 judgements, 199 of grade 2, 8 negatives, 37 hints."""
    judged = load_judged(SHARED / "eval" / "queries.jsonl")
    grades = Counter(item.grade for query in judged.queries for item in query.judgements)
    assert (len(judged.queries), grades.total(), grades[2]) == (120, 337, 199)
    assert len(judged.negatives) == 8
    assert sum(query.generation is not None for query in judged.queries) == 37
    assert Counter(query.kind for query in judged.answerable) == {
        "flare": 25, "javadoc": 25, "mdx": 25, "web_crawl": 10, "wordpress": 15, "pdf": 12,
    }  # fmt: skip


def test_our_set_covers_kinds_generations_and_types() -> None:
    """At least 60 queries over all seven kinds and all five generations: identifiers, errors, how-to questions, negatives."""
    judged = load_judged(SAMPLES_DIR / "judged.jsonl")
    assert len(judged.queries) >= 60
    assert {query.kind for query in judged.answerable} == set(source_kinds())
    assert {query.generation for query in judged.queries} == {*GENERATIONS, None}
    types = Counter(query.type for query in judged.queries)
    assert min(types[name] for name in ("identifier", "error", "howto", "negative")) >= 5
    assert Settings().judged == SAMPLES_DIR / "judged.jsonl"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"generation": "swing"}, "line 1, generation"),
        ({"query": ""}, "line 1, query"),
        ({"id": "two words"}, "line 1, id"),
        ({"extra": 1}, "line 1, extra"),
        ({"relevant": []}, "exactly when nothing is relevant"),
        ({"type": "negative"}, "exactly when nothing is relevant"),
        ({"relevant": [{**LINE["relevant"][0], "grade": 3}]}, "line 1, relevant.0.grade"),
        ({"relevant": LINE["relevant"] * 2}, "'mdx/docs/a.md' stands twice"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    """A line that is no judged query is refused with file, line and field."""
    with pytest.raises(ConfigurationError) as error:
        load_judged(_file(tmp_path, {**LINE, **change}))
    assert message in str(error.value)
    assert "judged.jsonl" in str(error.value)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    """A missing file, an empty one, one that is no JSON and a repeated id are refused."""
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_judged(tmp_path / "none.jsonl")
    with pytest.raises(ConfigurationError, match="no judged query"):
        load_judged(_file(tmp_path))
    with pytest.raises(ConfigurationError, match="'a1' stands twice"):
        load_judged(_file(tmp_path, LINE, LINE))
    (tmp_path / "judged.jsonl").write_text("{\n")
    with pytest.raises(ConfigurationError, match="line 1"):
        load_judged(tmp_path / "judged.jsonl")


def test_the_digest_is_of_the_content(tmp_path: Path) -> None:
    """Blank lines do not make another set; another grade does."""
    first = load_judged(_file(tmp_path, LINE))
    spaced = _file(tmp_path, LINE)
    spaced.write_text("\n" + spaced.read_text() + "\n")
    assert load_judged(spaced).digest == first.digest
    other = {**LINE, "relevant": [{**LINE["relevant"][0], "grade": 1}]}
    assert load_judged(_file(tmp_path, other)).digest != first.digest
