"""``ui``: the Dagster UI and daemon on loopback, on the same database and home as ``run``."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys

import click

from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.models import load_reranker
from bbj_pipeline.orchestration.home import dagster_environment, dagster_instance, process_environment
from bbj_pipeline.settings import load_settings
from bbj_pipeline.sources.config import load_sources
from bbj_pipeline.storage.database import open_database
from bbj_pipeline.storage.migrations import migrate

__all__ = ["ui"]


@click.command("ui")
@click.option("--port", default=3000, show_default=True, type=click.IntRange(1, 65535), help="TCP port of the UI.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address the UI listens on; it has no login.")
def ui(port: int, host: str) -> None:
    """Start the Dagster UI with its daemon; stop both with Ctrl-C.

    This process holds the embedded database open for the UI, the daemon and their runs.
    """
    settings = load_settings()
    load_sources(settings.sources_file)  # an error in it is said here, in one line, not in a code server's log
    load_reranker(settings)  # and so is one that is not there: what is started here outlives many searches
    _require_free(host, port)
    with open_database(settings) as database:
        migrate(database)
        with dagster_instance(settings, database):
            pass  # opened once before the daemon: it creates Dagster's tables and sets the pool limits
        environment = process_environment(dagster_environment(settings, database))
        options = ["-m", "bbj_pipeline.definitions", "-h", host, "-p", str(port)]
        command = [sys.executable, "-W", "ignore", "-m", "dagster", "dev", *options]
        click.echo(f"Dagster UI: http://{host}:{port}  (home: {environment['DAGSTER_HOME']}; stop with Ctrl-C)")
        # A shell's background job starts with SIGINT ignored; Dagster would inherit that and could not be stopped at all.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        server = subprocess.Popen(command, env=environment)  # noqa: S603  # our own interpreter and fixed arguments
        signal.signal(signal.SIGTERM, lambda *_: server.terminate())
        try:
            code = server.wait()
        except KeyboardInterrupt:
            server.terminate()  # Ctrl-C reaches the whole group, but an interrupt may also be sent to this process alone
            code = server.wait()
    if code not in (0, -signal.SIGINT, -signal.SIGTERM, 128 + signal.SIGINT, 128 + signal.SIGTERM):
        raise ConfigurationError(f"the Dagster UI ended with exit code {code}", remedy="read its log above")


def _require_free(host: str, port: int) -> None:
    """Refuse a port that is taken before anything starts: Dagster would only log it, and run a second daemon."""
    try:
        with socket.create_server((host, port)):
            return
    except OSError as error:
        raise ConfigurationError(
            f"cannot listen on {host}:{port} ({error.strerror or error})",
            remedy="stop what listens there, or choose another --port",
        ) from None
