"""The refresh job of each source kind, and the schedules that run it nightly, one run an instance.

A run of an unchanged instance recognises its input in every stage and costs next to nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition
from dagster._utils.schedules import is_valid_cron_schedule

from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.orchestration.calendar import NIGHTLY, cadence
from bbj_pipeline.orchestration.graph import partitions_of
from bbj_pipeline.orchestration.stage_names import PGVECTOR_TABLE
from bbj_pipeline.sources.config import ConfiguredInstance
from bbj_pipeline.sources.contract import Source

__all__ = ["build_refresh_job", "build_schedules", "refresh_job_name", "require_schedule", "schedule_name"]

_PLAIN_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LONGEST_READABLE = 80


def refresh_job_name(kind: str) -> str:
    """Return the name of a kind's refresh job."""
    return f"{kind}_refresh"


def build_refresh_job(*, source: Source[Any], instances: Sequence[ConfiguredInstance]) -> UnresolvedAssetJobDefinition:
    """Build the job that takes one instance of a kind through all six stages."""
    return dg.define_asset_job(
        refresh_job_name(source.kind),
        selection=dg.AssetSelection.groups(source.kind),
        partitions_def=partitions_of(instances),
        config={"ops": {f"{source.kind}__{PGVECTOR_TABLE}": {"config": {"approve_deletions": False}}}},
        description=f"Take one instance of {source.kind} from its raw export to the served table. "
        "Choose the instance as partition; unchanged documents are not computed again. "
        "With approve_deletions: true this one run also carries out the deletions that were withheld.",
    )


def require_schedule(item: ConfiguredInstance) -> None:
    """Raise ``ConfigurationError`` naming the instance when its schedule is no cron expression."""
    schedule = item.options.schedule or NIGHTLY
    if not is_valid_cron_schedule(schedule):
        raise ConfigurationError(
            f"schedule {schedule!r} of {item.ref} in sources.yaml is no cron expression",
            remedy="write five fields: minute hour day month weekday, for example '0 3 * * *'",
        )


def build_schedules(
    *, job: UnresolvedAssetJobDefinition, instances: Sequence[ConfiguredInstance]
) -> list[dg.ScheduleDefinition]:
    """Build a schedule for each distinct (cron, time zone) of a kind's instances.

    The default one is named ``<kind>_nightly``, the others after their instances, see ``schedule_name``.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for item in instances:
        when = cadence(item.options)
        groups.setdefault(when, []).append(item.ref.instance)
    return [
        _schedule(job, cron, timezone, sorted(names), nightly=(cron, timezone) == (NIGHTLY, "UTC"))
        for (cron, timezone), names in sorted(groups.items())
    ]


def schedule_name(kind: str, names: Sequence[str]) -> str:
    """Return the name of the schedule that refreshes the instances ``names`` of ``kind``: ``mdx__guide``, ``mdx__one__two``.

    Dagster allows letters, digits and ``_``. Names of letters and digits joined by single ``-`` keep their words, with ``_``
    for ``-`` and ``__`` between kind and names, which no nightly schedule, job or sensor has. Where that would not tell
    instances apart (``a.b``, ``a_b``) or grow long, capital hexadecimal digits of all names follow.
    """
    readable = "__".join([kind, *(re.sub("[^a-z0-9]", "_", name) for name in names)])
    if len(readable) <= _LONGEST_READABLE and all(_PLAIN_NAME.fullmatch(name) for name in names):
        return readable
    digest = hashlib.sha256("\n".join(names).encode()).hexdigest()[:12].upper()
    return f"{readable[:_LONGEST_READABLE]}__X{digest}"


def _schedule(
    job: UnresolvedAssetJobDefinition, cron: str, timezone: str, names: list[str], *, nightly: bool
) -> dg.ScheduleDefinition:
    kind = job.name.removesuffix("_refresh")

    def requests(context: dg.ScheduleEvaluationContext) -> Iterator[dg.RunRequest]:
        tick = context.scheduled_execution_time.isoformat()
        for name in names:
            yield dg.RunRequest(run_key=f"{kind}/{name}@{tick}", partition_key=name)

    return dg.ScheduleDefinition(
        name=f"{kind}_nightly" if nightly else schedule_name(kind, names),
        cron_schedule=cron,
        execution_timezone=timezone,
        job=job,
        execution_fn=requests,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description=f"Refreshes {', '.join(names)} of {kind} ({cron}, {timezone}).",
    )
