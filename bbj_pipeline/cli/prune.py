"""``prune``: removes what the settings no longer keep, and what the operator names."""

from __future__ import annotations

import click

from bbj_pipeline.records import InstanceRef
from bbj_pipeline.settings import load_settings
from bbj_pipeline.sources.config import load_sources
from bbj_pipeline.storage.database import open_database
from bbj_pipeline.storage.migrations import migrate
from bbj_pipeline.storage.retention import Retention, unconfigured
from bbj_pipeline.storage.retention import prune as remove
from bbj_pipeline.storage.stage_files import StageStore

__all__ = ["prune"]


@click.command("prune")
@click.option(
    "--instance", "names", multiple=True, metavar="KIND/INSTANCE", help="Also this one, which is no longer configured."
)
@click.option("--spaces", is_flag=True, help="Also the chunks and cached vectors of models that are no longer served.")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
def prune(names: tuple[str, ...], spaces: bool, dry_run: bool) -> None:
    """Remove history, unused vectors, finished refresh requests and raw bytes beyond BBJ_KEEP_PUBLICATIONS and BBJ_KEEP_DAYS.

    What is served is not touched, except an instance that is named here and no longer stands in sources.yaml.
    """
    settings = load_settings()
    configured = [item.ref for item in load_sources(settings.sources_file)]
    named = [InstanceRef.parse(name) for name in names]
    with open_database(settings) as database:
        migrate(database)
        removals = remove(
            database,
            StageStore(settings.store),
            retention=Retention(settings.keep_publications, settings.keep_days),
            configured=configured,
            instances=named,
            spaces=spaces,
            dry_run=dry_run,
        )
        left = [ref for ref in unconfigured(database, configured) if ref not in named]
    for removal in removals:
        click.echo(f"{'would remove' if dry_run else 'removed'} {removal}")
    for ref in left:
        click.echo(f"still served though no longer configured: {ref} (bbj-pipeline prune --instance {ref})")
