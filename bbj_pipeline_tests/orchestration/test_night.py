"""Nights as the platform lives them: schedules, retries, stale mark, alerts and recovery of a site that is down."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
import pytest
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


@dataclass
class Nights:
    """A platform of two sites, its Dagster instance, and a clock that a test moves from night to night."""

    definitions: dg.Definitions
    instance: dg.DagsterInstance
    platform: Platform
    slack: SlackChannel
    site: dict[str, Answer]
    started: datetime.datetime
    asked: list[str] = field(default_factory=list)
    offset: datetime.timedelta = datetime.timedelta()
    cursors: dict[str, str | None] = field(default_factory=dict)
    automation: object = None

    def __post_init__(self) -> None:
        ticks = schedule_execution_time_iterator(self.started.timestamp(), "0 2 * * *", "UTC")
        self.nights = [next(ticks) for _ in range(6)]

    def night(self, number: int) -> dict[str, dg.ExecuteInProcessResult]:
        """Let the schedule of a night fire as the daemon does, run what it requests, and let the sensors look afterwards."""
        self.offset = datetime.timedelta(days=number)
        repository = self.definitions.get_repository_def()
        context = dg.build_schedule_context(
            self.instance, scheduled_execution_time=self.nights[number], repository_def=repository
        )
        requests = repository.get_schedule_def("web_crawl_nightly").evaluate_tick(context).run_requests or []
        results = {}
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
        return results

    def look(self, name: str) -> list[dg.AssetCheckEvaluation]:
        repository = self.definitions.get_repository_def()
        with dg.build_sensor_context(self.instance, self.cursors.get(name), repository_def=repository) as context:
            result = repository.get_sensor_def(name).evaluate_tick(context)
        self.cursors[name] = result.cursor
        return [event for event in result.asset_events if isinstance(event, dg.AssetCheckEvaluation)]

    def requested(self) -> int:
        """Evaluate the automation conditions once; return how many partitions of the sources' assets are requested."""
        result = dg.evaluate_automation_conditions(self.definitions, self.instance, cursor=self.automation)  # type: ignore[arg-type]
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
    started = datetime.datetime.now(datetime.UTC)
    with serve(lambda target: site.get(target, Answer(404))) as origin, slack_server() as slack:
        options = "attempts: 1, delay: 0, min_tag_coverage: 0"
        (tmp_path / "sources.yaml").write_text(
            f"web_crawl:\n  up: {{url: '{origin}/up/', {options}}}\n  down: {{url: '{origin}/down/', {options}}}\n",
            encoding="utf-8",
        )
        configured = settings.model_copy(
            update={"sources_file": tmp_path / "sources.yaml", "alert_slack_url": SecretStr(slack.url)}
        )
        with Platform(configured, embedder=CountingEmbedder()) as platform, dg.DagsterInstance.ephemeral() as instance:
            definitions = build_definitions(
                configured, platform=platform, max_retries=RETRIES, now=lambda: started + found.offset
            )
            found = Nights(definitions, instance, platform, slack, site, started)
            yield found


def test_a_site_that_is_down_for_three_nights(nights: Nights) -> None:
    """Each night fires once and tries again as the site asks; one alert when it fails, one when it is stale, and the notes of
    its recovery; what is served stays, the other site is not disturbed, and an unchanged site starts nothing downstream.

    Ages count from the true time of a publication, so the morning after the recovery is looked at with the true clock.
    """
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
        stale = {event.partition: event.passed for event in nights.look("freshness_sensor")}
        nights.look("alert_sensor")
        told.append((stale.get("down"), sorted(title for title in nights.titles() if "down" in title)))
        assert nights.requested() == 0
    assert told == [
        (None, ["Failed: web_crawl/down"]),
        (False, ["Failed: web_crawl/down"]),  # older than 26 hours now: stale
        (None, []),
    ]
    assert {(row.instance, row.publication_id) for row in status(nights.platform.database)} == served

    nights.site["/down/"] = Answer(200, PAGE.replace(b"Windows", b"Dialogs"))
    assert all(result.success for result in nights.night(4).values())
    nights.offset = datetime.timedelta()
    assert {event.partition: event.passed for event in nights.look("freshness_sensor")}["down"]
    nights.look("alert_sensor")
    assert [title for title in nights.titles() if "down" in title] == ["Recovered: web_crawl/down"] * 2
    assert nights.requested() == 0
    assert len(nights.asked) == 2 * 5
