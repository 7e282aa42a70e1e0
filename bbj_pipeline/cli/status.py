"""``status`` and ``migrate``: what is published, and the schema it is published in."""

from __future__ import annotations

import json

import click

from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.settings import Settings, load_settings
from bbj_pipeline.sources.config import load_sources
from bbj_pipeline.storage.database import open_database
from bbj_pipeline.storage.migrations import migrate as migrate_schema
from bbj_pipeline.storage.publications import InstanceStatus, SwitchWait, switch_waits
from bbj_pipeline.storage.publications import status as published
from bbj_pipeline.storage.rollback import KeptPublication, kept_publications

__all__ = ["migrate", "status"]


@click.command("status")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line for each instance.")
@click.option("--publications", metavar="KIND/INSTANCE", help="List the kept publications of one instance instead.")
def status(as_json: bool, publications: str | None) -> None:
    """Show the current publication of every instance, and what a new embedding model still waits for."""
    settings = load_settings()
    ref = None if publications is None else InstanceRef.parse(publications)
    with open_database(settings) as database:
        if ref is not None:
            for kept in kept_publications(database, ref):
                click.echo(json.dumps(_kept_json(ref, kept), ensure_ascii=False) if as_json else _kept_line(ref, kept))
            return
        rows, waits = published(database), switch_waits(database)
    configured = _configured(settings)
    reasons = {(wait.kind, wait.instance): wait for wait in waits}
    for row in rows:
        known = configured is None or InstanceRef(row.kind, row.instance) in configured
        wait = reasons.get((row.kind, row.instance)) if row.space_state == "active" else None
        click.echo(json.dumps(_as_json(row, wait, known), ensure_ascii=False) if as_json else _line(row, wait, known))
    if not rows and not as_json:
        click.echo("nothing is published yet: run 'bbj-pipeline run'")


def _configured(settings: Settings) -> set[InstanceRef] | None:
    """Return the configured instances, or ``None`` when the file cannot be read: what is published is shown all the same."""
    try:
        return {item.ref for item in load_sources(settings.sources_file)}
    except ConfigurationError:
        return None


@click.command("migrate")
@click.option("--dagster-database", metavar="NAME", help="Also create this database on the server, for Dagster's own storage.")
def migrate(dagster_database: str | None) -> None:
    """Bring the database to this version's schema; says which migrations were applied."""
    with open_database(load_settings()) as database:
        applied = migrate_schema(database)
        if dagster_database is not None:
            database.ensure_database(dagster_database)
    click.echo("\n".join(f"applied {name}" for name in applied) or "the schema is current")


def _as_json(row: InstanceStatus, wait: SwitchWait | None, known: bool) -> dict[str, object]:
    return {
        "kind": row.kind,
        "instance": row.instance,
        "publication": row.publication_id,
        "run_id": row.run_id,
        "published_at": row.published_at.isoformat(),
        "counts": dict(row.counts),
        "code_versions": dict(row.code_versions),
        "withheld": row.withheld,
        "complete": row.complete,
        "space": row.space_id,
        "fingerprint": row.fingerprint,
        "space_state": row.space_state,
        "rolled_back_to": row.rolled_back_to,
        "held": row.held,
        "configured": known,
        "switch_waits": None if wait is None else {"space": wait.space_id, "reason": wait.reason},
    }


def _line(row: InstanceStatus, wait: SwitchWait | None, known: bool) -> str:
    counts = ", ".join(f"{value} {name}" for name, value in sorted(row.counts.items()))
    name = f"{row.kind}/{row.instance}"
    remarks = [
        "" if row.complete else "the export was incomplete",
        f"{row.withheld} deletions withheld" if row.withheld else "",
        f"rolled back to #{row.rolled_back_to}" if row.rolled_back_to else "",
        "what was rolled away is held until the source changes" if row.held else "",
        "" if known else f"no longer configured: bbj-pipeline prune --instance {name}",
        f"the switch to space {wait.space_id} waits for it: {wait.reason}" if wait else "",
    ]
    return (
        f"{name:<28} publication {row.publication_id} of {row.published_at:%Y-%m-%d %H:%M}"
        f" (space {row.space_id}, {row.space_state}): {'; '.join([counts, *filter(None, remarks)])}"
    )


def _kept_json(ref: InstanceRef, kept: KeptPublication) -> dict[str, object]:
    return {
        "kind": ref.kind,
        "instance": ref.instance,
        "publication": kept.publication_id,
        "run_id": kept.run_id,
        "published_at": kept.published_at.isoformat(),
        "counts": dict(kept.counts),
        "code_versions": dict(kept.code_versions),
        "is_current": kept.is_current,
        "rolled_back_to": kept.rolled_back_to,
        "diff": kept.diff.to_json(),
    }


def _kept_line(ref: InstanceRef, kept: KeptPublication) -> str:
    diff = kept.diff
    remark = f", rolled back to #{kept.rolled_back_to}" if kept.rolled_back_to else ""
    return (
        f"{ref!s:<28} #{kept.publication_id} of {kept.published_at:%Y-%m-%d %H:%M}, {kept.counts.get('chunks', 0)} chunks:"
        f" {diff.added.documents} documents added, {diff.changed.documents} changed, {diff.removed.documents} removed"
        f"{remark}{' (served)' if kept.is_current else ''}"
    )
