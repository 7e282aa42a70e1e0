"""The sensors of exports that are copied in: a run for each new content of a folder or archive, once it is complete.

One sensor a kind, the same for all. It decides by comparing looks with the looks of earlier ticks, kept in its cursor; no
clock of another machine is read. What is remembered of one export, and how it changes, lives in ``watching``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from bbj_pipeline.orchestration.watching import Clock, Watched, process_clock, watch
from bbj_pipeline.sources.config import ConfiguredInstance

__all__ = ["build_export_sensor", "watched_instances"]


def watched_instances(instances: Sequence[ConfiguredInstance]) -> list[ConfiguredInstance]:
    """Return the instances whose export lies at a path; a site is asked by its schedule."""
    return [item for item in instances if item.options.path is not None]


def build_export_sensor(
    *,
    kind: str,
    job: UnresolvedAssetJobDefinition,
    instances: Sequence[ConfiguredInstance],
    seconds: int,
    clock: Clock = process_clock,
) -> dg.SensorDefinition:
    """Build the sensor that requests a refresh of an instance when new export content is complete at its path.

    It looks every ``seconds``; the daemon looks after its sensors every 5.
    """
    watched = watched_instances(instances)

    def evaluate(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        cursor = json.loads(context.cursor or "{}")
        remembered = cursor.get("exports", {})
        now = clock()
        elapsed = now.since(cursor.get("clock"))
        states: dict[str, Watched] = {}
        requests: list[dg.RunRequest] = []
        unread: list[str] = []
        for item in watched:
            name = item.ref.instance
            before = Watched(**remembered.get(name, {}))
            try:
                states[name], run_key = watch(item, before, elapsed, context.instance)
            except (OSError, ValueError, ImportError) as error:  # one store that does not answer leaves the others watched
                states[name], run_key = before, None
                unread.append(f"{item.ref} cannot be looked at ({error})")
            if run_key is not None:
                requests.append(dg.RunRequest(run_key=run_key, partition_key=name))
        skip = "; ".join(unread) or f"no new export of {', '.join(states) or 'any instance'} is complete"
        saved = {"clock": now.saved(), "exports": {name: asdict(state) for name, state in states.items()}}
        return dg.SensorResult(
            run_requests=requests, skip_reason=None if requests else skip, cursor=json.dumps(saved, sort_keys=True)
        )

    return dg.SensorDefinition(
        name=f"{kind}_export_sensor",
        job=job,
        evaluation_fn=evaluate,
        minimum_interval_seconds=seconds,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Requests a refresh when a new {kind} export has been copied in completely.",
    )
