"""Starts the service for tests: as a thread over parts given as values, and as the command in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from bbj_pipeline.retrieval import SearchConfig, Searcher
from bbj_pipeline.retrieval.serving import Service, create_app
from bbj_pipeline.settings import Settings
from bbj_pipeline.storage.database import Database
from bbj_pipeline_tests.fakes import CountingEmbedder
from bbj_pipeline_tests.paths import ROOT


def _names(lines: Iterable[str]) -> set[str]:
    found = (re.match(r"[a-z][a-z0-9-]*", line) for line in lines)
    return {match[0] for match in found if match}


SERVING = _names((ROOT / "deploy" / "requirements-serve.txt").read_text(encoding="utf-8").splitlines())
"""What an installation that only searches and serves has."""
DECLARED = _names(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"])
# What is left is not there for it: an import fails as if it were not installed. sentence-transformers brings tqdm itself.
ABSENT = {name.removesuffix("-binary").replace("-", "_") for name in DECLARED - SERVING - {"tqdm"}}
WITHOUT_ORCHESTRATION = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(ABSENT)}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
from bbj_pipeline.cli import main
main()
"""


@contextmanager
def running(
    database: Database, embedder: CountingEmbedder, settings: Settings, *, any_host: bool = False, timeout: float = 10
) -> Iterator[str]:
    """Serve on a free loopback port from a thread; gives the base URL. ``timeout`` bounds a statement, in seconds."""
    service = Service(database, embedder, Searcher(database, embedder, SearchConfig(timeout=timeout)), settings)
    app = create_app(service, settings, any_host=any_host)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, access_log=False, proxy_headers=False, ws="none"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=30)
        service.close()


@dataclass(frozen=True, slots=True)
class Process:
    """A served command: its base URL, its process, and the file its standard error goes to."""

    url: str
    popen: subprocess.Popen[bytes]
    log: Path


def environment(settings: Settings, **more: str) -> dict[str, str]:
    """The environment of a command over the settings' database."""
    assert settings.database_url is not None
    return {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "BBJ_DATA_DIR": str(settings.data_dir),
        "BBJ_DATABASE_URL": settings.database_url.get_secret_value(),
        **more,
    }


@contextmanager
def serving_process(variables: Mapping[str, str], log: Path, *arguments: str) -> Iterator[Process]:
    """Run ``serve`` as ``deploy/requirements-serve.txt`` installs it; wait until it answers."""
    command = [sys.executable, "-c", WITHOUT_ORCHESTRATION, "serve", "--port", "0", *arguments]
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, env=dict(variables), stdout=subprocess.PIPE, stderr=errors) as popen,
    ):
        try:
            yield Process(_url(popen, log), popen, log)
        finally:
            popen.terminate()
            popen.communicate(timeout=60)


def _url(popen: subprocess.Popen[bytes], log: Path) -> str:
    while popen.poll() is None:
        found = re.search(r"REST: (http://[^/]+)/docs", log.read_text(encoding="utf-8"))
        if found:
            url = found[1]
            try:
                if httpx.get(f"{url}/health/live").is_success:
                    return url
            except httpx.TransportError:
                pass
        time.sleep(0.1)
    raise AssertionError(log.read_text(encoding="utf-8"))


def call(url: str, **body: Any) -> httpx.Response:
    """Ask a question by REST."""
    return httpx.post(f"{url}/search", json=body, timeout=60)
