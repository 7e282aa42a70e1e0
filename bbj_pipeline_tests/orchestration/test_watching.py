"""The export sensors over many ticks: when an export is complete, once a content, again after a failure; on any store."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
import fsspec
import pytest

from bbj_pipeline.errors import PipelineError, RejectedInput, SourceUnavailable
from bbj_pipeline.orchestration.failures import classified
from bbj_pipeline.orchestration.jobs import build_refresh_job
from bbj_pipeline.orchestration.sensors import build_export_sensor
from bbj_pipeline.orchestration.watching import MAX_ATTEMPTS, RETRY_SECONDS, Moment
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.sources.change_tokens import content_digest, look_at
from bbj_pipeline.sources.config import ConfiguredInstance, load_sources
from bbj_pipeline.sources.flare import SOURCE
from bbj_pipeline.sources.flare.options import FlareOptions

TICK_SECONDS = 30
RETRY_TICKS = int(RETRY_SECONDS) // TICK_SECONDS
PAGE = "<html><body><p>{}</p></body></html>"


@dataclass
class Watch:
    """The sensor of one kind over a folder: ticks with the cursor of the tick before, on a clock that the test moves."""

    folder: Path
    instance: dg.DagsterInstance
    sources: str
    now: Moment = field(default_factory=lambda: Moment("one", 0.0))
    cursor: str | None = None
    requests: list[dg.RunRequest] = field(default_factory=list)
    error: PipelineError | None = None
    """What the runs meet."""
    further: list[ConfiguredInstance] = field(default_factory=list)
    """Instances beside those of the file."""

    def tick(self, *, seconds: float = TICK_SECONDS) -> list[str]:
        """Evaluate once, ``seconds`` after the tick before; return the requested instances."""
        self.now = Moment(self.now.process, self.now.seconds + seconds)
        (self.folder / "sources.yaml").write_text(self.sources, encoding="utf-8")
        instances = [*self.further, *load_sources(self.folder / "sources.yaml")]
        source = instances[0].source

        @dg.asset(
            key=[source.kind, "raw_export"],
            group_name=source.kind,
            partitions_def=dg.StaticPartitionsDefinition([item.ref.instance for item in instances]),
        )
        def raw_export() -> None:
            with classified():
                if self.error is not None:
                    raise self.error

        job = build_refresh_job(source=source, instances=instances)
        sensor = build_export_sensor(
            kind=source.kind, job=job, instances=instances, seconds=TICK_SECONDS, clock=lambda: self.now
        )
        self.definitions = dg.Definitions([raw_export], jobs=[job], sensors=[sensor])
        repository = self.definitions.get_repository_def()
        with dg.build_sensor_context(self.instance, self.cursor, repository_def=repository) as context:
            result = repository.get_sensor_def(sensor.name).evaluate_tick(context)
        self.cursor = result.cursor
        self.requests += result.run_requests or []
        return [request.partition_key or "" for request in result.run_requests or []]

    def launch(self) -> bool:
        """Run the newest request as the daemon does, with its tags and its key; return whether it succeeded."""
        request = self.requests[-1]
        job = next(name for name in self.definitions.get_repository_def().job_names if name.endswith("_refresh"))
        return (
            self.definitions.resolve_job_def(job)
            .execute_in_process(
                partition_key=request.partition_key,
                tags={**request.tags, "dagster/run_key": request.run_key or ""},
                instance=self.instance,
                raise_on_error=False,
                run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
            )
            .success
        )

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(PAGE.format(text), encoding="utf-8")


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Watch]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield Watch(tmp_path, instance, "flare:\n  docs: {path: export}\n")


def test_an_archive_dropped_slowly_the_same_again_and_a_changed_one(watch: Watch) -> None:
    """A .zip that arrives in pieces fires once, when it rests; the same bytes copied again never; a changed one once."""
    watch.sources = "flare:\n  docs: {path: drop/docs.zip}\n"
    made = watch.folder / "made.zip"
    drop = watch.folder / "drop" / "docs.zip"
    drop.parent.mkdir()

    def archive(text: str) -> bytes:
        with zipfile.ZipFile(made, "w") as packed:
            packed.writestr(zipfile.ZipInfo("a.htm"), PAGE.format(text))
        return made.read_bytes()

    content = archive("one")
    assert watch.tick() == []
    for end in range(20, len(content), 40):
        drop.write_bytes(content[:end])
        assert watch.tick() == []
    drop.write_bytes(content)
    assert [watch.tick() for _ in range(2)] == [[], ["docs"]]
    assert watch.launch()
    shutil.copyfile(made, drop)
    assert [watch.tick() for _ in range(4)] == [[]] * 4
    drop.write_bytes(archive("two"))
    assert [watch.tick() for _ in range(4)] == [[], ["docs"], [], []]


def test_a_content_that_comes_back_is_requested_again(watch: Watch) -> None:
    """An export that is taken back to an earlier content is a new export: its run key is not one that Dagster remembers."""
    for text in ("one", "two", "one"):
        watch.write("export/a.htm", text)
        assert [watch.tick() for _ in range(2)] == [[], ["docs"]]
        assert watch.launch()
    keys = [request.run_key for request in watch.requests]
    assert len(set(keys)) == 3
    assert watch.requests[0].tags == watch.requests[2].tags


def test_a_marker_decides(watch: Watch) -> None:
    """With a marker nothing fires while files rest or arrive; each time it is written anew the export is complete at once."""
    watch.sources = "flare:\n  docs: {path: export, marker: .complete}\n"
    watch.write("export/a.htm", "one")
    assert [watch.tick() for _ in range(3)] == [[]] * 3
    watch.write("export/.complete", "1")
    assert watch.tick() == ["docs"]
    assert watch.launch()
    watch.write("export/a.htm", "half of the next export")
    assert [watch.tick() for _ in range(3)] == [[]] * 3, "the marker is that of the export before"
    watch.write("export/a.htm", "two")
    watch.write("export/.complete", "2")
    assert watch.tick() == ["docs"]
    watch.write("export/.complete", "3")
    assert [watch.tick() for _ in range(2)] == [[]] * 2, "the marker is no content"


def test_a_marker_beside_an_archive(watch: Watch) -> None:
    """The marker of an archive lies beside it."""
    watch.sources = "flare:\n  docs: {path: drop/docs.zip, marker: done}\n"
    (watch.folder / "drop").mkdir()
    (watch.folder / "drop" / "docs.zip").write_bytes(b"bytes")
    assert [watch.tick() for _ in range(2)] == [[]] * 2
    (watch.folder / "drop" / "done").touch()
    assert watch.tick() == ["docs"]


def test_a_quiet_period_is_counted_by_the_watching_process(watch: Watch) -> None:
    """An export must rest for its quiet period; a restart only makes that longer, and file times have no part in it."""
    watch.sources = "flare:\n  docs: {path: export, quiet_seconds: 100}\n"
    watch.write("export/a.htm", "one")
    os.utime(watch.folder / "export" / "a.htm", (2**31, 2**31))  # from a machine whose clock is ahead
    assert [watch.tick(seconds=40) for _ in range(3)] == [[]] * 3  # seen, 40, 80
    watch.now = Moment("two", 1_000_000.0)  # another process, whose clock says nothing about the first one's
    assert watch.tick(seconds=40) == []
    assert watch.tick(seconds=10) == []
    assert watch.tick(seconds=10) == ["docs"]


def test_a_change_of_the_same_size_and_time_is_seen(watch: Watch) -> None:
    """A file that is replaced by one of the same size and modification time is a new content."""
    watch.write("export/a.htm", "one")
    file = watch.folder / "export" / "a.htm"
    os.utime(file, (1_000_000_000, 1_000_000_000))
    watch.tick()
    assert watch.tick() == ["docs"]
    watch.write("export/a.htm", "two")
    os.utime(file, (1_000_000_000, 1_000_000_000))
    assert [watch.tick() for _ in range(2)] == [[], ["docs"]]


def test_a_failure_worth_a_retry_is_requested_again(watch: Watch) -> None:
    """A run that met something unavailable is requested again after ten, then twenty minutes, and then no more."""
    watch.write("export/a.htm", "one")
    watch.error = SourceUnavailable("the store does not answer", remedy="wait")
    watch.tick()
    assert watch.tick() == ["docs"]
    for attempt in range(1, MAX_ATTEMPTS):
        assert not watch.launch()
        assert watch.tick() == []  # sees that it failed
        waited = [watch.tick() for _ in range(RETRY_TICKS * 2 ** (attempt - 1))]
        assert waited == [[]] * (len(waited) - 1) + [["docs"]]
        assert (watch.requests[-1].run_key or "").endswith(f":attempt{attempt + 1}")
    assert not watch.launch()
    assert [watch.tick() for _ in range(2 * RETRY_TICKS)] == [[]] * 2 * RETRY_TICKS
    assert len({request.run_key for request in watch.requests}) == MAX_ATTEMPTS
    watch.error = None
    watch.write("export/a.htm", "two")
    assert [watch.tick() for _ in range(2)] == [[], ["docs"]]
    assert watch.launch()
    assert [watch.tick() for _ in range(RETRY_TICKS + 2)] == [[]] * (RETRY_TICKS + 2)


def test_a_rejected_input_waits_for_another_content(watch: Watch) -> None:
    """A run that refused its input is not repeated: the same bytes would be refused again."""
    watch.write("export/a.htm", "one")
    watch.error = RejectedInput("no topic in it", remedy="export it again")
    watch.tick()
    watch.tick()
    assert not watch.launch()
    assert [watch.tick() for _ in range(RETRY_TICKS + 2)] == [[]] * (RETRY_TICKS + 2)
    watch.write("export/a.htm", "two")
    assert [watch.tick() for _ in range(2)] == [[], ["docs"]]


def test_a_request_that_got_lost_is_repeated_under_its_key(watch: Watch) -> None:
    """When no run appears for a request, the same one is made again: Dagster starts one run a key at most."""
    watch.write("export/a.htm", "one")
    watch.tick()
    watch.tick()
    ticks = [watch.tick() for _ in range(12)]
    assert ticks.count(["docs"]) == 1
    assert watch.requests[0].run_key == watch.requests[1].run_key


@pytest.mark.parametrize("kind", ["mdx", "bbj_source", "javadoc", "pdf", "web_crawl", "wordpress"])
def test_every_kind_of_folder_is_watched(watch: Watch, kind: str) -> None:
    """Any kind whose export lies at a path has a sensor of its own, with the same promise."""
    watch.sources = f"{kind}:\n  docs: {{path: export}}\n"
    watch.write("export/a.file", "one")
    assert [watch.tick() for _ in range(3)] == [[], ["docs"], []]


def test_one_store_that_does_not_answer_leaves_the_others_watched(watch: Watch) -> None:
    """A path that cannot be looked at is passed over, and the other instances of the kind fire all the same."""
    away = FlareOptions.model_construct(path="no-such-store://bucket/export", marker=None, quiet_seconds=0.0)
    watch.further = [ConfiguredInstance(InstanceRef("flare", "away"), SOURCE, away)]
    watch.write("export/a.htm", "one")
    assert [watch.tick() for _ in range(2)] == [[], ["docs"]]


def test_a_store_that_is_no_disk() -> None:
    """Folders and archives of an fsspec store are looked at as those on disk are, markers too."""
    store = fsspec.filesystem("memory")
    store.pipe("/exports/docs/a.htm", b"one")
    first = look_at("memory://exports/docs", ".complete")
    assert (first.marker, first.listing is not None) == (None, True)
    assert look_at("memory://exports/docs", ".complete") == first
    digest = content_digest("memory://exports/docs", ".complete")
    store.pipe("/exports/docs/.complete", b"")
    marked = look_at("memory://exports/docs", ".complete")
    assert marked.marker is not None
    assert (marked.listing, content_digest("memory://exports/docs", ".complete")) == (first.listing, digest)
    store.pipe("/exports/docs/b.htm", b"two")
    assert look_at("memory://exports/docs", ".complete").listing != first.listing
    assert content_digest("memory://exports/docs", ".complete") != digest
    store.pipe("/exports/docs.zip", b"packed")
    assert look_at("memory://exports/docs.zip").listing is not None
    assert look_at("memory://exports/other").listing is None


def test_the_same_content_has_one_digest_wherever_it_lies(tmp_path: Path) -> None:
    """The digest is of names and bytes: a folder and its copy in another store have the same."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.htm").write_bytes(b"one")
    fsspec.filesystem("memory").pipe("/copied/sub/a.htm", b"one")
    assert content_digest(tmp_path) == content_digest("memory://copied")
