"""The sensor of refreshes asked for from outside: a run for the waiting requests of each instance.

Requests are queued by the REST service; a git push of a documentation repository is the usual reason.
"""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from bbj_pipeline.orchestration.jobs import refresh_job_name
from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.sources.config import ConfiguredInstance
from bbj_pipeline.storage.refresh_requests import claim, finish

__all__ = ["build_request_sensor"]

_TICK_SECONDS = 15
_RUN_KEY = "dagster/run_key"


def build_request_sensor(
    *, platform: Platform, jobs: Sequence[UnresolvedAssetJobDefinition], instances: Sequence[ConfiguredInstance]
) -> dg.SensorDefinition:
    """Build the sensor. A request is asked for at each tick until its run is seen: a run key starts one run at most."""
    configured = {item.ref for item in instances}

    def evaluate(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        requests = []
        for waiting in claim(platform.database):
            if waiting.ref not in configured:  # taken out of sources.yaml since
                finish(platform.database, waiting.run_key, run_id="")
                continue
            runs = context.instance.get_runs(dg.RunsFilter(tags={_RUN_KEY: waiting.run_key}), limit=1)
            if runs:
                finish(platform.database, waiting.run_key, run_id=runs[0].run_id)
                continue
            requests.append(
                dg.RunRequest(
                    run_key=waiting.run_key,
                    job_name=refresh_job_name(waiting.ref.kind),
                    partition_key=waiting.ref.instance,
                    tags={"bbj_pipeline/reason": "; ".join(dict.fromkeys(waiting.reasons))[:200]},
                )
            )
        return dg.SensorResult(run_requests=requests, skip_reason=None if requests else "no refresh is asked for")

    return dg.SensorDefinition(
        name="refresh_request_sensor",
        jobs=list(jobs),
        evaluation_fn=evaluate,
        minimum_interval_seconds=_TICK_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Runs the refreshes that were asked for through the REST service.",
    )
