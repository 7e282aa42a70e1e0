"""``sql``: PostgreSQL's own terminal on the database of the settings."""

from __future__ import annotations

import subprocess

import click

from bbj_pipeline.settings import load_settings
from bbj_pipeline.storage.database import open_database
from bbj_pipeline.storage.embedded import psql_program

__all__ = ["sql"]


@click.command("sql", context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def sql(arguments: tuple[str, ...]) -> None:
    """Open psql on the database; ARGUMENTS are psql's, for example: -c 'select count(*) from doc_chunks'.

    A password is not handed on, since other users of the machine see a program's arguments: psql asks, or takes PGPASSWORD.
    """
    settings = load_settings()
    with open_database(settings) as database:  # an embedded server stays up as long as it is open
        command = [str(psql_program()), database.without_password(), *arguments]
        done = subprocess.run(command, check=False)  # noqa: S603  # the person at the terminal is who gives the arguments
    raise click.exceptions.Exit(done.returncode)
