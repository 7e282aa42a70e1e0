"""The queue of the daemon's runs: two runs never work on one instance at once, whoever started them.

Dagster's own queue can compare tags, but a partition's tag holds the instance's name alone, and another kind may have an
instance of that name. So each run gets a tag a kind when it enters the queue. Named in ``dagster.yaml``; no job knows of it.
"""

from __future__ import annotations

import dagster as dg
from dagster._core.run_coordinator.base import SubmitRunContext
from dagster._core.run_coordinator.queued_run_coordinator import QueuedRunCoordinator, RunQueueConfig

from bbj_pipeline.orchestration.jobs import refresh_job_name
from bbj_pipeline.sources.registry import source_kinds

__all__ = ["InstanceQueue", "instance_tags"]

_PARTITION = "dagster/partition"


def instance_tags(run: dg.DagsterRun) -> dict[str, str]:
    """Return a tag for each kind whose assets a run materialises: ``bbj_pipeline/mdx`` with the instance as value.

    A run without a partition (reports, an operator's job) has none.
    """
    name = run.tags.get(_PARTITION)
    if name is None:
        return {}
    chosen = {key.path[0] for key in run.asset_selection or ()}
    kinds = [kind for kind in source_kinds() if kind in chosen or (not chosen and run.job_name == refresh_job_name(kind))]
    return {_tag(kind): name for kind in kinds}


class InstanceQueue(QueuedRunCoordinator):
    """Dagster's queue with one place an instance; ``max_concurrent_runs`` and the other settings are Dagster's."""

    def submit_run(self, context: SubmitRunContext) -> dg.DagsterRun:
        """Put a run into the queue, tagged with the instances it works on."""
        tags = instance_tags(context.dagster_run)
        if tags:
            self._instance.add_run_tags(context.dagster_run.run_id, tags)
        return super().submit_run(context)

    def get_run_queue_config(self) -> RunQueueConfig:
        """Return Dagster's settings with the limit of each kind."""
        config = super().get_run_queue_config()
        limits = [{"key": _tag(kind), "value": {"applyLimitPerUniqueValue": True}, "limit": 1} for kind in source_kinds()]
        return config._replace(tag_concurrency_limits=[*(config.tag_concurrency_limits or []), *limits])


def _tag(kind: str) -> str:
    return f"bbj_pipeline/{kind}"
