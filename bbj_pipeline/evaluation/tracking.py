"""Evaluates what is published and compares it with the run before that was no regression. The asset and its check say the rest.

An equal state (queries, publications, configuration, model) has an equal result: it is looked up and not asked again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bbj_pipeline.errors import SchemaError
from bbj_pipeline.evaluation.ablations import answers_of
from bbj_pipeline.evaluation.comparison import Comparison, compare
from bbj_pipeline.evaluation.intervals import Interval
from bbj_pipeline.evaluation.judged import JudgedSet
from bbj_pipeline.evaluation.plots import evaluation_plot
from bbj_pipeline.evaluation.running import Answer
from bbj_pipeline.evaluation.summary import score_answers, summarize
from bbj_pipeline.evaluation.tables import comparison_table, summary_table
from bbj_pipeline.records import InstanceRef, content_hash
from bbj_pipeline.retrieval import SearchConfig
from bbj_pipeline.settings import Settings
from bbj_pipeline.stages.contract import Embedder
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.evaluations import (
    EvaluationRecord,
    QueryResult,
    StoredEvaluation,
    evaluation_history,
    evaluation_scores,
    latest_evaluation,
    record_evaluation,
)
from bbj_pipeline.storage.publications import InstanceStatus, status
from bbj_pipeline.storage.readback import unpublished

__all__ = ["EVALUATION_VERSION", "Outcome", "evaluate_published", "search_config"]

EVALUATION_VERSION = "1"
"""Raised when the same answers are measured differently."""
HISTORY = 30
"""Runs in the plot."""
_LISTED = 20


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an evaluation found.

    ``means`` are empty and ``comparison`` is ``None`` when the state is the one of the last run, whose verdict then holds.
    ``changed`` are the instances published anew since the baseline, each with the publication the baseline had of it
    (``None``: it was not served then).
    """

    evaluation_id: int
    is_unchanged: bool
    means: Mapping[str, Interval]
    comparison: Comparison | None
    compared_with: int | None
    regressed: bool
    changed: Mapping[InstanceRef, int | None]
    report: str


def search_config(settings: Settings) -> SearchConfig:
    """Return the configured search, for callers that do not know ``retrieval``."""
    return SearchConfig.from_settings(settings)


def evaluate_published(
    database: Database,
    embedder: Callable[[], Embedder],
    config: SearchConfig,
    judged: JudgedSet,
    *,
    run_id: str,
    accept: bool = False,
) -> Outcome:
    """Ask the judged queries, store the results and compare them with the last run that was no regression.

    A regression is no baseline, so that it is reported until search is as good again; ``accept`` makes this result the
    baseline whatever it is. ``embedder`` is called only when there is something to ask. Raises what a search raises.
    """
    served = [item for item in status(database) if item.space_state == "active"]
    if not served:
        raise SchemaError("nothing is published yet", remedy="run 'bbj-pipeline run' first")
    state = _state(served, config, judged)
    last = latest_evaluation(database, judged.digest, baseline=False)
    if last is not None and last.state == state and not (accept and last.regressed):
        return Outcome(last.id, True, {}, None, None, last.regressed, {}, last.report)
    answers = answers_of(database, embedder(), config, judged)
    return _Run(database, config, judged, served, state, answers).store(run_id, accept)


@dataclass(frozen=True, slots=True)
class _Run:
    """One evaluation that was asked and is not stored yet."""

    database: Database
    config: SearchConfig
    judged: JudgedSet
    served: list[InstanceStatus]
    state: str
    answers: list[Answer]

    def store(self, run_id: str, accept: bool) -> Outcome:
        scores = score_answers(self.answers)
        baseline = latest_evaluation(self.database, self.judged.digest, baseline=True)
        comparison = None if baseline is None else compare(scores, evaluation_scores(self.database, baseline.id))
        before = None if baseline is None else baseline.id
        regressed = comparison is not None and comparison.is_regression and not accept
        summary = summarize(self.answers, floor=self.config.confidence_floor)
        report = self._report(summary_table(summary), comparison, baseline)
        record = EvaluationRecord(
            run_id, self.judged.digest, self.judged.name, self.state, self.served[0].space_id, _publications(self.served),
            dataclasses.asdict(self.config), report, before, regressed,
        )  # fmt: skip
        results = [
            QueryResult(answer.query.id, scores.get(answer.query.id), list(map(str, answer.documents)), answer.confidence)
            for answer in self.answers
        ]
        identity = record_evaluation(self.database, record, results)
        history = evaluation_history(self.database, self.judged.digest, limit=HISTORY)
        return Outcome(
            identity, False, summary.overall, comparison, before, regressed,
            {} if baseline is None else _changed(self.served, baseline),
            f"{report}\n{evaluation_plot(summary, history)}\n",
        )  # fmt: skip

    def _report(self, means: str, comparison: Comparison | None, baseline: StoredEvaluation | None) -> str:
        parts = [f"## {self.judged.name}: {len(self.judged.queries)} queries\n", means]
        asked = {judgement.document for query in self.judged.queries for judgement in query.judgements}
        missing = unpublished(self.database, sorted(asked))
        if missing:
            listed = "".join(f"- `{'/'.join(document)}`\n" for document in missing[:_LISTED])
            parts.append(f"{len(missing)} of {len(asked)} judged documents are not published:\n\n{listed}")
        if comparison is not None and baseline is not None:
            texts = {query.id: query.text for query in self.judged.queries}
            parts += [f"## Compared with evaluation {baseline.id}\n", comparison_table(comparison, texts)]
        return "\n".join(parts)


def _state(served: list[InstanceStatus], config: SearchConfig, judged: JudgedSet) -> str:
    search = dataclasses.asdict(config)
    return content_hash([EVALUATION_VERSION, judged.digest, search, served[0].fingerprint, _publications(served)])


def _publications(served: list[InstanceStatus]) -> dict[str, int]:
    return {f"{item.kind}/{item.instance}": item.publication_id for item in served}


def _changed(served: list[InstanceStatus], baseline: StoredEvaluation) -> dict[InstanceRef, int | None]:
    """Return the instances of the baseline's space whose publication is another now."""
    if served[0].space_id != baseline.space_id:
        return {}
    before = baseline.publications
    return {
        InstanceRef(item.kind, item.instance): before.get(f"{item.kind}/{item.instance}")
        for item in served
        if before.get(f"{item.kind}/{item.instance}") != item.publication_id
    }
