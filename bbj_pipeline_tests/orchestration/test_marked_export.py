"""Exports with a marker: no run hands on one that is being copied, and one that never comes is told as stale."""

from __future__ import annotations

import datetime
import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest
from pydantic import SecretStr

from bbj_pipeline.orchestration.build import build_definitions
from bbj_pipeline.orchestration.marked_export import Exported, Waiting, export_when_complete
from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.orchestration.refresh import InstanceReport, refresh
from bbj_pipeline.orchestration.steps.workplace import Workplace
from bbj_pipeline.records import InstanceRef, RawDocument, Reject, Unfetched
from bbj_pipeline.settings import Settings
from bbj_pipeline.sources.config import ConfiguredInstance
from bbj_pipeline.sources.contract import NOTHING_EARLIER, EarlierExport
from bbj_pipeline.sources.mdx import SOURCE
from bbj_pipeline.sources.mdx.source import MdxOptions, MdxSource
from bbj_pipeline.storage.stage_files import StageStore
from bbj_pipeline_tests.fakes import CountingEmbedder
from bbj_pipeline_tests.orchestration.receivers import SlackChannel, slack_server

TOPIC = "<html><head><title>Windows</title></head><body><h1>Windows</h1><p>A window holds {}.</p></body></html>"


@dataclass
class Marked:
    """A Flare folder and a Flare archive with a marker each, a platform over them, and a clock that a test moves."""

    folder: Path
    definitions: dg.Definitions
    instance: dg.DagsterInstance
    platform: Platform
    slack: SlackChannel
    later: datetime.timedelta = datetime.timedelta()
    cursor: str | None = None

    def run(self, name: str = "folder") -> InstanceReport:
        (report,) = refresh(self.definitions, self.instance, [InstanceRef("flare", name)], log_level="CRITICAL")
        return report

    def write(self, name: str, text: str = "") -> None:
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_text(text, encoding="utf-8")

    def copied(self, *texts: str) -> None:
        """Copy topics and write the marker anew."""
        for number, text in enumerate(texts):
            self.write(f"export/{number}.htm", TOPIC.format(text))
        self.write("export/complete", f"{len(texts)} topics, the first holds {texts[0]}")

    def alerts(self) -> list[str]:
        """Let the alert sensor look once; return the first lines of what it told."""
        repository = self.definitions.get_repository_def()
        with dg.build_sensor_context(self.instance, self.cursor, repository_def=repository) as context:
            self.cursor = repository.get_sensor_def("alert_sensor").evaluate_tick(context).cursor
        told = [text.split("\n")[0].strip("*") for text in self.slack.texts]
        self.slack.texts.clear()
        return told

    def served(self) -> dict[str, str]:
        with self.platform.database.connection() as connection:
            rows = connection.execute("select doc_key, string_agg(content, ' ') from doc_chunks group by doc_key").fetchall()
        return dict(rows)


@pytest.fixture
def marked(settings: Settings, tmp_path: Path) -> Iterator[Marked]:
    (tmp_path / "sources.yaml").write_text(
        "flare:\n"
        "  folder: {path: export, marker: complete, min_tag_coverage: 0}\n"
        "  archive: {path: drop/docs.zip, marker: complete, min_tag_coverage: 0}\n",
        encoding="utf-8",
    )
    with slack_server() as slack:
        configured = settings.model_copy(
            update={"sources_file": tmp_path / "sources.yaml", "alert_slack_url": SecretStr(slack.url)}
        )
        with Platform(configured, embedder=CountingEmbedder()) as platform, dg.DagsterInstance.ephemeral() as instance:
            definitions = build_definitions(
                configured,
                platform=platform,
                max_retries=0,
                now=lambda: datetime.datetime.now(datetime.UTC) + found.later,
            )
            found = Marked(tmp_path, definitions, instance, platform, slack)
            yield found


def test_a_run_waits_for_the_marker(marked: Marked) -> None:
    """Without its marker an export is not read: the run ends well, says what it waits for, and serves nothing of it."""
    marked.write("export/0.htm", TOPIC.format("half a topic"))
    report = marked.run()
    assert (report.status, report.error) == ("waiting", None)
    assert report.warnings == ["waiting for the marker: there is no 'complete' yet"]
    (run,) = marked.instance.get_runs()
    assert run.tags["bbj_pipeline/waiting"] == report.warnings[0]
    assert marked.instance.fetch_materializations(dg.AssetKey(["flare", "raw_export"]), limit=1).records == []
    marked.copied("controls", "buttons")
    assert marked.run().status == "published"
    assert set(marked.served()) == {"0.htm", "1.htm"}


def test_a_copy_that_goes_on_under_the_old_marker_is_not_handed_on(marked: Marked) -> None:
    """Files that changed since the marker was written are not served, nor is what vanished deleted, until it is written anew;
    then one run publishes all of it."""
    marked.copied("controls", "buttons")
    assert marked.run().status == "published"
    before = marked.served()
    marked.write("export/0.htm", TOPIC.format("half of the next export"))
    (marked.folder / "export/1.htm").unlink()
    report = marked.run()
    assert report.status == "waiting"
    assert report.warnings == ["waiting for the marker: files changed and 'complete' is that of the export before"]
    assert marked.served() == before
    marked.copied("menus", "lists")
    assert marked.run().status == "published"
    assert {key: next(word for word in ("menus", "lists") if word in text) for key, text in marked.served().items()} == {
        "0.htm": "menus",
        "1.htm": "lists",
    }


def test_a_touched_export_does_not_wait(marked: Marked) -> None:
    """New modification times over the same bytes are no new export, whatever the marker says: an unchanged refresh."""
    marked.copied("controls")
    assert marked.run().status == "published"
    os.utime(marked.folder / "export/0.htm", (1_000_000_000, 1_000_000_000))
    assert marked.run().status == "unchanged"


def test_half_an_archive_is_waited_for(marked: Marked) -> None:
    """An archive that is torn while its next version is copied over it is no failure; with its marker it is one."""
    (marked.folder / "drop").mkdir()
    drop = marked.folder / "drop" / "docs.zip"
    with zipfile.ZipFile(drop, "w") as packed:
        packed.writestr("0.htm", TOPIC.format("controls"))
    marked.write("drop/complete", "1")
    assert marked.run("archive").status == "published"
    drop.write_bytes(drop.read_bytes()[:60])
    assert marked.run("archive").status == "waiting"
    assert set(marked.served()) == {"0.htm"}
    marked.write("drop/complete", "2")
    assert marked.run("archive").status == "failed"


def test_waiting_is_told_when_it_lasts(marked: Marked) -> None:
    """A night that waits alerts nobody and does not count as a refresh: after a day and two hours the instance is stale, told
    once; the marker ends it, told once."""
    marked.copied("controls")
    assert marked.run().status == "published"
    assert marked.alerts() == []
    (marked.folder / "export/complete").unlink()
    assert marked.run().status == "waiting"
    assert marked.alerts() == []
    marked.later = datetime.timedelta(hours=27)
    assert marked.run().status == "waiting"
    assert [marked.alerts() for _ in range(2)] == [["Failed: flare/folder"], []]
    marked.later = datetime.timedelta()
    marked.copied("menus")
    assert marked.run().status == "published"
    assert [marked.alerts() for _ in range(2)] == [["Recovered: flare/folder"], []]


def test_a_told_failure_is_not_over_because_a_run_waited(marked: Marked) -> None:
    """Only a run that reached the served table is a recovery."""
    marked.copied("controls")
    (marked.folder / "export/0.htm").unlink()
    assert marked.run().status == "failed"
    assert marked.alerts() == ["Failed: flare/folder"]
    (marked.folder / "export/complete").unlink()
    assert marked.run().status == "waiting"
    assert marked.alerts() == []
    marked.copied("menus")
    assert marked.run().status == "published"
    assert marked.alerts() == ["Recovered: flare/folder"]


class Overtaken(MdxSource):
    """A source in whose middle the next copy begins: the copier removes its marker."""

    def export(
        self, options: MdxOptions, earlier: EarlierExport = NOTHING_EARLIER
    ) -> Iterator[RawDocument | Reject | Unfetched]:
        assert options.path is not None
        for document in super().export(options, earlier):
            (options.path / "complete").unlink(missing_ok=True)
            yield document


def test_an_export_that_is_overtaken_while_it_is_read_waits(tmp_path: Path) -> None:
    """What was read while the next copy began is dropped: it may be half of the one and half of the other."""
    (tmp_path / "export").mkdir()
    (tmp_path / "export/a.md").write_text("# Windows\n", encoding="utf-8")
    options = MdxOptions(path=tmp_path / "export", marker="complete")
    store = StageStore(str(tmp_path / "store"))
    with dg.DagsterInstance.ephemeral() as instance:
        for source, expected in ((Overtaken(), Waiting), (SOURCE, Exported)):
            assert not list((tmp_path / "store").rglob("raw_export*"))
            (tmp_path / "export/complete").write_text("1", encoding="utf-8")
            place = Workplace(ConfiguredInstance(InstanceRef("mdx", "docs"), source, options), store, "run")
            assert isinstance(export_when_complete(place, instance), expected)
