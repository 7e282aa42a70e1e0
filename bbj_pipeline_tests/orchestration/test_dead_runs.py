"""Runs of killed processes are ended, so that they never fill the queue."""

from __future__ import annotations

import subprocess
import sys

import dagster as dg

from bbj_pipeline.orchestration.dead_runs import build_dead_run_sensor, close_dead_runs, process_tags


@dg.op
def nothing() -> None:
    """Does nothing."""


@dg.job
def small() -> None:
    """A job of one op."""
    nothing()


def started(instance: dg.DagsterInstance, tags: dict[str, str]) -> str:
    run = instance.create_run_for_job(small, tags=tags, status=dg.DagsterRunStatus.STARTED)
    return run.run_id


def status(instance: dg.DagsterInstance, run_id: str) -> dg.DagsterRunStatus:
    run = instance.get_run_by_id(run_id)
    assert run is not None
    return run.status


def test_a_run_whose_process_was_killed_is_reported_as_failed() -> None:
    """A started run of a dead process of this machine fails; one of a living process, of another machine, or without the tag
    is left alone."""
    script = "from bbj_pipeline.orchestration.dead_runs import process_tags; print(*process_tags().values())"
    dead = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()
    name = next(iter(process_tags()))
    with dg.DagsterInstance.ephemeral() as instance:
        killed = started(instance, {name: dead})
        living = started(instance, process_tags())
        elsewhere = started(instance, {name: "another-machine:1:1.00"})
        untagged = started(instance, {})
        assert close_dead_runs(instance) == [killed]
        assert status(instance, killed) == dg.DagsterRunStatus.FAILURE
        assert {status(instance, run) for run in (living, elsewhere, untagged)} == {dg.DagsterRunStatus.STARTED}
        assert close_dead_runs(instance) == []


def test_the_sensor_does_it_meanwhile() -> None:
    """The sensor ends dead runs while nobody starts anything, and requests no run of its own."""
    name = next(iter(process_tags()))
    host = process_tags()[name].split(":")[0]
    with dg.DagsterInstance.ephemeral() as instance:
        killed = started(instance, {name: f"{host}:999999999:1.00"})
        with dg.build_sensor_context(instance) as context:
            result = build_dead_run_sensor().evaluate_tick(context)
        assert not result.run_requests
        assert status(instance, killed) == dg.DagsterRunStatus.FAILURE
