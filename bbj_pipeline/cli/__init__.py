"""The command line ``bbj-pipeline``: one module a group of commands, imported when its command is called.

Here: the list of commands, and the one way an error ends a command. What a command does belongs to the layers below.
"""

from __future__ import annotations

import importlib
import sys

import click

from bbj_pipeline import __version__
from bbj_pipeline.errors import PipelineError

__all__ = ["main"]

# command: (module below bbj_pipeline.cli, what --help says)
_COMMANDS = {
    "run": ("run", "Materialise the configured sources through Dagster and print what changed."),
    "demo": ("demo", "Run the sample exports and ask one question of each of the seven kinds."),
    "parse": ("inspect", "Parse one source and print topics and rejects as JSON lines."),
    "tag": ("inspect", "Tag one source and print generations, evidence and document types as JSON lines."),
    "chunk": ("inspect", "Chunk one source and print its chunks as JSON lines."),
    "search": ("search", "Search what is published."),
    "eval": ("eval", "Measure search with judged queries: metrics with intervals, ablations."),
    "serve": ("serve", "Serve search by REST and by MCP over HTTP."),
    "mcp": ("serve", "Speak MCP over standard input and output, for an agent."),
    "gaps": ("serve", "Print the questions that got no good answer, for the writers."),
    "ui": ("ui", "Start the Dagster UI and its daemon on this machine."),
    "rejects": ("rejects", "List the documents the last run refused, with the reason for each."),
    "rollback": ("rollback", "Make an earlier publication of an instance the served one."),
    "prune": ("prune", "Remove what is no longer kept, and instances that are no longer configured."),
    "provenance": ("provenance", "Say where a served chunk comes from, and verify its raw bytes."),
    "status": ("status", "Show what is published."),
    "report": ("report", "Print the health of the corpus, its near-duplicates or its modernisation links."),
    "sql": ("sql", "Open psql on the database, to query by hand."),
    "doctor": ("doctor", "Check the installation; every finding comes with its remedy."),
    "migrate": ("status", "Bring the database to this version's schema."),
}


class _LazyGroup(click.Group):
    """A group whose commands are imported when they are used, so that ``search`` never loads Dagster."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"bbj_pipeline.cli.{_COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def _cli() -> None:
    """Seven sources of BBj documentation, one searchable corpus in PostgreSQL and pgvector."""


def main() -> None:
    """Run the command line; a failure the user can mend ends in one line on standard error and exit code 1."""
    try:
        # Outside standalone mode click returns the code of an Exit instead of raising it.
        code = _cli.main(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped", err=True)
        sys.exit(130)
    except PipelineError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("bbj_pipeline"):
            raise
        # An installation that only searches and serves; what the other commands need is not there.
        click.echo(f"error: {error.name} is not installed: install the whole project to use this command", err=True)
        sys.exit(1)
