"""The schedules and the export sensor, evaluated as the daemon does, over many ticks."""

from __future__ import annotations

import datetime
import json
import re
import shutil
from pathlib import Path
from zoneinfo import ZoneInfo

import dagster as dg
import pytest
from dagster._utils.schedules import schedule_execution_time_iterator

from bbj_pipeline.orchestration.build import build_definitions
from bbj_pipeline.settings import SAMPLES_DIR, Settings


class Ticks:
    """Evaluates the sensor tick after tick with the cursor of the tick before."""

    def __init__(self, sources_file: Path) -> None:
        self.settings = Settings(sources_file=sources_file)
        self.cursor: str | None = None

    def __call__(self) -> list[dg.RunRequest]:
        definitions = build_definitions(self.settings)
        sensor = definitions.resolve_sensor_def("flare_export_sensor")
        repository = definitions.get_repository_def()
        with (
            dg.DagsterInstance.ephemeral() as instance,
            dg.build_sensor_context(instance, self.cursor, repository_def=repository) as context,
        ):
            result = sensor.evaluate_tick(context)
        self.cursor = result.cursor
        return list(result.run_requests or [])


@pytest.fixture
def ticks(tmp_path: Path) -> Ticks:
    (tmp_path / "sources.yaml").write_text("flare:\n  docs: {path: export}\n", encoding="utf-8")
    return Ticks(tmp_path / "sources.yaml")


def test_an_export_fires_once_when_it_has_come_to_rest(ticks: Ticks, tmp_path: Path) -> None:
    """While files arrive nothing fires; when two ticks see the same listing one run is requested, and no second one."""
    assert ticks() == []
    source = sorted((SAMPLES_DIR / "flare").rglob("*.htm"))
    for topic in source[:3]:
        target = tmp_path / "export" / topic.name
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(topic, target)
        assert ticks() == []
    requests = ticks()
    assert [request.partition_key for request in requests] == ["docs"]
    assert [ticks() for _ in range(5)] == [[]] * 5


def test_a_touched_export_is_not_a_new_one(ticks: Ticks, tmp_path: Path) -> None:
    """New modification times over the same bytes request nothing: content decides, not clocks."""
    export = tmp_path / "export"
    export.mkdir()
    topic = export / "a.htm"
    topic.write_text("<html><body><p>one</p></body></html>", encoding="utf-8")
    ticks()
    assert len(ticks()) == 1
    topic.touch()
    assert [ticks() for _ in range(3)] == [[]] * 3


def test_changed_content_fires_again_with_another_key(ticks: Ticks, tmp_path: Path) -> None:
    """A changed export is requested under a new run key, as the daemon remembers run keys for ever."""
    export = tmp_path / "export"
    export.mkdir()
    (export / "a.htm").write_text("<html><body><p>one</p></body></html>", encoding="utf-8")
    ticks()
    first = ticks()
    (export / "a.htm").write_text("<html><body><p>two and more</p></body></html>", encoding="utf-8")
    assert ticks() == []
    second = ticks()
    assert first[0].run_key != second[0].run_key


def test_everything_that_starts_runs_is_on() -> None:
    """Schedules and sensors run as soon as a daemon does, without a click in the UI."""
    repository = build_definitions(Settings(sources_file=SAMPLES_DIR / "sources.yaml")).get_repository_def()
    assert len(repository.schedule_defs) == 7
    assert {item.default_status for item in repository.schedule_defs} == {dg.DefaultScheduleStatus.RUNNING}
    watched = ("bbj_source", "flare", "javadoc", "mdx", "pdf")  # the samples of the other kinds are sites
    assert {item.name for item in repository.sensor_defs} == {
        *(f"{kind}_export_sensor" for kind in watched),
        *("alert_sensor", "automation_sensor", "dead_run_sensor", "freshness_sensor", "refresh_request_sensor"),
    }
    assert {item.default_status for item in repository.sensor_defs} == {dg.DefaultSensorStatus.RUNNING}


def test_the_nightly_schedule_requests_every_instance(tmp_path: Path) -> None:
    """One schedule a kind runs all its instances at 02:00 UTC, one run each; an instance with its own cron has its own."""
    (tmp_path / "sources.yaml").write_text(
        "mdx:\n  one: {path: a}\n  two: {path: b}\n  three: {path: c, schedule: '30 4 * * 1', timezone: Europe/Berlin}\n",
        encoding="utf-8",
    )
    definitions = build_definitions(Settings(sources_file=tmp_path / "sources.yaml"))
    nightly = definitions.resolve_schedule_def("mdx_nightly")
    assert nightly.cron_schedule == "0 2 * * *"
    when = datetime.datetime(2026, 3, 1, 2, 0, tzinfo=datetime.UTC)
    context = dg.build_schedule_context(scheduled_execution_time=when, repository_def=definitions.get_repository_def())
    tick = nightly.evaluate_tick(context)
    assert sorted(request.partition_key or "" for request in tick.run_requests or []) == ["one", "two"]
    own = definitions.resolve_schedule_def("mdx__three")
    assert (own.cron_schedule, own.execution_timezone) == ("30 4 * * 1", "Europe/Berlin")


def schedule_names(folder: Path, kinds: dict[str, dict[str, str]]) -> dict[str, list[str]]:
    """Return the schedules Dagster holds, by name, with what each requests; ``kinds`` is kind → instance → cron."""
    text = json.dumps(
        {kind: {name: {"path": "a", "schedule": cron} for name, cron in group.items()} for kind, group in kinds.items()}
    )
    (folder / "sources.yaml").write_text(text, encoding="utf-8")  # JSON is YAML
    repository = build_definitions(Settings(sources_file=folder / "sources.yaml")).get_repository_def()
    when = datetime.datetime(2026, 3, 1, 2, 0, tzinfo=datetime.UTC)
    found = {}
    for schedule in repository.schedule_defs:
        context = dg.build_schedule_context(scheduled_execution_time=when, repository_def=repository)
        found[schedule.name] = [request.partition_key or "" for request in schedule.evaluate_tick(context).run_requests or []]
    return found


def test_schedules_are_named_after_their_instances(tmp_path: Path) -> None:
    """In the common case a schedule's name is readable: the kind and the names of the instances it refreshes."""
    group = {"guide": "0 2 * * *", "bbj-docs": "5 4 * * *", "one": "0 6 * * *", "two": "0 6 * * *"}
    assert schedule_names(tmp_path, {"mdx": group}) == {
        "mdx_nightly": ["guide"],
        "mdx__bbj_docs": ["bbj-docs"],
        "mdx__one__two": ["one", "two"],
    }


@pytest.mark.parametrize(
    "kinds",
    [
        {"mdx": {"a-b": "0 3 * * *", "a.b": "0 4 * * *", "a_b": "0 5 * * *"}},
        {"mdx": {"nightly": "0 3 * * *", "docs": "0 2 * * *"}},
        {"mdx": {"a": "0 3 * * *", "b": "0 3 * * *", "a_b": "0 4 * * *", "a-b": "0 5 * * *"}},
        {"mdx": {"a": "0 3 * * *", "b": "0 3 * * *", "a--b": "0 4 * * *", "a__b": "0 5 * * *", "a_-b": "0 6 * * *"}},
        {"flare": {"export-sensor": "0 3 * * *", "export_sensor": "0 4 * * *", "refresh": "0 5 * * *"}},
        {"mdx": {"a" * 63: "0 3 * * *", **{f"{'a' * 50}-{number}": "0 4 * * *" for number in range(40)}}},
        {"mdx": {f"{'a' * 50}-{number}": f"{number % 2} 4 * * *" for number in range(40)}},
    ],
)
def test_schedules_of_any_instances_have_names_of_their_own(tmp_path: Path, kinds: dict[str, dict[str, str]]) -> None:
    """Whatever instances are called, Dagster accepts their schedules, and each instance is requested by exactly one."""
    found = schedule_names(tmp_path, kinds)
    assert sorted(name for names in found.values() for name in names) == sorted(
        name for group in kinds.values() for name in group
    )
    assert len(found) == sum(len(set(group.values())) for group in kinds.values())
    assert all(re.fullmatch("[A-Za-z0-9_]{1,100}", name) for name in found)


@pytest.mark.parametrize(
    ("cron", "timezone", "day"),
    [
        ("30 2 * * *", "Europe/Berlin", datetime.date(2026, 3, 29)),  # 02:30 does not exist that night
        ("30 2 * * *", "Europe/Berlin", datetime.date(2026, 10, 25)),  # 02:30 exists twice
        ("30 1 * * *", "America/New_York", datetime.date(2026, 11, 1)),  # 01:30 exists twice
        ("0 2 * * *", "UTC", datetime.date(2026, 3, 29)),
    ],
)
def test_a_schedule_fires_once_a_night_when_clocks_change(tmp_path: Path, cron: str, timezone: str, day: datetime.date) -> None:
    """In the week of a change to or from daylight-saving time each night has one tick, and each tick requests one run."""
    (tmp_path / "sources.yaml").write_text(
        json.dumps({"mdx": {"docs": {"path": "a", "schedule": cron, "timezone": timezone}}}), encoding="utf-8"
    )
    repository = build_definitions(Settings(sources_file=tmp_path / "sources.yaml")).get_repository_def()
    (schedule,) = repository.schedule_defs
    zone = ZoneInfo(timezone)
    start = datetime.datetime.combine(day - datetime.timedelta(days=3), datetime.time(), zone)
    ticks = schedule_execution_time_iterator(start.timestamp(), cron, schedule.execution_timezone)
    times = [next(ticks) for _ in range(7)]
    assert [time.astimezone(zone).date() for time in times] == [start.date() + datetime.timedelta(days=n) for n in range(7)]
    keys = set()
    for time in times:
        context = dg.build_schedule_context(scheduled_execution_time=time, repository_def=repository)
        (request,) = schedule.evaluate_tick(context).run_requests or []
        keys.add(request.run_key)
    assert len(keys) == 7
