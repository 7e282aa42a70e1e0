"""Runs of killed processes are ended, so that they never fill the queue."""

from __future__ import annotations

import subprocess
import sys

import dagster as dg

from bbj_pipeline.orchestration.dead_runs import build_dead_run_sensor, close_dead_runs, mark_process, process_tags

NAME = next(iter(process_tags("")))


@dg.op
def nothing() -> None:
    """Does nothing."""


@dg.job
def small() -> None:
    """A job of one op."""
    nothing()


def started(instance: dg.DagsterInstance, process: str | None = None, *, owner: str | None = None) -> str:
    """A started run that says it is executed by ``process``, in a tag that it has of its own or inherited from ``owner``."""
    run = instance.create_run_for_job(small, status=dg.DagsterRunStatus.STARTED)
    if process is not None:
        instance.add_run_tags(run.run_id, {NAME: f"{owner or run.run_id}@{process}"})
    return run.run_id


def status(instance: dg.DagsterInstance, run_id: str) -> dg.DagsterRunStatus:
    run = instance.get_run_by_id(run_id)
    assert run is not None
    return run.status


def test_a_run_whose_process_was_killed_is_reported_as_failed() -> None:
    """A started run of a dead process of this machine fails; one of a living process, of another machine, without the tag, or
    with a tag that it inherited from the run it repeats is left alone."""
    script = "from bbj_pipeline.orchestration.dead_runs import process_tags; print(*process_tags('').values())"
    dead = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()[1:]
    with dg.DagsterInstance.ephemeral() as instance:
        killed = started(instance, dead)
        living = started(instance, process_tags("")[NAME][1:])
        elsewhere = started(instance, "another-machine:1:1.00")
        untagged = started(instance)
        repeated = started(instance, dead, owner=killed)
        assert close_dead_runs(instance) == [killed]
        assert status(instance, killed) == dg.DagsterRunStatus.FAILURE
        assert {status(instance, run) for run in (living, elsewhere, untagged, repeated)} == {dg.DagsterRunStatus.STARTED}
        assert close_dead_runs(instance) == []


def test_a_run_is_marked_with_the_process_that_executes_it() -> None:
    """A run started by a daemon, or repeated with the tags of a dead one, names the process that works on it."""
    with dg.DagsterInstance.ephemeral() as instance:
        for run_id in (started(instance), started(instance, "elsewhere:1:1.00", owner="another run")):
            run = instance.get_run_by_id(run_id)
            assert run is not None
            mark_process(instance, run)
            marked = instance.get_run_by_id(run_id)
            assert marked is not None
            assert marked.tags[NAME] == process_tags(run_id)[NAME]
        assert close_dead_runs(instance) == []


def test_the_sensor_does_it_meanwhile() -> None:
    """The sensor ends dead runs while nobody starts anything, and requests no run of its own."""
    host = process_tags("")[NAME][1:].split(":")[0]
    with dg.DagsterInstance.ephemeral() as instance:
        killed = started(instance, f"{host}:999999999:1.00")
        with dg.build_sensor_context(instance) as context:
            result = build_dead_run_sensor().evaluate_tick(context)
        assert not result.run_requests
        assert status(instance, killed) == dg.DagsterRunStatus.FAILURE
