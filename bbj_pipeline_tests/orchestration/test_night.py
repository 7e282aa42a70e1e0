"""Nights as the platform lives them: schedules, retries, stale mark, alerts and recovery of a site that is down.

The clock of Dagster, and so the age of everything, is set by Dagster's own testing tool; the runs are real.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.test_utils import freeze_time
from dagster._utils.schedules import schedule_execution_time_iterator
from pydantic import SecretStr

from bbj_pipeline.orchestration.build import build_definitions
from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.orchestration.stage_names import STAGES
from bbj_pipeline.settings import Settings
from bbj_pipeline.sources.replay import Answer, serve
from bbj_pipeline.storage.publications import status
from bbj_pipeline_tests.fakes import CountingEmbedder
from bbj_pipeline_tests.orchestration.receivers import SlackChannel, slack_server

PAGE = (
    b"<html><body><main><h1>Windows</h1><p>A window is opened with <code>BBjAPI().openSysGui()</code>.</p></main></body></html>"
)
RETRIES = 2
CRON, ZONE = "30 2 * * *", "Europe/Berlin"
START = datetime.datetime(2026, 10, 23, 12, tzinfo=datetime.UTC)
"""Two days before clocks go back: the second night is an hour longer, and 02:30 exists twice in it."""


@dataclass
class Nights:
    """A platform of two sites, its Dagster instance, and a clock that a test moves from night to night."""

    definitions: dg.Definitions
    instance: dg.DagsterInstance
    platform: Platform
    slack: SlackChannel
    site: dict[str, Answer]
    asked: list[str] = field(default_factory=list)
    now: datetime.datetime = START
    cursors: dict[str, str | None] = field(default_factory=dict)
    automation: object = None

    def __post_init__(self) -> None:
        ticks = schedule_execution_time_iterator(START.timestamp(), CRON, ZONE)
        self.nights = [next(ticks) for _ in range(6)]

    def night(self, number: int) -> dict[str, dg.ExecuteInProcessResult]:
        """Let the schedule of a night fire as the daemon does and run what it requests; half an hour later the sensors look."""
        repository = self.definitions.get_repository_def()
        (schedule,) = repository.schedule_defs
        context = dg.build_schedule_context(
            self.instance, scheduled_execution_time=self.nights[number], repository_def=repository
        )
        requests = schedule.evaluate_tick(context).run_requests or []
        results = {}
        with freeze_time(self.nights[number]):
            for request in requests:
                assert request.run_key not in self.asked, "a night fires once"
                self.asked.append(request.run_key or "")
                results[request.partition_key or ""] = self.definitions.resolve_job_def("web_crawl_refresh").execute_in_process(
                    partition_key=request.partition_key,
                    tags=dict(request.tags),
                    instance=self.instance,
                    raise_on_error=False,
                    run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
                )
        self.now = self.nights[number] + datetime.timedelta(minutes=30)
        return results

    def look(self, name: str) -> list[dg.AssetCheckEvaluation]:
        repository = self.definitions.get_repository_def()
        with (
            freeze_time(self.now),
            dg.build_sensor_context(self.instance, self.cursors.get(name), repository_def=repository) as context,
        ):
            result = repository.get_sensor_def(name).evaluate_tick(context)
        self.cursors[name] = result.cursor
        return [event for event in result.asset_events if isinstance(event, dg.AssetCheckEvaluation)]

    def requested(self) -> int:
        """Evaluate the automation conditions once; return how many partitions of the sources' assets are requested."""
        result = dg.evaluate_automation_conditions(
            self.definitions,
            self.instance,
            cursor=self.automation,  # type: ignore[arg-type]
            evaluation_time=self.now,
        )
        self.automation = result.cursor
        # The reports, which follow every publication, are not counted.
        return sum(result.get_num_requested(dg.AssetKey(["web_crawl", stage])) for stage in STAGES)

    def titles(self) -> list[str]:
        """The first lines of what Slack was told since the last question."""
        told = [text.split("\n")[0].strip("*") for text in self.slack.texts]
        self.slack.texts.clear()
        return told


@pytest.fixture
def nights(settings: Settings, tmp_path: Path) -> Iterator[Nights]:
    site = {"/up/": Answer(200, PAGE), "/down/": Answer(200, PAGE)}
    with serve(lambda target: site.get(target, Answer(404))) as origin, slack_server() as slack:
        options = f"attempts: 1, delay: 0, min_tag_coverage: 0, schedule: '{CRON}', timezone: {ZONE}"
        (tmp_path / "sources.yaml").write_text(
            f"web_crawl:\n  up: {{url: '{origin}/up/', {options}}}\n  down: {{url: '{origin}/down/', {options}}}\n",
            encoding="utf-8",
        )
        configured = settings.model_copy(
            update={"sources_file": tmp_path / "sources.yaml", "alert_slack_url": SecretStr(slack.url)}
        )
        with Platform(configured, embedder=CountingEmbedder()) as platform, dg.DagsterInstance.ephemeral() as instance:
            definitions = build_definitions(configured, platform=platform, max_retries=RETRIES, now=lambda: found.now)
            found = Nights(definitions, instance, platform, slack, site)
            yield found


def test_a_site_that_is_down_for_three_nights(nights: Nights) -> None:
    """Each night fires once, the long one of autumn too, and tries again as the site asks; the instance is marked stale; one
    alert in all, and one note when the fourth night recovers by itself. What is served stays meanwhile, the other site is not
    disturbed, and an unchanged site starts nothing downstream."""
    nights.requested()
    assert all(result.success for result in nights.night(0).values())
    served = {(row.instance, row.publication_id) for row in status(nights.platform.database)}
    assert len(served) == 2
    nights.look("alert_sensor")
    assert nights.titles() == []

    nights.site["/down/"] = Answer(503, b"", headers={"Retry-After": "0"})
    told = []
    for number in (1, 2, 3):
        results = nights.night(number)
        assert {name: result.success for name, result in results.items()} == {"up": True, "down": False}
        retried = [event for event in results["down"].all_events if event.is_step_up_for_retry]
        assert len(retried) == RETRIES
        reached = {event.asset_key.path[-1] for event in results["down"].get_asset_materialization_events() if event.asset_key}
        assert reached == set(), "a failed stage leaves everything after it untouched"
        versions = {
            event.asset_key.path[-1]: event for event in results["up"].get_asset_materialization_events() if event.asset_key
        }
        assert versions["pgvector_table"].materialization.metadata["status"].value == "unchanged"
        marked = {event.partition: event.passed for event in nights.look("freshness_sensor")}
        nights.look("alert_sensor")
        told.append((marked, nights.titles()))
        assert nights.requested() == 0
    assert told == [
        ({}, ["Failed: web_crawl/down"]),
        ({"down": False}, []),  # older than 26 hours now: stale, as could be expected of what fails
        ({}, []),
    ]
    assert {(row.instance, row.publication_id) for row in status(nights.platform.database)} == served

    nights.site["/down/"] = Answer(200, PAGE.replace(b"Windows", b"Dialogs"))
    assert all(result.success for result in nights.night(4).values())
    assert {event.partition: event.passed for event in nights.look("freshness_sensor")} == {"down": True}
    nights.look("alert_sensor")
    assert nights.titles() == ["Recovered: web_crawl/down"]
    assert nights.requested() == 0

    assert all(result.success for result in nights.night(5).values())
    assert nights.look("freshness_sensor") == []
    nights.look("alert_sensor")
    assert nights.titles() == []
    assert len(nights.asked) == 2 * 6
