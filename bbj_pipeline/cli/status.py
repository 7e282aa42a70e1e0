"""``status`` and ``migrate``: what is published, and the schema it is published in."""

from __future__ import annotations

import json

import click

from bbj_pipeline.settings import Settings, load_settings
from bbj_pipeline.storage.database import Database, open_database
from bbj_pipeline.storage.migrations import migrate as migrate_schema
from bbj_pipeline.storage.publications import InstanceStatus
from bbj_pipeline.storage.publications import status as published

__all__ = ["migrate", "status"]


@click.command("status")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line for each instance.")
def status(as_json: bool) -> None:
    """Show the current publication of every instance."""
    with open_database(load_settings()) as database:
        rows = published(database)
    for row in rows:
        click.echo(json.dumps(_as_json(row), ensure_ascii=False) if as_json else _line(row))
    if not rows and not as_json:
        click.echo("nothing is published yet: run 'bbj-pipeline run'")


@click.command("migrate")
@click.option(
    "--dagster-database",
    metavar="NAME",
    help="Also prepare this database on the server for Dagster's own storage: its tables and pool limits.",
)
def migrate(dagster_database: str | None) -> None:
    """Bring the database to this version's schema; says which migrations were applied."""
    settings = load_settings()
    with open_database(settings) as database:
        applied = migrate_schema(database)
        if dagster_database is not None:
            _prepare_dagster(settings, database, dagster_database)
    click.echo("\n".join(f"applied {name}" for name in applied) or "the schema is current")


def _prepare_dagster(settings: Settings, database: Database, name: str) -> None:
    """Create Dagster's database, its tables and pool limits, before its services start."""
    from bbj_pipeline.orchestration.home import dagster_instance  # Dagster takes seconds to load

    with dagster_instance(settings, database, name):
        pass  # opening it prepares it


def _as_json(row: InstanceStatus) -> dict[str, object]:
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
    }


def _line(row: InstanceStatus) -> str:
    counts = ", ".join(f"{value} {name}" for name, value in sorted(row.counts.items()))
    remark = "" if row.complete else "; the export was incomplete"
    remark += f"; {row.withheld} deletions withheld" if row.withheld else ""
    return (
        f"{row.kind + '/' + row.instance:<28} publication {row.publication_id} of {row.published_at:%Y-%m-%d %H:%M}"
        f" (space {row.space_id}, {row.space_state}): {counts}{remark}"
    )
