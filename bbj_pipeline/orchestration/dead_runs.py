"""Ends runs whose process is gone. A run that ``bbj-pipeline run`` executes itself has no worker that Dagster could look after.

Killed, it would count as running for ever, and a few of them would fill the run queue: nothing would start any more. Such a
run carries its process in a tag; whoever opens the instance next, and a sensor meanwhile, reports it as failed.
"""

from __future__ import annotations

import socket

import dagster as dg
import psutil

from bbj_pipeline.orchestration.pools import free_slots_of_ended_runs

__all__ = ["build_dead_run_sensor", "close_dead_runs", "process_tags"]

_PROCESS = "bbj_pipeline/process"
_UNFINISHED = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]
_TICK_SECONDS = 60


def process_tags() -> dict[str, str]:
    """Return the tag that says which process of which machine executes a run."""
    return {_PROCESS: _name(psutil.Process())}


def close_dead_runs(instance: dg.DagsterInstance) -> list[str]:
    """Report every unfinished run of a dead process of this machine as failed, and free its pool slots; return their ids."""
    closed = []
    for run in instance.get_runs(dg.RunsFilter(statuses=_UNFINISHED)):
        process = run.tags.get(_PROCESS)
        if process is not None and _is_dead(process):
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
        return _name(psutil.Process(int(pid))) != name
    except psutil.NoSuchProcess:
        return True
