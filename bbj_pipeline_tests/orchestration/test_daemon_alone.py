"""The daemon as a process of its own, left alone with a watched folder; the long form with the UI is ``benchmarks.live``."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest

from bbj_pipeline.models import load_embedder
from bbj_pipeline.orchestration.home import dagster_environment, dagster_instance, process_environment
from bbj_pipeline.retrieval import Searcher
from bbj_pipeline.settings import Settings
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.migrations import migrate
from bbj_pipeline_tests.paths import ROOT
from benchmarks.live import JOB, SENSOR, TERM, TOPIC
from benchmarks.processes import Service, started, wait_for

LOOKED = re.compile(rf"Sensor {SENSOR} skipped: ")
"""What the daemon says at the end of a look that asks for no run."""
LAUNCHED = re.compile(rf"Completed launch of run \S+ for {SENSOR}$", re.MULTILINE)
SECONDS = 300.0
"""For one step on a machine that has much else to do; alone it takes a few."""


OTHER = "<html><head><title>Windows</title></head><body><h1>Windows</h1><p>A window holds controls.</p></body></html>"


def archive(*topics: str) -> bytes:
    """Return topics as a .zip, always the same bytes for the same topics."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        for number, topic in enumerate(topics):
            target.writestr(zipfile.ZipInfo(f"{number}.htm"), topic)
    return buffer.getvalue()


@dataclass
class Alone:
    """A running daemon, its log, and the archive it watches."""

    service: Service
    instance: dg.DagsterInstance
    drop: Path

    def looks(self) -> int:
        return len(LOOKED.findall(self.log()))

    def launched(self) -> int:
        return len(LAUNCHED.findall(self.log()))

    def log(self) -> str:
        self.service.require_alive()
        return re.sub(r"\x1b\[[0-9;]*m", "", self.service.log.read_text(encoding="utf-8"))

    def looked(self, times: int) -> None:
        """Wait until the sensor has looked so many times more, and asked for nothing."""
        wanted = self.looks() + times
        wait_for(f"{times} more looks", lambda: self.looks() >= wanted, seconds=SECONDS, pause=0.2)

    def ended(self, number: int) -> None:
        """Wait until so many runs have ended."""
        ended = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
        wanted = dg.RunsFilter(job_name=JOB, statuses=ended)
        wait_for(f"run {number} ends", lambda: self.instance.get_runs_count(wanted) >= number, seconds=SECONDS, pause=0.2)


@pytest.fixture
def alone(settings: Settings, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Alone]:
    for name in ("DAGSTER_HOME", "BBJ_DAGSTER_URL"):
        monkeypatch.setenv(name, "")  # opening the instance sets them; the test's end takes them back
    (tmp_path / "sources.yaml").write_text("flare:\n  docs: {path: watched/export.zip}\n", encoding="utf-8")
    (tmp_path / "watched").mkdir()
    configured = settings.model_copy(update={"sources_file": tmp_path / "sources.yaml"})
    migrate(database)
    with dagster_instance(configured, database, "dagster_of_the_daemon") as instance:
        environment = process_environment(dagster_environment(configured, database, "dagster_of_the_daemon"))
        environment |= {"BBJ_WATCH_SECONDS": "1", "PYTHONPATH": str(ROOT)}
        command = ["dagster-daemon", "run", "-m", "bbj_pipeline.definitions"]
        with started("daemon", command, environment=environment, folder=tmp_path) as service:
            yield Alone(service, instance, tmp_path / "watched" / "export.zip")


@pytest.mark.timeout(900)
def test_an_export_that_is_dropped_is_searchable_without_anyone(alone: Alone, settings: Settings, database: Database) -> None:
    """A .zip that arrives in pieces over several looks gives one run, the same bytes again none, a changed one one, by the
    daemon's own log; then its new topic is found."""
    first, changed = archive(OTHER), archive(OTHER, TOPIC)
    third = len(first) // 3
    for end in (third, 2 * third):
        alone.drop.write_bytes(first[:end])
        alone.looked(1)
        assert alone.launched() == 0
    alone.drop.write_bytes(first)
    alone.ended(1)
    alone.drop.write_bytes(first)
    alone.looked(3)  # the first may have begun before the copy
    assert alone.launched() == 1
    alone.drop.write_bytes(changed)
    alone.ended(2)
    assert alone.launched() == 2
    runs = alone.instance.get_runs(dg.RunsFilter(job_name=JOB))
    assert [run.status for run in runs] == [dg.DagsterRunStatus.SUCCESS] * 2
    assert {run.tags["dagster/sensor_name"] for run in runs} == {SENSOR}
    hits = Searcher(database, load_embedder(settings)).search(TERM).hits
    assert TERM in hits[0].chunk.content.lower()
