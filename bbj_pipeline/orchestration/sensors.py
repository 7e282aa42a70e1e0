"""The sensor of Flare exports: a run for each new content of an export folder or archive, once it has come to rest.

The cursor holds, per instance, the listing seen last and the content a run was last requested for. An export still being
copied changes its listing from tick to tick and is left alone until two ticks see the same.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from bbj_pipeline.sources.change_tokens import content_digest, listing_token
from bbj_pipeline.sources.config import ConfiguredInstance

__all__ = ["build_export_sensor"]

_TICK_SECONDS = 30


@dataclass(frozen=True, slots=True)
class _Watched:
    """What is remembered of one export: its last listing, and the content last requested."""

    listing: str | None = None
    settled: str | None = None
    requested: str | None = None


def build_export_sensor(
    *, kind: str, job: UnresolvedAssetJobDefinition, instances: Sequence[ConfiguredInstance]
) -> dg.SensorDefinition:
    """Build the sensor that requests a refresh of an instance when new export content has come to rest at its path."""

    def evaluate(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        remembered: dict[str, dict[str, str | None]] = json.loads(context.cursor or "{}")
        requests: list[dg.RunRequest] = []
        watched: dict[str, _Watched] = {}
        for item in instances:
            name, path = item.ref.instance, item.options.path
            before = _Watched(**remembered.get(name, {}))
            after = before if path is None else _look(path, before)
            watched[name] = after
            if after.requested is not None and after.requested != before.requested:
                requests.append(dg.RunRequest(run_key=f"{item.ref}:{after.requested}", partition_key=name))
        skip = None if requests else f"no new export of {', '.join(watched) or 'any instance'} has come to rest"
        cursor = json.dumps({name: asdict(state) for name, state in watched.items()}, sort_keys=True)
        return dg.SensorResult(run_requests=requests, skip_reason=skip, cursor=cursor)

    return dg.SensorDefinition(
        name=f"{kind}_export_sensor",
        job=job,
        evaluation_fn=evaluate,
        minimum_interval_seconds=_TICK_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Requests a refresh when a new {kind} export has been copied in completely.",
    )


def _look(path: Path, before: _Watched) -> _Watched:
    """Return what is known after one look: content is only read when a new listing was seen twice."""
    listing = listing_token(path)
    if listing is None or listing != before.listing:
        return _Watched(listing, before.settled, before.requested)
    if listing == before.settled:
        return before
    try:
        return _Watched(listing, listing, content_digest(path))
    except OSError:  # it changed while it was read: not at rest after all
        return _Watched(None, before.settled, before.requested)
