"""Tells people once what is broken and once that it is over: failed runs, failed checks, stale instances.

A sensor compares what is wrong now with what it told, kept in its cursor by instance and cause; so a night of the same failure
is one alert, and a channel that was down gets it when it is back. How an alert is sent lives in ``alert_channels``.
"""

from __future__ import annotations

import datetime
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import dagster as dg

from bbj_pipeline.orchestration.alert_channels import Alert, Channel, NotSent
from bbj_pipeline.orchestration.failures import failed_steps
from bbj_pipeline.orchestration.freshness import last_published, verdict
from bbj_pipeline.orchestration.marked_export import waits_for
from bbj_pipeline.orchestration.stage_names import PGVECTOR_TABLE
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.sources.config import ConfiguredInstance

__all__ = ["Problem", "build_alert_sensor"]

log = logging.getLogger(__name__)

_TICK_SECONDS = 60
_RECENT_RUNS = 25
"""Runs of a partition that are looked through for its kind's; other kinds may have an instance of the same name."""
_STALE = "stale"
"""The cause of an alert about an instance that no refresh reaches."""
_PARTITION = "dagster/partition"
_ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE]

Told = dict[str, dict[str, list[str]]]
"""Subject → cause → the channels that were told."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong with a subject: a cause that stays the same while it lasts, the words, and the run."""

    cause: str
    what: str
    remedy: str
    run_id: str = ""


def build_alert_sensor(
    *,
    instances: Sequence[ConfiguredInstance],
    jobs: Sequence[str],
    channels: Mapping[str, Channel],
    ui_url: str,
    now: Callable[[], datetime.datetime],
) -> dg.SensorDefinition:
    """Build the sensor; ``jobs`` are further jobs whose failed run is told, ``ui_url`` is where links to runs lead."""

    def evaluate(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        told: Told = json.loads(context.cursor or "{}")
        found = {str(item.ref): list(_instance_problems(context.instance, item, now())) for item in instances}
        found |= {f"job {name}": list(_job_problems(context.instance, name)) for name in jobs}
        lines: list[str] = []
        after: Told = {}
        for subject, problems in found.items():
            known = told.get(subject, {})
            kept = _tell(subject, _worth_telling(problems, known), known, channels, ui_url, lines)
            if kept:
                after[subject] = kept
        broken = ", ".join(after) or "nothing"
        return dg.SensorResult(cursor=json.dumps(after, sort_keys=True), skip_reason="; ".join(lines) or f"broken: {broken}")

    return dg.SensorDefinition(
        name="alert_sensor",
        evaluation_fn=evaluate,
        minimum_interval_seconds=_TICK_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Tells once what broke and once that it recovered: failed runs and checks, stale instances.",
    )


def _worth_telling(problems: Sequence[Problem], told: Mapping[str, list[str]]) -> Sequence[Problem]:
    """Leave out that an instance became stale when people know why: its runs fail. What was told stays until it is over."""
    others = [problem for problem in problems if problem.cause != _STALE]
    return problems if _STALE in told or not others else others


def _tell(
    subject: str,
    problems: Sequence[Problem],
    told: Mapping[str, list[str]],
    channels: Mapping[str, Channel],
    ui_url: str,
    lines: list[str],
) -> dict[str, list[str]]:
    """Send what is new and what is over; return by cause which channels know. One that failed is tried again."""
    kept: dict[str, list[str]] = {}
    for problem in problems:
        link = f"{ui_url.rstrip('/')}/runs/{problem.run_id}" if problem.run_id else ""
        alert = Alert(subject, problem.what, problem.remedy, link)
        known = told.get(problem.cause, [])
        reached = _send(alert, {name: channel for name, channel in channels.items() if name not in known}, lines)
        kept[problem.cause] = sorted({*known, *reached})
    for cause, knowing in told.items():
        if cause not in kept:
            over = Alert(subject, f"{cause} is over", "", "", recovered=True)
            waiting = {name: channels[name] for name in knowing if name in channels}
            missed = sorted(set(waiting) - set(_send(over, waiting, lines)))
            if missed:
                kept[cause] = missed
    return kept


def _send(alert: Alert, channels: Mapping[str, Channel], lines: list[str]) -> list[str]:
    """Send by each channel; return those that took it."""
    reached = []
    for name, channel in channels.items():
        try:
            channel(alert)
        except NotSent as error:
            log.warning("an alert was not sent: %s", error)
            lines.append(str(error))
        else:
            reached.append(name)
    if reached:
        lines.append(f"{alert.title} (told: {', '.join(reached)})")
    return reached


def _instance_problems(instance: dg.DagsterInstance, item: ConfiguredInstance, now: datetime.datetime) -> Iterator[Problem]:
    run = _last_run(instance, item.ref)
    if run is not None:
        yield from _run_problems(instance, run)
    fresh, description = verdict(item, last_published(instance, item.ref), now)
    if not fresh:
        what, _, remedy = description.partition(" Remedy: ")
        yield Problem(_STALE, what, remedy)


def _job_problems(instance: dg.DagsterInstance, name: str) -> Iterator[Problem]:
    runs = instance.get_runs(dg.RunsFilter(job_name=name, statuses=_ENDED), limit=1)
    if runs:
        yield from _run_problems(instance, runs[0])


def _last_run(instance: dg.DagsterInstance, ref: InstanceRef) -> dg.DagsterRun | None:
    """Return the newest ended run that says how the instance is: one that failed, or one that reached the served table.

    One that waited for an export says nothing; when that lasts, the instance becomes stale.
    """
    recent = instance.get_runs(dg.RunsFilter(tags={_PARTITION: ref.instance}, statuses=_ENDED), limit=_RECENT_RUNS)
    table = dg.AssetKey([ref.kind, PGVECTOR_TABLE])
    for run in recent:
        if waits_for(run) is not None:
            continue
        keys = run.asset_selection or set()
        whole = run.job_name == f"{ref.kind}_refresh" and not keys
        if not whole and not any(key.path[0] == ref.kind for key in keys):
            continue
        if run.status == dg.DagsterRunStatus.FAILURE or whole or table in keys:
            return run
    return None


def _run_problems(instance: dg.DagsterInstance, run: dg.DagsterRun) -> Iterator[Problem]:
    """Yield the failed checks of a run and its failed steps; a step that only stopped at a failed check is not told twice."""
    checks = list(_failed_checks(instance, run.run_id))
    yield from checks
    if run.status != dg.DagsterRunStatus.FAILURE:
        return
    steps = failed_steps(instance, run.run_id)
    for step in steps:
        if not (checks and step.error == "DagsterAssetCheckFailedError"):
            yield Problem(f"{step.step}: {step.error}", f"{step.step}: {step.what}", step.remedy, run.run_id)
    if not steps and not checks:
        yield Problem("crash", f"the run of {run.job_name} ended without a word", "read its log; run it again", run.run_id)


def _failed_checks(instance: dg.DagsterInstance, run_id: str) -> Iterator[Problem]:
    """Yield the failed checks that are errors; warnings are for whoever looks."""
    for record in instance.get_records_for_run(run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION).records:
        found = record.event_log_entry.get_dagster_event().asset_check_evaluation_data
        if not found.passed and found.severity == dg.AssetCheckSeverity.ERROR:
            what, _, remedy = (found.description or "").partition("Remedy: ")
            where = f"{found.asset_key.path[-1]}: {found.check_name} failed"
            yield Problem(f"{found.asset_key.path[-1]}: {found.check_name}", f"{where}: {what.strip()}", remedy, run_id)
