"""``run``: the configured instances through Dagster, in this process, with a line for each."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.records import InstanceRef, to_json
from bbj_pipeline.settings import Settings, load_settings
from bbj_pipeline.sources.config import load_sources

if TYPE_CHECKING:  # Dagster takes seconds to load; --help and a mistake in the arguments need none of it
    from bbj_pipeline.orchestration.refresh import InstanceReport

__all__ = ["render", "run", "run_instances", "selected_instances"]


@click.command("run")
@click.option("--config", type=click.Path(path_type=Path), help="A sources.yaml other than the configured one.")
@click.option("--source", "sources", multiple=True, metavar="KIND[/INSTANCE]", help="Only these; may be given several times.")
@click.option(
    "--approve-deletions",
    "approved",
    multiple=True,
    metavar="KIND/INSTANCE",
    help="Delete in this run what the deletion guard withholds of this instance; may be given several times.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line for each instance.")
@click.option("--verbose", is_flag=True, help="Show Dagster's own log.")
def run(config: Path | None, sources: tuple[str, ...], approved: tuple[str, ...], as_json: bool, verbose: bool) -> None:
    """Materialise the configured sources through Dagster and print, for each instance, what changed."""
    settings = load_settings()
    if config is not None:
        settings = settings.model_copy(update={"sources_file": config.resolve()})
    refs = selected_instances(settings, sources)
    approvals = [InstanceRef.parse(name) for name in approved]
    for ref in approvals:
        if ref not in refs:
            raise ConfigurationError(
                f"--approve-deletions {ref} is none of the instances of this run", remedy=f"use one of: {_names(refs)}"
            )
    started = time.perf_counter()
    reports = []
    for report in run_instances(settings, refs, verbose=verbose, approve_deletions=approvals):
        reports.append(report)
        click.echo(json.dumps({**to_json(report), "error": report.error}, ensure_ascii=False) if as_json else render(report))
    failed = sum(report.status == "failed" for report in reports)
    if not as_json:
        fresh = sum(report.status not in ("failed", "waiting") for report in reports)
        click.echo(f"{fresh} of {len(reports)} instances up to date in {time.perf_counter() - started:.1f} s")
    if failed:
        raise click.exceptions.Exit(1)


def run_instances(
    settings: Settings, refs: Sequence[InstanceRef], *, verbose: bool = False, approve_deletions: Collection[InstanceRef] = ()
) -> Iterator[InstanceReport]:
    """Run instances through Dagster with one database and one model, and yield a report for each.

    When something was published, the links between documents follow: a search shows the modern way beside the legacy one from
    the first run on, and does not wait for the nightly reports.
    """
    from bbj_pipeline.cli.progress import embedding_bar
    from bbj_pipeline.orchestration.build import build_definitions
    from bbj_pipeline.orchestration.corpus import MODERNISATION_LINKS, make_reports
    from bbj_pipeline.orchestration.home import dagster_instance
    from bbj_pipeline.orchestration.platform import Platform
    from bbj_pipeline.orchestration.refresh import refresh

    with (
        embedding_bar(shown=not verbose and sys.stderr.isatty()) as listener,
        Platform(settings, listener=listener) as platform,
        dagster_instance(settings, platform.database) as instance,
    ):
        # The person at the terminal retries; waiting between attempts is for the night.
        definitions = build_definitions(settings, platform=platform, max_retries=0)
        level = "INFO" if verbose else "CRITICAL"
        published = False
        for report in refresh(
            definitions,
            instance,
            refs,
            log_level=level,
            approve_deletions=approve_deletions,
            tell=partial(click.echo, err=True),
        ):
            published = published or report.status == "published"
            yield report
        failure = make_reports(definitions, instance, log_level=level, only=[MODERNISATION_LINKS]) if published else None
        if failure is not None:
            click.echo(f"warning: the links between documents are those of the last report ({failure})", err=True)


def render(report: InstanceReport) -> str:
    """Return one instance's report as a line, with what needs a look below it: withheld deletions, warnings, its error."""
    documents, rows, vectors = report.documents, report.rows, report.embeddings
    line = (
        f"{report.kind + '/' + report.instance:<28} {report.status:<9}"
        f" documents {documents['parsed']} parsed, {documents['reused']} reused, {documents['rejected']} rejected,"
        f" {documents['deleted']} deleted | chunks {report.chunks}"
        f" | embeddings {vectors['computed']} computed, {vectors['reused']} reused"
        f" | rows {rows['inserted']} inserted, {rows['updated']} updated, {rows['deleted']} deleted,"
        f" {rows['unchanged']} unchanged | {sum(report.seconds.values()):.1f} s"
    )
    if report.withheld:
        name = f"{report.kind}/{report.instance}"
        line += (
            f"\n    {report.withheld} deletions withheld: the export may be incomplete; the run in the UI lists them;"
            f" if they are meant: bbj-pipeline run --source {name} --approve-deletions {name}"
        )
    if report.status == "held":
        line += "\n    held back by a rollback: new content publishes again, and so does 'bbj-pipeline rollback --lift'"
    for warning in report.warnings:
        line += f"\n    warning: {warning}"
    return f"{line}\n    error: {report.error}" if report.error else line


def selected_instances(settings: Settings, names: tuple[str, ...]) -> list[InstanceRef]:
    """Return the configured instances that ``names`` (``kind`` or ``kind/instance``) name, or all of them for no name.

    Raises ``ConfigurationError`` for a name that is not configured.
    """
    refs = [item.ref for item in load_sources(settings.sources_file)]
    for name in names:
        if not any(name in (ref.kind, str(ref)) for ref in refs):
            raise ConfigurationError(f"no instance {name!r} in {settings.sources_file}", remedy=f"use one of: {_names(refs)}")
    return [ref for ref in refs if not names or ref.kind in names or str(ref) in names]


def _names(refs: Sequence[InstanceRef]) -> str:
    return ", ".join(map(str, refs))
