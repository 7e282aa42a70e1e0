"""Ends runs whose process is gone: a killed ``bbj-pipeline run``, or one of the UI's that was killed with its daemon.

It would count as running for ever and hold its pools: nothing would start any more. Each run carries its process in a tag;
whoever opens the instance next, and a sensor meanwhile, reports it as failed.
"""

from __future__ import annotations

import socket

import dagster as dg
import psutil

from bbj_pipeline.orchestration.pools import free_slots_of_ended_runs

__all__ = ["build_dead_run_sensor", "close_dead_runs", "mark_process", "process_tags"]

_PROCESS = ".dagster/bbj_pipeline_process"
"""The prefix is Dagster's own for tags that its UI does not show: nobody chooses a run by its process."""
_UNFINISHED = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]
_TICK_SECONDS = 60


def process_tags(run_id: str) -> dict[str, str]:
    """Return the tag that says which process of which machine executes a run.

    It names the run too: a run that is executed again from the UI inherits the tags of the first.
    """
    return {_PROCESS: f"{run_id}@{_name(psutil.Process())}"}


def mark_process(instance: dg.DagsterInstance, run: dg.DagsterRun) -> None:
    """Note on a run which process executes it, unless whoever started it has."""
    tags = process_tags(run.run_id)
    if run.tags.get(_PROCESS) != tags[_PROCESS]:
        instance.add_run_tags(run.run_id, tags)


def close_dead_runs(instance: dg.DagsterInstance) -> list[str]:
    """Report every unfinished run of a dead process of this machine as failed, and free its pool slots; return their ids."""
    closed = []
    for run in instance.get_runs(dg.RunsFilter(statuses=_UNFINISHED)):
        owner, _, process = run.tags.get(_PROCESS, "").partition("@")
        if owner == run.run_id and _is_dead(process):
            instance.report_run_failed(run, f"its process ({process}) ended before the run did: run it again")
            closed.append(run.run_id)
    free_slots_of_ended_runs(instance)
    return closed


def build_dead_run_sensor() -> dg.SensorDefinition:
    """Build the sensor that looks for dead runs every minute."""

    def evaluate(context: dg.SensorEvaluationContext) -> dg.SkipReason:
        closed = close_dead_runs(context.instance)
        return dg.SkipReason(f"reported as failed: {', '.join(closed)}" if closed else "no run has lost its process")

    return dg.SensorDefinition(
        name="dead_run_sensor",
        evaluation_fn=evaluate,
        minimum_interval_seconds=_TICK_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Reports runs as failed whose process was killed, so that they do not hold a place in the queue.",
    )


def _name(process: psutil.Process) -> str:
    # Process ids are given out again; with the time of its start a process has one name.
    return f"{socket.gethostname()}:{process.pid}:{process.create_time():.2f}"


def _is_dead(name: str) -> bool:
    host, pid, _ = name.rsplit(":", 2)
    if host != socket.gethostname():
        return False
    try:
        process = psutil.Process(int(pid))
        return _name(process) != name or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
