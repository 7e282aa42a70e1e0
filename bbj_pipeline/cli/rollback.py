"""``rollback``: an earlier publication of an instance becomes what is served, or a hold that a rollback left is lifted."""

from __future__ import annotations

import click

from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.settings import load_settings
from bbj_pipeline.storage.database import open_database
from bbj_pipeline.storage.migrations import migrate
from bbj_pipeline.storage.rollback import lift_hold
from bbj_pipeline.storage.rollback import rollback as roll_back

__all__ = ["rollback"]

_RUN_ID = "bbj-pipeline rollback"


@click.command("rollback")
@click.argument("instance", metavar="KIND/INSTANCE")
@click.option("--to", type=click.IntRange(min=1), metavar="PUBLICATION", help="Its number; the one before when left out.")
@click.option("--lift", is_flag=True, help="Roll nothing back: let the content that a rollback holds back be published again.")
def rollback(instance: str, to: int | None, lift: bool) -> None:
    """Make an earlier publication of KIND/INSTANCE the served one, without computing anything.

    What is rolled away is held: the same content is not published again until the source changes or --lift allows it.
    """
    ref = InstanceRef.parse(instance)
    if lift and to is not None:
        raise ConfigurationError("--lift and --to exclude each other", remedy="give one of them")
    with open_database(load_settings()) as database:
        migrate(database)
        if lift:
            lifted = lift_hold(database, ref)
            click.echo(f"{ref}: {'the next run publishes its content again' if lifted else 'nothing was held back'}")
            return
        result = roll_back(database, ref, to=to, run_id=_RUN_ID)
    click.echo(
        f"{ref}: publication {result.publication_id} brings #{result.rolled_back_to} back (before: #{result.rolled_back_from}):"
        f" {result.inserted} chunks inserted, {result.updated} updated, {result.deleted} deleted; {result.chunks} are served"
    )
    click.echo("what was rolled away is held until the source changes; --lift publishes it again")
