"""The daemon's scheduler and queue, evaluated over a real PostgreSQL-backed instance with the project's own ``dagster.yaml``.

Dagster's clock is set by Dagster's own testing tool; what it then requests lies in the queue as it would at night.
"""

from __future__ import annotations

import collections
import datetime
import itertools
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

import dagster as dg
import pytest
from dagster._core.remote_origin import InProcessCodeLocationOrigin
from dagster._core.test_utils import create_test_daemon_workspace_context, freeze_time
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import InProcessWorkspaceLoadTarget
from dagster._daemon.run_coordinator.queued_run_coordinator_daemon import QueuedRunCoordinatorDaemon
from dagster._scheduler.scheduler import launch_scheduled_runs

from bbj_pipeline.orchestration.home import dagster_instance
from bbj_pipeline.settings import Settings
from bbj_pipeline.storage.database import Database

LOCATION = """
from pathlib import Path
from bbj_pipeline.orchestration.build import build_definitions
from bbj_pipeline.settings import Settings
defs = build_definitions(Settings(sources_file=Path(__file__).with_name("sources.yaml")))
"""
SOURCES = """
mdx:
  docs: {path: mdx, schedule: "30 2 * * *", timezone: Europe/Berlin}
javadoc:
  docs: {path: javadoc}
"""
_numbers = itertools.count(1)
BERLIN = ZoneInfo("Europe/Berlin")


@dataclass
class Daemon:
    """The parts of a daemon over one code location."""

    instance: dg.DagsterInstance
    workspace: WorkspaceProcessContext

    def schedule(self, now: datetime.datetime) -> None:
        """Let the scheduler look at the clock once."""
        with freeze_time(now):
            list(launch_scheduled_runs(self.workspace, logging.getLogger(__name__), now, {}))

    def queued(self) -> list[dg.DagsterRun]:
        """Return the runs in the queue, the oldest first."""
        return list(reversed(self.instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.QUEUED]))))

    def startable(self) -> set[str]:
        """Return the run keys of those that the queue would start now."""
        queue = QueuedRunCoordinatorDaemon(interval_seconds=1)
        chosen = queue._get_runs_to_dequeue(self.instance, self.instance.get_concurrency_config(), fixed_iteration_time=None)
        return {run.tags["dagster/run_key"] for run in chosen}


@pytest.fixture
def daemon(settings: Settings, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    for name in ("DAGSTER_HOME", "BBJ_DAGSTER_URL"):
        monkeypatch.setenv(name, "")  # opening the instance sets them; the test's end takes them back
    (tmp_path / "sources.yaml").write_text(SOURCES, encoding="utf-8")
    (tmp_path / "location.py").write_text(LOCATION, encoding="utf-8")
    origin = InProcessCodeLocationOrigin(LoadableTargetOrigin(python_file=str(tmp_path / "location.py")))
    with (
        dagster_instance(settings, database, f"dagster_{next(_numbers)}") as instance,
        create_test_daemon_workspace_context(InProcessWorkspaceLoadTarget(origin), instance) as workspace,
    ):
        yield Daemon(instance, workspace)


@pytest.mark.parametrize("change", [datetime.date(2026, 3, 29), datetime.date(2026, 10, 25)], ids=["to summer", "to winter"])
def test_each_night_asks_once_when_clocks_change(daemon: Daemon, change: datetime.date) -> None:
    """Looked at each half hour of three nights, with a change of the clocks in the second: one run an instance and night, none
    twice and none missing, although 02:30 does not exist in one such night and exists twice in the other."""
    first = datetime.datetime.combine(change - datetime.timedelta(days=1), datetime.time(), datetime.UTC)
    for day in range(3):
        for half_hours in range(6):
            daemon.schedule(first + datetime.timedelta(days=day, hours=half_hours / 2))
    asked: collections.Counter[tuple[str, str, datetime.date]] = collections.Counter()
    for run in daemon.queued():
        tick = datetime.datetime.fromisoformat(run.tags["dagster/run_key"].partition("@")[2])
        zone = BERLIN if run.job_name == "mdx_refresh" else datetime.UTC
        asked[run.job_name, run.tags["dagster/partition"], tick.astimezone(zone).date()] += 1
    nights = [first.date() + datetime.timedelta(days=number) for number in range(3)]
    assert asked == {(f"{kind}_refresh", "docs", night): 1 for kind in ("mdx", "javadoc") for night in nights}


def test_one_run_an_instance_and_kinds_do_not_wait_for_one_another(daemon: Daemon) -> None:
    """Of two nights in the queue the second of an instance waits for the first; an instance of the same name of another kind
    does not wait."""
    start = datetime.datetime(2026, 6, 1, 12, tzinfo=datetime.UTC)
    for day in range(3):
        daemon.schedule(start + datetime.timedelta(days=day))
    runs = daemon.queued()
    assert len(runs) == 4
    tags = {(run.job_name, run.tags.get("bbj_pipeline/mdx"), run.tags.get("bbj_pipeline/javadoc")) for run in runs}
    assert tags == {("mdx_refresh", "docs", None), ("javadoc_refresh", None, "docs")}
    assert daemon.startable() == {runs[0].tags["dagster/run_key"], runs[1].tags["dagster/run_key"]}
    first = next(run for run in runs if run.job_name == "mdx_refresh")
    daemon.instance.report_run_canceled(first)
    (second,) = [run for run in daemon.queued() if run.job_name == "mdx_refresh"]
    assert second.tags["dagster/run_key"] in daemon.startable()
