"""Puts everything Dagster loads together: of every kind its assets, checks, job and schedules; the reports; the sensors."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import dagster as dg

from bbj_pipeline.orchestration.alert_channels import alert_channels
from bbj_pipeline.orchestration.alerts import build_alert_sensor
from bbj_pipeline.orchestration.automation import build_automation_sensor
from bbj_pipeline.orchestration.checks import build_source_checks
from bbj_pipeline.orchestration.corpus import build_corpus_assets, build_corpus_job
from bbj_pipeline.orchestration.dead_runs import build_dead_run_sensor
from bbj_pipeline.orchestration.evaluation import build_evaluation, roll_back_to
from bbj_pipeline.orchestration.freshness import build_freshness_check, build_freshness_sensor
from bbj_pipeline.orchestration.graph import build_source_assets, partitions_of
from bbj_pipeline.orchestration.io import StageFileIOManager
from bbj_pipeline.orchestration.jobs import build_refresh_job, build_schedules, require_schedule
from bbj_pipeline.orchestration.operator_jobs import build_operator_jobs
from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.orchestration.presentation import presented
from bbj_pipeline.orchestration.quiet import quiet_libraries
from bbj_pipeline.orchestration.requests import build_request_sensor
from bbj_pipeline.orchestration.sensors import build_export_sensor, watched_instances
from bbj_pipeline.settings import Settings
from bbj_pipeline.sources.config import instances_by_kind, load_sources
from bbj_pipeline.sources.registry import source_kinds

__all__ = ["build_definitions", "utc_now"]


def utc_now() -> datetime.datetime:
    """Return the time that ages are counted to."""
    return datetime.datetime.now(datetime.UTC)


def build_definitions(
    settings: Settings,
    *,
    platform: Platform | None = None,
    max_retries: int = 3,
    now: Callable[[], datetime.datetime] = utc_now,
) -> dg.Definitions:
    """Build the definitions of all configured instances; ``platform`` lets a caller share one that is already open.

    Raises ``ConfigurationError`` when ``sources.yaml`` is wrong.
    """
    quiet_libraries()
    shared = platform or Platform(settings)
    configured = load_sources(settings.sources_file)
    for item in configured:
        require_schedule(item)  # before anything computes with it
    assets: list[dg.AssetsDefinition] = []
    checks: list[dg.AssetChecksDefinition] = []
    refresh_jobs: list[Any] = []
    operator_jobs = build_operator_jobs([item.ref for item in configured])
    schedules: list[dg.ScheduleDefinition] = []
    sensors: list[dg.SensorDefinition] = [
        build_automation_sensor(),
        build_dead_run_sensor(),
        build_freshness_sensor(instances=configured, now=now),
        build_alert_sensor(
            instances=configured,
            jobs=[job.name for job in operator_jobs],
            channels=alert_channels(settings),
            ui_url=settings.ui_url,
            now=now,
        ),
    ]
    for kind, instances in instances_by_kind(configured).items():
        source = source_kinds()[kind]
        assets += build_source_assets(source=source, instances=instances, max_retries=max_retries)
        checks += build_source_checks(source=source, instances=instances, max_retries=max_retries)
        checks.append(build_freshness_check(kind=kind, instances=instances, partitions=partitions_of(instances), now=now))
        job = build_refresh_job(source=source, instances=instances)
        refresh_jobs.append(job)
        schedules += build_schedules(job=job, instances=instances)
        if watched_instances(instances):
            sensors.append(build_export_sensor(kind=kind, job=job, instances=instances, seconds=settings.watch_seconds))
    assets += build_corpus_assets(kinds=list(source_kinds()), max_retries=max_retries, now=now)
    sensors.append(build_request_sensor(platform=shared, jobs=refresh_jobs, instances=configured))
    evaluation, evaluation_job = build_evaluation(kinds=list(source_kinds()), roll_back=roll_back_to, max_retries=max_retries)
    assets.append(evaluation)
    return dg.Definitions(
        assets=presented(assets, settings),
        asset_checks=checks,
        jobs=[*refresh_jobs, *operator_jobs, build_corpus_job(), evaluation_job],
        schedules=schedules,
        sensors=sensors,
        resources={"platform": shared, "stage_files": StageFileIOManager(shared, max_retries=max_retries)},
        # The six stages of one instance follow one another: one process, so that the model is loaded once.
        executor=dg.in_process_executor,
    )
