"""The asset ``["corpus", "evaluation"]`` with its check and job: is search still as good as it was?

It runs after publications and reads what is served. What it measures belongs to ``evaluation``; that module asks the search.
"""

# Annotations stay real here (no `from __future__ import annotations`): Dagster reads the types of config and resources.

import time
from collections.abc import Callable, Sequence
from typing import Any

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition
from pydantic import Field

from bbj_pipeline.errors import ConfigurationError, PipelineError
from bbj_pipeline.evaluation.judged import load_judged
from bbj_pipeline.evaluation.metrics import PRIMARY
from bbj_pipeline.evaluation.tracking import Outcome, evaluate_published, search_config
from bbj_pipeline.orchestration.corpus import CORPUS_GROUP
from bbj_pipeline.orchestration.failures import classified
from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.orchestration.stage_names import PGVECTOR_TABLE
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.rollback import rollback

__all__ = ["EVALUATION", "EvaluationConfig", "RollBack", "build_evaluation", "roll_back_to"]

EVALUATION = dg.AssetKey([CORPUS_GROUP, "evaluation"])
NO_REGRESSION = "no_regression"

RollBack = Callable[[Database, InstanceRef, int, str], object]
"""Makes a publication (its id) of an instance the served one again; the last argument is the run's id."""


class EvaluationConfig(dg.Config):
    """What an operator may decide at launch."""

    accept: bool = Field(
        default=False, description="Make this result the baseline of later ones, even when it is worse than the one before."
    )


def build_evaluation(
    *, kinds: Sequence[str], roll_back: RollBack, max_retries: int
) -> tuple[dg.AssetsDefinition, UnresolvedAssetJobDefinition]:
    """Build the asset, which is due when tables of ``kinds`` were published to, and the job that makes it by hand."""

    @dg.asset(
        key=EVALUATION,
        deps=[dg.AssetKey([kind, PGVECTOR_TABLE]) for kind in kinds],
        group_name=CORPUS_GROUP,
        description="Search measured with judged queries: MRR, nDCG@10, recall with intervals, compared with the run before.",
        kinds={"postgres"},
        automation_condition=_after_publications(),
        check_specs=[
            dg.AssetCheckSpec(
                NO_REGRESSION,
                asset=EVALUATION,
                description=f"The 95 % interval of the difference in {PRIMARY} to the run before does not lie below zero.",
            )
        ],
    )
    def evaluation(
        context: dg.AssetExecutionContext, config: EvaluationConfig, platform: dg.ResourceParam[Platform]
    ) -> dg.MaterializeResult:  # type: ignore[type-arg]  # Dagster wants the bare class here
        started = time.perf_counter()
        path = platform.settings.judged
        if path is None:
            return _nothing_to_ask()
        with classified(max_retries, where="/".join(EVALUATION.path), attempt=context.retry_number):
            outcome = evaluate_published(
                platform.database,
                lambda: platform.embedder,
                search_config(platform.settings),
                load_judged(path),
                run_id=context.run_id,
                accept=config.accept,
            )
            rolled_back = []
            if outcome.regressed and platform.settings.rollback_on_regression:
                rolled_back = _roll_back(outcome, roll_back, platform.database, context)
        return _result(outcome, rolled_back, time.perf_counter() - started)

    job = dg.define_asset_job(
        "corpus_evaluation",
        selection=dg.AssetSelection.assets(EVALUATION),
        description="Measure search on the judged queries and compare with the run before. Config accept: true makes a result "
        "that is worse the new baseline.",
    )
    return evaluation, job


def roll_back_to(database: Database, ref: InstanceRef, publication: int, run_id: str) -> None:
    """Roll an instance back to a publication; what was rolled away is held until its source changes."""
    rollback(database, ref, to=publication, run_id=run_id)


def _after_publications() -> dg.AutomationCondition[Any]:
    """When a table was published to since the last evaluation and none is being made: a night ends in one evaluation."""
    published = dg.AutomationCondition.any_deps_updated().since_last_handled()
    busy = dg.AutomationCondition.any_deps_in_progress() | dg.AutomationCondition.in_progress()
    return (published & ~busy).with_label("after publications")


def _roll_back(outcome: Outcome, roll_back: RollBack, database: Database, context: dg.AssetExecutionContext) -> list[str]:
    """Bring back what the baseline was measured on; say for each changed instance what became of it."""
    lines = []
    for ref, publication in outcome.changed.items():
        if publication is None:
            lines.append(f"{ref}: not rolled back, it was not served before")
            continue
        try:
            roll_back(database, ref, publication, context.run_id)
        except PipelineError as error:  # no longer kept, say: the others are still worth rolling back
            lines.append(f"{ref}: not rolled back ({error})")
        else:
            lines.append(f"{ref}: rolled back to publication {publication}")
            table = dg.AssetKey([ref.kind, PGVECTOR_TABLE])
            context.log_event(
                dg.AssetMaterialization(
                    table, partition=ref.instance, description=f"search became worse: rolled back to publication {publication}"
                )
            )
    return lines


def _result(outcome: Outcome, rolled_back: Sequence[str], seconds: float) -> dg.MaterializeResult:  # type: ignore[type-arg]
    metadata: dict[str, Any] = {
        "status": "unchanged" if outcome.is_unchanged else "evaluated",
        "evaluation": outcome.evaluation_id,
        "seconds": round(seconds, 3),
        "report": dg.MetadataValue.md(outcome.report),
    }
    metadata |= {metric.replace("@", "_at_"): interval.mean for metric, interval in outcome.means.items()}
    if outcome.changed:
        metadata["changed_instances"] = ", ".join(map(str, outcome.changed))
    if rolled_back:
        metadata["rolled_back"] = dg.MetadataValue.md("\n".join(f"- {line}" for line in rolled_back))
    check = dg.AssetCheckResult(
        check_name=NO_REGRESSION, passed=not outcome.regressed, description=_verdict(outcome, rolled_back)
    )
    return dg.MaterializeResult(metadata=metadata, check_results=[check])


def _verdict(outcome: Outcome, rolled_back: Sequence[str]) -> str:
    if outcome.is_unchanged:
        found = "search was worse than its baseline" if outcome.regressed else "search was no worse than its baseline"
        return f"nothing changed since evaluation {outcome.evaluation_id}, when {found}"
    if outcome.comparison is None:
        return "the first evaluation of these queries: later ones are compared with it"
    difference = f"{PRIMARY} {outcome.comparison.differences[PRIMARY].signed} to evaluation {outcome.compared_with}"
    if not outcome.regressed:
        return difference
    done = "; ".join(rolled_back) or "roll the changed instances back, or launch the evaluation with accept: true"
    return f"search became worse: {difference}. Remedy: {done}"


def _nothing_to_ask() -> dg.MaterializeResult:  # type: ignore[type-arg]
    remedy = str(ConfigurationError("no judged queries are configured", remedy="name a JSON lines file in BBJ_JUDGED_FILE"))
    check = dg.AssetCheckResult(check_name=NO_REGRESSION, passed=True, description=remedy)
    return dg.MaterializeResult(metadata={"status": remedy}, check_results=[check])
