"""The group ``corpus``: three assets over the published tables of all sources, and the job that makes them.

They read what is served and nothing else, so a refresh of a source neither waits for them nor fails with them. What they
compute stands in ``steps.corpus``.
"""

# Annotations stay real here (no `from __future__ import annotations`): Dagster reads the types of context and resources.

import datetime
import time
from collections.abc import Callable, Sequence
from typing import Any

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition
from dagster._core.utils import make_new_run_id

from bbj_pipeline.orchestration.dead_runs import close_dead_runs, process_tags
from bbj_pipeline.orchestration.failures import classified
from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.orchestration.presentation.plots import as_markdown, health_shares
from bbj_pipeline.orchestration.stage_names import PGVECTOR_TABLE
from bbj_pipeline.orchestration.steps.corpus import Report, report_duplicates, report_health, report_links

__all__ = ["CORPUS_ASSETS", "CORPUS_GROUP", "MODERNISATION_LINKS", "build_corpus_assets", "build_corpus_job", "make_reports"]

CORPUS_GROUP = "corpus"
MODERNISATION_LINKS, NEAR_DUPLICATES, HEALTH_REPORT = "modernisation_links", "near_duplicates", "health_report"
CORPUS_ASSETS = (MODERNISATION_LINKS, NEAR_DUPLICATES, HEALTH_REPORT)
CORPUS_JOB = "corpus_reports"

REPORTS = "0 5 * * *"
"""When the reports are made anew, in UTC: after the night's refreshes."""


def build_corpus_assets(
    *, kinds: Sequence[str], max_retries: int, now: Callable[[], datetime.datetime]
) -> list[dg.AssetsDefinition]:
    """Build the assets ``["corpus", name]``, unpartitioned, which depend on the published table of every kind."""
    tables = [dg.AssetKey([kind, PGVECTOR_TABLE]) for kind in kinds]

    def corpus_asset(name: str, description: str, *, after: Sequence[str] = ()) -> Callable[..., Any]:
        return dg.asset(
            key=[CORPUS_GROUP, name],
            deps=[*tables, *(dg.AssetKey([CORPUS_GROUP, earlier]) for earlier in after)],
            group_name=CORPUS_GROUP,
            description=description,
            kinds={"postgres"},
            automation_condition=dg.AutomationCondition.cron_tick_passed(REPORTS) & ~dg.AutomationCondition.in_progress(),
        )

    def result(context: dg.AssetExecutionContext, make: Callable[[], Report]) -> dg.MaterializeResult:  # type: ignore[type-arg]
        started = time.perf_counter()
        with classified(max_retries, where="/".join(context.asset_key.path), attempt=context.retry_number):
            report = make()
        return _shown(report, time.perf_counter() - started)

    @corpus_asset(
        MODERNISATION_LINKS,
        "Which document supersedes which, and what is related: what documents say of one another, and the curated links.",
    )
    def modernisation_links(context: dg.AssetExecutionContext, platform: dg.ResourceParam[Platform]) -> dg.MaterializeResult:  # type: ignore[type-arg]  # Dagster wants the bare class here
        return result(context, lambda: report_links(platform.settings, platform.database, context.run_id))

    @corpus_asset(NEAR_DUPLICATES, "Chunks and pages that are copies of others, each with the one that is preferred to it.")
    def near_duplicates(context: dg.AssetExecutionContext, platform: dg.ResourceParam[Platform]) -> dg.MaterializeResult:  # type: ignore[type-arg]  # Dagster wants the bare class here
        return result(context, lambda: report_duplicates(platform.settings, platform.database, context.run_id))

    @corpus_asset(
        HEALTH_REPORT,
        "What writers should look at: stale, copied, untagged, orphaned, oversized documents, broken links, contradictions.",
        after=(MODERNISATION_LINKS, NEAR_DUPLICATES),
    )
    def health_report(context: dg.AssetExecutionContext, platform: dg.ResourceParam[Platform]) -> dg.MaterializeResult:  # type: ignore[type-arg]  # Dagster wants the bare class here
        return result(context, lambda: report_health(platform.settings, platform.database, context.run_id, now()))

    return [modernisation_links, near_duplicates, health_report]


def build_corpus_job() -> UnresolvedAssetJobDefinition:
    """Build the job that makes all reports."""
    return dg.define_asset_job(
        CORPUS_JOB,
        selection=dg.AssetSelection.assets(*(dg.AssetKey([CORPUS_GROUP, name]) for name in CORPUS_ASSETS)),
        description="Make the modernisation links, the near-duplicates and the health report of what is published.",
    )


def make_reports(
    definitions: dg.Definitions, instance: dg.DagsterInstance, *, log_level: str, only: Sequence[str] = CORPUS_ASSETS
) -> str | None:
    """Run the job, or its assets ``only``, in this process; return ``None``, or in a person's words what failed."""
    close_dead_runs(instance)
    run_id = make_new_run_id()
    result = definitions.resolve_job_def(CORPUS_JOB).execute_in_process(
        instance=instance,
        asset_selection=[dg.AssetKey([CORPUS_GROUP, name]) for name in only],
        raise_on_error=False,
        run_config={"loggers": {"console": {"config": {"log_level": log_level}}}},
        run_id=run_id,
        tags=process_tags(run_id),
    )
    if result.success:
        return None
    for event in result.all_events:
        if event.is_step_failure:
            failure = event.step_failure_data
            described = failure.user_failure_data.description if failure.user_failure_data else None
            return described or (failure.error.message.strip() if failure.error else "") or str(event.step_key)
    return "the run failed before its first step; see it in the UI"


def _shown(report: Report, seconds: float) -> dg.MaterializeResult:  # type: ignore[type-arg]
    shown: dict[str, Any] = {**report.counts, "seconds": round(seconds, 3)}
    if report.health is not None:
        shown["plot"] = dg.MetadataValue.md(as_markdown(health_shares(report.health), "share of documents with a finding"))
    return dg.MaterializeResult(metadata={**shown, "report": dg.MetadataValue.md(report.markdown)})
