"""Pools on a PostgreSQL-backed instance: their limits, and that no killed or cancelled run keeps a slot."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from bbj_pipeline.orchestration.build import build_definitions
from bbj_pipeline.orchestration.dead_runs import close_dead_runs
from bbj_pipeline.orchestration.home import dagster_instance
from bbj_pipeline.orchestration.pools import EMBEDDER_POOL, free_slots_of_ended_runs, set_pool_limits
from bbj_pipeline.settings import Settings
from bbj_pipeline.storage.database import Database

HOLDER = """
import time
import dagster as dg
from bbj_pipeline.orchestration.dead_runs import mark_process
from bbj_pipeline.orchestration.failures import classified

@dg.asset(pool="embedder")
def holding(context: dg.AssetExecutionContext) -> None:
    with classified(3, attempt=context.retry_number):
        mark_process(context.instance, context.run)
        print("holding", flush=True)
        time.sleep(600)

with dg.DagsterInstance.get() as instance:
    dg.materialize([holding], instance=instance, raise_on_error=False)
"""


@dg.asset(pool=EMBEDDER_POOL)
def next_in_line() -> None:
    """A step that needs the slot."""


@pytest.fixture
def instance(settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    """The instance that ``bbj-pipeline run`` opens, on its own database of the server."""
    for name in ("DAGSTER_HOME", "BBJ_DAGSTER_URL"):
        monkeypatch.setenv(name, "")  # opening the instance sets them; the test's end takes them back
    with dagster_instance(settings, database) as opened:
        free_slots_of_ended_runs(opened)  # the server is shared by the tests of a session
        yield opened


def claimed(instance: dg.DagsterInstance) -> set[str]:
    return {slot.run_id for slot in instance.event_log_storage.get_concurrency_info(EMBEDDER_POOL).claimed_slots}


def holder() -> subprocess.Popen[str]:
    """Start a run in a process of its own that takes the only slot and does not give it back."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    child = subprocess.Popen([sys.executable, "-c", HOLDER], env=environment, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "holding\n"
    return child


def test_the_limits_are_set_by_opening_the_instance(instance: dg.DagsterInstance) -> None:
    """One export of a kind and one embedder at a time, two writers; setting them again, or after a change, gives the same."""
    kinds = ("bbj_source", "flare", "javadoc", "mdx", "pdf", "web_crawl", "wordpress")
    expected = {"embedder": 1, "pgvector_write": 2} | {f"{kind}_export": 1 for kind in kinds}

    def limits() -> dict[str, int]:
        return {pool.name: pool.limit for pool in instance.event_log_storage.get_pool_limits()}

    assert limits() == expected
    instance.event_log_storage.set_concurrency_slots(EMBEDDER_POOL, 5)
    set_pool_limits(instance, list(kinds))
    assert limits() == expected


def test_a_killed_run_gives_its_slot_back(instance: dg.DagsterInstance) -> None:
    """After kill -9 the next opening of the instance ends the run and frees its slot, and the next run gets it."""
    child = holder()
    assert child.stdout is not None
    with child.stdout:
        child.kill()
        child.wait()
    (run_id,) = claimed(instance)
    assert close_dead_runs(instance) == [run_id]
    assert claimed(instance) == set()
    assert dg.materialize([next_in_line], instance=instance).success


def test_a_cancelled_run_gives_its_slot_back(instance: dg.DagsterInstance) -> None:
    """After an interrupt the run ends by itself without another attempt, and no slot stays taken."""
    child = holder()
    assert child.stdout is not None
    with child.stdout:
        (run_id,) = claimed(instance)
        child.send_signal(signal.SIGINT)
        child.wait()
    run = instance.get_run_by_id(run_id)
    assert run is not None
    assert run.is_finished
    tried_again = instance.get_records_for_run(run_id, of_type=dg.DagsterEventType.STEP_RESTARTED).records
    assert not tried_again
    free_slots_of_ended_runs(instance)
    assert claimed(instance) == set()
    assert dg.materialize([next_in_line], instance=instance).success


def test_a_living_run_keeps_its_slot(instance: dg.DagsterInstance) -> None:
    """Freeing looks at what has ended: a run that works is left alone."""
    child = holder()
    assert child.stdout is not None
    with child.stdout:
        (run_id,) = claimed(instance)
        assert close_dead_runs(instance) == []
        assert free_slots_of_ended_runs(instance) == []
        assert claimed(instance) == {run_id}
        child.kill()
        child.wait()
    close_dead_runs(instance)


def test_stages_stand_in_their_pools(settings: Settings) -> None:
    """Exports share a pool by kind, all embeddings one, all publications one; other stages need none."""
    assets = build_definitions(settings).get_repository_def().assets_defs_by_key
    pools = {tuple(key.path): asset.op.pool for key, asset in assets.items()}
    for (kind, stage), pool in pools.items():
        expected = {"raw_export": f"{kind}_export", "embeddings": "embedder", "pgvector_table": "pgvector_write"}.get(stage)
        assert pool == expected
    heavy = {
        stage for (_, stage), asset in ((tuple(k.path), a) for k, a in assets.items()) if "dagster-k8s/config" in asset.op.tags
    }
    assert heavy == {"parsed_topics", "embeddings"}


def test_nothing_is_tried_again_by_policy(settings: Settings) -> None:
    """No stage and no check has a retry policy, under which Dagster tries a cancelled step again."""
    repository = build_definitions(settings).get_repository_def()
    for name in repository.job_names:
        for node in repository.get_job(name).nodes:
            assert node.retry_policy is None, node.name
            assert not isinstance(node.definition, dg.OpDefinition) or node.definition.retry_policy is None, node.name
