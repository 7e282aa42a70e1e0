"""Runs the refresh jobs in this process, one instance after another, and reports each in the documented shape.

What the command line and tests call; the daemon runs the same jobs by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import dagster as dg
from dagster._core.utils import make_new_run_id

from bbj_pipeline.orchestration.dead_runs import close_dead_runs, process_tags
from bbj_pipeline.orchestration.jobs import refresh_job_name
from bbj_pipeline.orchestration.marked_export import waits_for
from bbj_pipeline.orchestration.pools import full_pools
from bbj_pipeline.orchestration.stage_names import CHUNKS, EMBEDDINGS, PARSED_TOPICS, PGVECTOR_TABLE, STAGES
from bbj_pipeline.records import InstanceRef

__all__ = ["InstanceReport", "refresh"]


_INTERRUPTS = {"DagsterExecutionInterruptedError", "KeyboardInterrupt"}


@dataclass(frozen=True, slots=True)
class InstanceReport:
    """What one run did to one instance, in the shape of ``run --json`` (counts are documents, chunks, vectors, rows).

    ``warnings`` are the checks that failed without stopping the run, each a sentence with its remedy; and what was waited for.
    """

    kind: str
    instance: str
    status: Literal["published", "unchanged", "held", "waiting", "failed"]
    documents: dict[str, int] = field(default_factory=dict)
    chunks: int = 0
    embeddings: dict[str, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    withheld: int = 0
    warnings: list[str] = field(default_factory=list)
    run_id: str = ""
    error: str | None = None


def refresh(
    definitions: dg.Definitions,
    instance: dg.DagsterInstance,
    refs: Sequence[InstanceRef],
    *,
    log_level: str,
    approve_deletions: Collection[InstanceRef] = (),
    tell: Callable[[str], None] = lambda line: None,
) -> Iterator[InstanceReport]:
    """Run the refresh job of every instance in ``refs``; a failed one is reported and the next goes on.

    Withheld deletions of the instances in ``approve_deletions`` are carried out in these runs, and in no later one.
    ``tell`` hears what a run may have to wait for. Raises ``KeyboardInterrupt`` after the report of the instance in whose run
    it was interrupted.
    """
    close_dead_runs(instance)
    for ref in refs:
        for pool, holder in full_pools(instance, ref.kind).items():
            tell(f"{ref} may have to wait: run {holder} in the UI holds the pool {pool!r}")
        job = definitions.resolve_job_def(refresh_job_name(ref.kind))
        run_id = make_new_run_id()
        result = job.execute_in_process(
            partition_key=ref.instance,
            instance=instance,
            raise_on_error=False,
            run_config={
                "loggers": {"console": {"config": {"log_level": log_level}}},
                "ops": {f"{ref.kind}__{PGVECTOR_TABLE}": {"config": {"approve_deletions": ref in approve_deletions}}},
            },
            run_id=run_id,
            tags=process_tags(run_id),
        )
        ended = instance.get_run_by_id(run_id)
        yield _report(ref, result, waits_for(ended) if ended else None)
        if _interrupted(result):
            raise KeyboardInterrupt


def _interrupted(result: dg.ExecuteInProcessResult) -> bool:
    """Dagster turns an interrupt into a failed step; here it becomes one again."""
    failures = (event.step_failure_data.error for event in result.all_events if event.is_step_failure)
    return any(error is not None and error.cls_name in _INTERRUPTS for error in failures)


def _report(ref: InstanceRef, result: dg.ExecuteInProcessResult, waiting: str | None) -> InstanceReport:
    stages = {stage: _metadata(result, ref, stage) for stage in STAGES}
    parsed, published = stages[PARSED_TOPICS], stages[PGVECTOR_TABLE]
    outcome: Literal["published", "unchanged", "held", "waiting", "failed"] = "failed"
    if result.success:
        outcome = "waiting" if waiting else published.get("status", "published")
    return InstanceReport(
        kind=ref.kind,
        instance=ref.instance,
        status=outcome,
        documents={
            "parsed": parsed.get("computed", 0),
            "reused": parsed.get("reused", 0),
            "rejected": parsed.get("rejected", 0),
            "deleted": published.get("documents_deleted", 0),
        },
        chunks=stages[CHUNKS].get("computed", 0) + stages[CHUNKS].get("reused", 0),
        embeddings={name: stages[EMBEDDINGS].get(name, 0) for name in ("computed", "reused")},
        rows={name: published.get(name, 0) for name in ("inserted", "updated", "deleted", "unchanged")},
        seconds={stage: found["seconds"] for stage, found in stages.items() if "seconds" in found},
        withheld=published.get("withheld", 0),
        warnings=[*([waiting] if waiting else []), *_warnings(result)],
        run_id=result.run_id,
        error=None if result.success else _error(ref, result),
    )


def _metadata(result: dg.ExecuteInProcessResult, ref: InstanceRef, stage: str) -> dict[str, Any]:
    """Return the plain values of a stage's materialisation in this run; empty when it was not reached."""
    key = dg.AssetKey([ref.kind, stage])
    for event in result.get_asset_materialization_events():
        if event.asset_key == key:
            return {name: value.value for name, value in event.materialization.metadata.items()}
    return {}


def _warnings(result: dg.ExecuteInProcessResult) -> list[str]:
    """Return the failed checks that do not block, in the order of the stages; what is withheld is told by itself."""
    return [
        f"{evaluation.asset_key.path[-1]}: {evaluation.check_name}: {evaluation.description}"
        for evaluation in sorted(result.get_asset_check_evaluations(), key=lambda item: STAGES.index(item.asset_key.path[-1]))
        if not evaluation.passed and not evaluation.blocking and evaluation.check_name != "nothing_withheld"
    ]


def _error(ref: InstanceRef, result: dg.ExecuteInProcessResult) -> str:
    """Return the first failure in a person's words: a failed check's description, or what the step raised."""
    for evaluation in result.get_asset_check_evaluations():
        if evaluation.blocking and not evaluation.passed:
            return f"{ref} {evaluation.asset_key.path[-1]}: {evaluation.check_name} failed: {evaluation.description}"
    for event in result.all_events:
        if event.is_step_failure:
            failure = event.step_failure_data
            described = failure.user_failure_data.description if failure.user_failure_data else None
            raised = failure.error.message.strip() if failure.error else ""
            stage = (event.step_key or "").removeprefix(f"{ref.kind}__")
            if failure.error and failure.error.cls_name in _INTERRUPTS:
                return f"{ref} {stage}: interrupted; what is served stays as it was: run it again, and it goes on from there"
            return f"{ref} {stage}: {described or raised}"
    return "the run failed before its first step; see it in the UI"
