"""``serve``, ``mcp`` and ``gaps``: search for programs and agents, and what it could not answer, for writers."""

from __future__ import annotations

import datetime
import ipaddress
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import anyio
import click
import numpy as np
import uvicorn

from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.models import load_embedder, load_reranker
from bbj_pipeline.retrieval import SearchConfig, Searcher
from bbj_pipeline.retrieval.serving import Service, create_app, serve_stdio
from bbj_pipeline.retrieval.serving.access import KeyRing
from bbj_pipeline.retrieval.serving.gaps import group_gaps, render_gaps
from bbj_pipeline.retrieval.serving.logs import log_to_stderr
from bbj_pipeline.retrieval.serving.webhook import refresh_router
from bbj_pipeline.settings import Settings, load_settings
from bbj_pipeline.storage.database import Database, open_database
from bbj_pipeline.storage.feedback import select_gaps

__all__ = ["gaps", "mcp", "serve"]

STOP_SECONDS = 10
"""How long requests in flight may take to end when the service is stopped."""
KEEP_ALIVE_SECONDS = 75
"""How long an idle connection stays: longer than clients keep theirs (httpx 5, browsers and proxies 60), or a request
that is just being sent meets a closed connection."""


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="TCP port; 0 takes a free one.")
@click.option("--insecure", is_flag=True, help="Listen on other addresses than this machine's own without API keys.")
def serve(host: str, port: int, insecure: bool) -> None:
    """Serve search by REST and, at /mcp, by MCP over HTTP; stop with Ctrl-C."""
    settings = load_settings()
    local = _is_loopback(host)
    if not local and not insecure and KeyRing(settings.api_keys).is_empty:
        raise ConfigurationError(
            f"{host} can be reached from other machines and no API key is asked for",
            remedy="set BBJ_API_KEYS, listen on 127.0.0.1, or add --insecure",
        )
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job starts with it ignored
    signal.signal(signal.SIGTERM, _stop)  # uvicorn raises it again when it has stopped
    log_to_stderr()
    with _listening(host, port) as listener, open_database(settings) as database, _service(settings, database) as service:
        service.warm()
        hooks = None if settings.webhook_secret is None else refresh_router(settings, database)
        app = create_app(service, settings, hooks=hooks, any_host=not local)
        config = uvicorn.Config(
            app, log_config=None, access_log=False, server_header=False, proxy_headers=False, ws="none",
            timeout_graceful_shutdown=STOP_SECONDS, timeout_keep_alive=KEEP_ALIVE_SECONDS,
        )  # fmt: skip
        address = listener.getsockname()
        shown = f"[{address[0]}]" if ":" in address[0] else address[0]
        click.echo(
            f"REST: http://{shown}:{address[1]}/docs  MCP: http://{shown}:{address[1]}/mcp  (stop with Ctrl-C)", err=True
        )
        uvicorn.Server(config).run(sockets=[listener])


@click.command("mcp")
def mcp() -> None:
    """Speak MCP over standard input and output, for an agent that starts this as its own process."""
    settings = load_settings()
    log_to_stderr()
    with open_database(settings) as database, _service(settings, database) as service:
        anyio.run(partial(serve_stdio, service, log_queries=settings.log_queries))


@click.command("gaps")
@click.option("--days", default=90, show_default=True, type=click.IntRange(1, 3650), help="How far to look back.")
@click.option("--limit", default=500, show_default=True, type=click.IntRange(1, 5000), help="Questions at most.")
def gaps(days: int, limit: int) -> None:
    """Print the questions that got no good answer as Markdown, near ones together."""
    settings = load_settings()
    since = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=days)
    with open_database(settings) as database:
        found = select_gaps(database, since=since, limit=limit)
    embedder = load_embedder(settings)
    vectors = np.array([embedder.embed_query(gap.query) for gap in found]).reshape(len(found), embedder.dimension)
    click.echo(render_gaps(group_gaps(found, vectors), days=days), nl=False)


@contextmanager
def _service(settings: Settings, database: Database) -> Iterator[Service]:
    embedder = load_embedder(settings)
    config = SearchConfig.from_settings(settings)
    searcher = Searcher(database, embedder, config, reranker=load_reranker(settings))
    service = Service(database, embedder, searcher, settings)
    try:
        yield service
    finally:
        service.close()
        searcher.close()


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """Take the port before anything is loaded; a port that is taken is said in one line."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise ConfigurationError(
            f"cannot listen on {host}:{port} ({error.strerror or error})",
            remedy="stop what listens there, or choose another --host or --port",
        ) from None
    with listener:
        yield listener


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _stop(*_: object) -> None:
    sys.exit(0)
