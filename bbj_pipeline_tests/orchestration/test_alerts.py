"""Alerts over real channels on loopback: once a cause, again to a channel that was down, and a note when it is over."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
import pytest
from pydantic import SecretStr

from bbj_pipeline.errors import ConfigurationError, PipelineError, RejectedInput, SourceUnavailable
from bbj_pipeline.orchestration.alert_channels import alert_channels
from bbj_pipeline.orchestration.alerts import build_alert_sensor
from bbj_pipeline.orchestration.failures import classified
from bbj_pipeline.orchestration.freshness import build_freshness_sensor
from bbj_pipeline.orchestration.jobs import build_refresh_job
from bbj_pipeline.settings import Settings
from bbj_pipeline.sources.config import load_sources
from bbj_pipeline_tests.orchestration.receivers import Mailbox, SlackChannel, mail_server, slack_server

NOW = datetime.datetime.now(datetime.UTC)


@dataclass
class Watchers:
    """A kind of two stages whose runs meet what the test says, and the two sensors that watch it."""

    instance: dg.DagsterInstance
    settings: Settings
    error: PipelineError | None = None
    check_passes: bool = True
    now: datetime.datetime = NOW
    cursors: dict[str, str | None] = field(default_factory=dict)
    job: str = "mdx_refresh"

    def __post_init__(self) -> None:
        instances = load_sources(self.settings.sources_file)
        partitions = dg.StaticPartitionsDefinition([item.ref.instance for item in instances])

        @dg.asset(
            key=["mdx", "parsed_topics"],
            group_name="mdx",
            partitions_def=partitions,
            check_specs=[
                dg.AssetCheckSpec("rejects_bounded", asset=["mdx", "parsed_topics"], blocking=True, partitions_def=partitions)
            ],
        )
        def parsed_topics() -> Iterator[dg.MaterializeResult]:  # type: ignore[type-arg]
            with classified():
                if self.error is not None:
                    raise self.error
            result = dg.AssetCheckResult(
                passed=self.check_passes, description="9 of 10 are rejected. Remedy: correct the export"
            )
            yield dg.MaterializeResult(check_results=[result])

        @dg.asset(key=["mdx", "pgvector_table"], deps=[parsed_topics], group_name="mdx", partitions_def=partitions)
        def pgvector_table() -> None:
            pass

        self.definitions = dg.Definitions(
            [parsed_topics, pgvector_table],
            jobs=[build_refresh_job(source=instances[0].source, instances=instances)],
            sensors=[
                build_alert_sensor(
                    instances=instances,
                    jobs=[],
                    channels=alert_channels(self.settings),
                    ui_url="https://dagster.example.org/",
                    now=lambda: self.now,
                ),
                build_freshness_sensor(instances=instances, now=lambda: self.now),
            ],
        )

    def run(self, error: PipelineError | None = None, *, check_passes: bool = True, partition: str = "docs") -> str:
        self.error, self.check_passes = error, check_passes
        result = self.definitions.resolve_job_def(self.job).execute_in_process(
            partition_key=partition,
            instance=self.instance,
            raise_on_error=False,
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
        )
        assert result.success == (error is None and check_passes)
        return result.run_id

    def tick(self, name: str = "alert_sensor") -> object:
        repository = self.definitions.get_repository_def()
        with dg.build_sensor_context(self.instance, self.cursors.get(name), repository_def=repository) as context:
            result = repository.get_sensor_def(name).evaluate_tick(context)
        self.cursors[name] = result.cursor
        return result.asset_events


@pytest.fixture
def slack() -> Iterator[SlackChannel]:
    with slack_server() as channel:
        yield channel


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with mail_server() as box:
        yield box


@pytest.fixture
def watchers(slack: SlackChannel, mailbox: Mailbox, tmp_path: Path) -> Iterator[Watchers]:
    (tmp_path / "sources.yaml").write_text("mdx:\n  docs: {path: docs}\n  guide: {path: guide}\n", encoding="utf-8")
    settings = Settings(
        sources_file=tmp_path / "sources.yaml",
        alert_slack_url=SecretStr(slack.url),
        alert_email_to="team@example.org",
        alert_email_from="pipeline@example.org",
        smtp_url=SecretStr(mailbox.url),
    )
    with dg.DagsterInstance.ephemeral() as instance:
        yield Watchers(instance, settings)


DOWN = SourceUnavailable("https://docs.example.org does not answer", remedy="run again when the site is back")


def test_the_same_failure_is_told_once_and_its_end_once(watchers: Watchers, slack: SlackChannel, mailbox: Mailbox) -> None:
    """Three failures of one cause are one alert that says what, where, remedy and the run; the recovery is one note."""
    watchers.tick()
    assert slack.texts == []
    first = watchers.run(DOWN)
    watchers.tick()
    for _ in range(2):
        watchers.run(DOWN)
        watchers.tick()
    (text,) = slack.texts
    for part in (
        "Failed: mdx/docs",
        "parsed_topics: https://docs.example.org does not answer",
        "Remedy: run again when the site is back",
        f"https://dagster.example.org/runs/{first}",
    ):
        assert part in text
    watchers.run()
    watchers.tick()
    watchers.tick()
    assert [text.split("\n")[0] for text in slack.texts] == ["*Failed: mdx/docs*", "*Recovered: mdx/docs*"]
    assert [message["Subject"] for message in mailbox.messages] == ["Failed: mdx/docs", "Recovered: mdx/docs"]
    assert {message["To"] for message in mailbox.messages} == {"team@example.org"}


def test_another_cause_is_another_alert(watchers: Watchers, slack: SlackChannel) -> None:
    """When the failure becomes another one, that is told, and that the first is over; other instances are told apart."""
    watchers.run(DOWN)
    watchers.tick()
    watchers.run(RejectedInput("no document of this kind", remedy="check the path"))
    watchers.tick()
    watchers.run(DOWN, partition="guide")
    watchers.tick()
    assert sorted(text.split("\n")[0] for text in slack.texts) == [
        *["*Failed: mdx/docs*"] * 2,
        "*Failed: mdx/guide*",
        "*Recovered: mdx/docs*",
    ]


def test_a_blocking_check_is_told_with_its_remedy(watchers: Watchers, slack: SlackChannel) -> None:
    """A failed blocking check is told as what it is, once, not as the step that stopped behind it."""
    watchers.run(check_passes=False)
    watchers.tick()
    watchers.tick()
    (text,) = slack.texts
    assert "parsed_topics: rejects_bounded failed: 9 of 10 are rejected." in text
    assert "Remedy: correct the export" in text


def test_a_channel_that_was_down_is_told_when_it_is_back(
    watchers: Watchers, slack: SlackChannel, mailbox: Mailbox, caplog: pytest.LogCaptureFixture
) -> None:
    """What Slack refused it gets at a later tick, e-mail is not sent again, and the webhook's secret is in no log."""
    slack.status = 503
    watchers.run(DOWN)
    with caplog.at_level(logging.INFO):
        watchers.tick()
    assert (slack.texts, len(mailbox.messages)) == ([], 1)
    slack.status = 200
    watchers.tick()
    watchers.tick()
    assert (len(slack.texts), len(mailbox.messages)) == (1, 1)
    assert "503" in caplog.text
    assert "secret-token" not in caplog.text


def test_a_stale_instance_is_marked_and_told_once(watchers: Watchers, slack: SlackChannel) -> None:
    """A day and two hours after the last refresh reached the table the check fails for that instance, and one alert is sent."""
    watchers.run()
    watchers.now = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=25)
    assert watchers.tick("freshness_sensor") == []
    watchers.now += datetime.timedelta(hours=3)
    (event,) = watchers.tick("freshness_sensor")  # type: ignore[misc]
    assert (event.check_name, event.partition, event.passed) == ("fresh", "docs", False)
    assert watchers.tick("freshness_sensor") == []
    watchers.tick()
    watchers.tick()
    (text,) = slack.texts
    assert "no refresh has reached the served table for 28.0 hours, 26 are allowed" in text


def test_mail_by_halves_is_refused() -> None:
    """Recipients without a server or a sender are a mistake that is said at start-up, not at the first failure."""
    with pytest.raises(ConfigurationError, match="BBJ_SMTP_URL"):
        alert_channels(Settings(alert_email_to="team@example.org"))
