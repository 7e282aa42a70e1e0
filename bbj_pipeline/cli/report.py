"""``report``: the reports over all sources as Markdown, the stored ones or made anew."""

from __future__ import annotations

import click

from bbj_pipeline.errors import RejectedInput
from bbj_pipeline.settings import Settings, load_settings
from bbj_pipeline.storage.corpus import read_report
from bbj_pipeline.storage.database import open_database
from bbj_pipeline.storage.migrations import migrate

__all__ = ["report"]


@click.command("report")
@click.argument("name", type=click.Choice(["health", "duplicates", "links"]), default="health")
@click.option("--refresh", is_flag=True, help="Make all reports anew from what is published now.")
def report(name: str, refresh: bool) -> None:
    """Print a report as Markdown: NAME is health (the default), duplicates or links. Reports that were never made are made."""
    settings = load_settings()
    with open_database(settings) as database:
        migrate(database)
        stored = None if refresh else read_report(database, name)
    if stored is None:
        _make(settings)
        with open_database(settings) as database:
            stored = read_report(database, name)
    if stored is None:
        raise RejectedInput(
            f"the report {name!r} was not stored", remedy="run it again with --refresh and see the run in the UI"
        )
    click.echo(stored.markdown, nl=False)


def _make(settings: Settings) -> None:
    """Run the job of the reports; raise ``RejectedInput`` with what failed."""
    from bbj_pipeline.orchestration.build import build_definitions
    from bbj_pipeline.orchestration.corpus import make_reports
    from bbj_pipeline.orchestration.home import dagster_instance
    from bbj_pipeline.orchestration.platform import Platform

    with Platform(settings) as platform, dagster_instance(settings, platform.database) as instance:
        definitions = build_definitions(settings, platform=platform, max_retries=0)
        failure = make_reports(definitions, instance, log_level="CRITICAL")
    if failure is not None:
        raise RejectedInput("the reports could not be made", remedy=failure)
