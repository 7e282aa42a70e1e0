"""What each stage of a search is worth: the judged queries under configurations that leave one thing out.

Configurations of a search over what is published; what needs another index (no headers, no overlap) is in ``variants``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from bbj_pipeline.evaluation.comparison import Comparison, compare
from bbj_pipeline.evaluation.judged import JudgedSet
from bbj_pipeline.evaluation.metrics import METRICS, PRIMARY
from bbj_pipeline.evaluation.running import HITS, Answer, ask
from bbj_pipeline.evaluation.summary import Summary, score_answers, summarize
from bbj_pipeline.evaluation.tables import table_lines
from bbj_pipeline.retrieval import Reranker, SearchConfig, Searcher
from bbj_pipeline.stages.contract import Embedder
from bbj_pipeline.storage.database import Database

__all__ = ["DEFAULT", "Ablation", "ablation_lines", "answers_of", "fusion_grid", "search_ablations"]

DEFAULT = "default"
_GRID_CANDIDATES = (20, 50, 100, 200)
_GRID_WEIGHTS = (0.7, 0.6, 0.5, 0.4, 0.3)
"""Of the vectors; the words have the rest. The blueprint's is the first."""


@dataclass(frozen=True, slots=True)
class Ablation:
    """One configuration's results, and their differences to the default's (``None`` for the default itself)."""

    name: str
    summary: Summary
    difference: Comparison | None


@dataclass(frozen=True, slots=True)
class _Setup:
    name: str
    config: SearchConfig
    hinted: bool = True
    reranker: Reranker | None = None


def answers_of(
    database: Database,
    embedder: Embedder,
    config: SearchConfig,
    judged: JudgedSet,
    *,
    hinted: bool = True,
    reranker: Reranker | None = None,
) -> list[Answer]:
    """Ask all queries of a judged set under one configuration."""
    searcher = Searcher(database, embedder, config, reranker=reranker)
    # More hits than candidates would make the legs look for more, and measure another configuration.
    limit = min(HITS, max(config.dense_candidates, config.lexical_candidates))
    return list(ask(searcher, judged.queries, hinted=hinted, limit=limit))


def search_ablations(
    database: Database,
    embedder: Embedder,
    config: SearchConfig,
    judged: JudgedSet,
    baseline: Sequence[Answer],
    *,
    reranker: Reranker | None = None,
) -> Iterator[Ablation]:
    """Yield the default first, whose answers are ``baseline``, then each configuration compared with it, query by query.

    ``reranker`` is the cross-encoder of the rows "reranked", which are left out without one. The default is
    measured without it, so that the rows show what it adds.
    """
    yield Ablation(DEFAULT, summarize(baseline, floor=config.confidence_floor), None)
    for setup in _setups(config, reranker):
        answers = answers_of(database, embedder, setup.config, judged, hinted=setup.hinted, reranker=setup.reranker)
        yield ablation(setup.name, answers, baseline, floor=config.confidence_floor)


def fusion_grid(
    database: Database, embedder: Embedder, config: SearchConfig, judged: JudgedSet
) -> Iterator[tuple[str, list[Answer]]]:
    """Yield name and answers of the bare fusion of both legs, hints withheld: as configured first, then the grid.

    The grid is every number of candidates with every pair of weights.
    """
    seen: set[str] = set()
    for candidates, dense in [(config.dense_candidates, config.dense_weight), *product(_GRID_CANDIDATES, _GRID_WEIGHTS)]:
        lexical = config.lexical_weight if not seen else round(1 - dense, 1)
        name = f"fused {dense} / {lexical}, {candidates} a leg"
        if name not in seen:
            seen.add(name)
            sizes = replace(_bare(config), dense_candidates=candidates, lexical_candidates=candidates)
            weighed = replace(sizes, dense_weight=dense, lexical_weight=lexical)
            yield name, answers_of(database, embedder, weighed, judged, hinted=False)


def ablation(name: str, answers: Sequence[Answer], baseline: Sequence[Answer], *, floor: float) -> Ablation:
    """Summarize one configuration's answers and compare them with the default's."""
    return Ablation(name, summarize(answers, floor=floor), compare(score_answers(answers), score_answers(baseline)))


def ablation_lines(ablations: Iterable[Ablation]) -> Iterator[str]:
    """Yield a table, a row for each configuration as it comes: means, and the interval of its difference to the default."""
    header = ["configuration", *METRICS, f"{PRIMARY} − default's, 95 %", "negatives answered"]
    yield from table_lines(header, map(_row, ablations))


def _row(item: Ablation) -> list[str]:
    means = [f"{item.summary.overall[metric].mean:.3f}" for metric in METRICS]
    difference = "" if item.difference is None else item.difference.differences[PRIMARY].signed
    negatives = f"{item.summary.negatives[0]}/{item.summary.negatives[1]}"
    return [item.name, *means, difference, negatives]


def _setups(config: SearchConfig, reranker: Reranker | None) -> Iterator[_Setup]:
    bare = _bare(config)
    yield _Setup("dense alone", replace(bare, dense_weight=1.0, lexical_weight=0.0), hinted=False)
    yield _Setup("lexical alone", replace(bare, dense_weight=0.0, lexical_weight=1.0), hinted=False)
    yield _Setup("fused, nothing after", bare, hinted=False)
    yield _Setup("blueprint's fusion (.7/.3, 20 a leg)", _blueprint(config))
    yield _Setup("without hints", config, hinted=False)
    yield _Setup("without generation scoring", _level(config))
    yield _Setup("without wording bonuses", _unbonused(config))
    yield _Setup("without phrase bonus", replace(config, phrase_bonus=0.0))
    yield _Setup("without identifier bonus", replace(config, identifier_bonus=0.0))
    yield _Setup("without coverage bonus", replace(config, coverage_bonus=0.0))
    yield _Setup("without balance", replace(config, per_document=HITS, kind_share=1.0))
    if reranker is not None:
        # Its worth is measured here; whether it is fast enough is a matter of the machine.
        patient = replace(config, rerank_seconds=math.inf)
        yield _Setup("reranked", patient, reranker=reranker)
        yield _Setup("reranked, without generation scoring", _level(patient), reranker=reranker)


def _level(config: SearchConfig) -> SearchConfig:
    return replace(config, target_weight=0.0, preference_weight=0.0)


def _unbonused(config: SearchConfig) -> SearchConfig:
    return replace(config, phrase_bonus=0.0, identifier_bonus=0.0, coverage_bonus=0.0)


def _bare(config: SearchConfig) -> SearchConfig:
    """The legs and their fusion, and nothing after them."""
    return replace(_unbonused(_level(config)), per_document=HITS, kind_share=1.0)


def _blueprint(config: SearchConfig) -> SearchConfig:
    return replace(config, dense_candidates=20, lexical_candidates=20, dense_weight=0.7, lexical_weight=0.3)
