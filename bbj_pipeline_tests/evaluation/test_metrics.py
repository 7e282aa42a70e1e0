"""Metrics, intervals and comparison: equal to another implementation's, and to what can be counted by hand."""

from __future__ import annotations

import random

import ir_measures
import numpy as np
import pytest
from scipy.stats import bootstrap

from bbj_pipeline.evaluation.comparison import compare
from bbj_pipeline.evaluation.intervals import mean_interval, paired_interval
from bbj_pipeline.evaluation.judged import JudgedQuery, Judgement
from bbj_pipeline.evaluation.metrics import score
from bbj_pipeline.evaluation.running import Answer
from bbj_pipeline.evaluation.summary import score_answers, summarize
from bbj_pipeline.evaluation.trec import qrels, run
from bbj_pipeline.records import DocumentId

THEIRS = {
    "MRR": ir_measures.RR,
    "nDCG@10": ir_measures.nDCG @ 10,
    "recall@5": ir_measures.R @ 5,
    "recall@10": ir_measures.R @ 10,
}


def _document(number: int) -> DocumentId:
    return DocumentId(("mdx", "pdf")[number % 2], "docs", f"folder/a page {number} of 100%.md")


def _answers(seed: int) -> list[Answer]:
    """Random judgements and rankings: some judged documents are missed, some rankings are short or empty."""
    rng = random.Random(seed)
    answers = []
    for number in range(60):
        judged = rng.sample(range(40), rng.randint(1, 14))
        judgements = tuple(Judgement(_document(item), rng.randint(1, 2)) for item in judged)
        query = JudgedQuery(f"q{number}", "a question", None, "howto", judgements)
        ranked = rng.sample(range(40), rng.choice((0, 1, 4, 10, 10, 10)))
        answers.append(Answer(query, tuple(map(_document, ranked)), None, rng.random()))
    return answers


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_metrics_equal_those_of_ir_measures_on_the_exported_files(seed: int) -> None:
    """Every metric of every query is what trec_eval, asked through ir-measures, computes from our run and qrels files."""
    answers = _answers(seed)
    ours = score_answers(answers)
    judgements = list(ir_measures.read_trec_qrels(qrels(answer.query for answer in answers)))
    ranking = list(ir_measures.read_trec_run(run(answers)))
    for name, measure in THEIRS.items():
        theirs = {found.query_id: found.value for found in measure.iter_calc(judgements, ranking)}
        for query_id, scores in ours.items():
            assert scores[name] == pytest.approx(theirs.get(query_id, 0.0), abs=1e-9), (name, query_id)


def test_metrics_by_hand() -> None:
    """A relevant document in third place of two: the numbers a person gets with paper and pencil."""
    scores = score(["x", "y", "a"], {"a": 2, "b": 1})
    assert scores["MRR"] == pytest.approx(1 / 3)
    assert scores["recall@5"] == scores["recall@10"] == 0.5
    assert scores["nDCG@10"] == pytest.approx((2 / 2) / (2 + 1 / np.log2(3)))


def test_only_the_first_ten_documents_count() -> None:
    """An answer in eleventh place is none."""
    assert set(score([*map(str, range(10)), "a"], {"a": 2}).values()) == {0.0}


def test_intervals_are_those_of_the_percentile_bootstrap() -> None:
    """The ends agree with SciPy's percentile bootstrap within the noise of resampling, and are the same each time."""
    values = np.random.default_rng(5).beta(2, 1, size=80).tolist()
    ours = mean_interval(values)
    theirs = bootstrap((values,), np.mean, n_resamples=10_000, method="percentile", rng=np.random.default_rng(1))
    width = ours.high - ours.low
    assert ours.mean == pytest.approx(float(np.mean(values)))
    assert abs(ours.low - theirs.confidence_interval.low) < 0.05 * width
    assert abs(ours.high - theirs.confidence_interval.high) < 0.05 * width
    assert mean_interval(values) == ours


def test_pairing_sees_a_small_steady_loss() -> None:
    """A loss of .05 in every query is certain, though the means' own intervals overlap widely."""
    before = np.random.default_rng(6).uniform(0.1, 1, size=60)
    difference = paired_interval((before - 0.05).tolist(), before.tolist())
    assert difference.is_below_zero
    assert mean_interval(before.tolist()).low < mean_interval((before - 0.05).tolist()).high


def test_noise_is_no_regression() -> None:
    """Some queries better, some worse, as much in sum: the interval holds zero; a clear loss is named by its queries."""
    base = {f"q{number}": dict.fromkeys(THEIRS, 0.5) for number in range(40)}
    mixed = {name: dict.fromkeys(THEIRS, 0.5 + (0.1 if number % 2 else -0.1)) for number, name in enumerate(base)}
    assert not compare(mixed, base).is_regression
    worse = {name: dict.fromkeys(THEIRS, 0.0 if number < 20 else 0.5) for number, name in enumerate(base)}
    found = compare(worse, base)
    assert found.is_regression
    assert found.lost[0] == ("q0", -0.5)


def test_groups_and_negatives() -> None:
    """Groups hold the queries they name; a negative has no metric and counts as answered at or above the floor only."""
    relevant = _document(0)
    hit = JudgedQuery("a", "q", "dwc", "howto", (Judgement(relevant, 2),))
    miss = JudgedQuery("b", "q", None, "error", (Judgement(_document(1), 1),))
    none = [JudgedQuery(f"n{number}", "q", None, "negative", ()) for number in range(2)]
    answers = [
        Answer(hit, (relevant,), True, 0.9),
        Answer(miss, (relevant,), None, 0.2),
        Answer(none[0], (relevant,), None, 0.5),
        Answer(none[1], (relevant,), None, 0.1),
    ]
    summary = summarize(answers, floor=0.5)
    assert summary.overall["MRR"].mean == 0.5
    assert summary.groups["kind"]["mdx"]["MRR"].mean == 1
    assert summary.groups["kind"]["pdf"]["MRR"].mean == 0
    assert summary.groups["type"].keys() == {"howto", "error"}
    assert summary.groups["generation"].keys() == {"dwc", "(no hint)"}
    assert (summary.negatives, summary.answerable, summary.sections) == ((1, 2), (1, 2), (1, 1))
    assert summary.reached == {"mdx": (1, 1), "pdf": (0, 1)}
