"""Opening a database: what is said when it does not work, and how the embedded server lives."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from pathlib import Path

import psycopg2
import pytest
import sqlalchemy
from pydantic import SecretStr

from bbj_pipeline.errors import ConfigurationError, DatabaseUnavailable
from bbj_pipeline.settings import Settings
from bbj_pipeline.storage.database import Database, open_database

_OPEN = """
import sys
from pathlib import Path
from bbj_pipeline.settings import Settings
from bbj_pipeline.storage.database import open_database
with open_database(Settings(data_dir=Path(sys.argv[1]), database_url=None)) as database:
    with database.connection() if len(sys.argv) > 2 else database.direct_connection() as connection:
        print(connection.execute("select 1").fetchone()[0], flush=True)
    sys.stdin.read()
"""


def _process(data_dir: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error::ResourceWarning", "-c", _OPEN, str(data_dir)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def _first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_processes_share_the_embedded_server_and_the_last_one_stops_it(data_dir: Path) -> None:
    """Two processes use one data folder at once; a killed one does not keep the server alive; a new start finds the data."""
    killed, last = _process(data_dir), _process(data_dir)
    assert (_first_line(killed), _first_line(last)) == ("1", "1")
    killed.kill()
    killed.communicate()
    second = _process(data_dir)
    assert _first_line(second) == "1"
    for process in (last, second):
        assert process.communicate(input="")[1] == ""
        assert process.returncode == 0
    assert not (data_dir / "postgres" / "postmaster.pid").exists()
    again = _process(data_dir)
    assert _first_line(again) == "1"
    again.communicate(input="")


def test_settings_of_the_embedded_server_are_written_once(data_dir: Path) -> None:
    """A new server keeps its tables in 512 MB; whoever changes that in its file finds the change in force, and kept."""
    assert _buffers(data_dir) == "512MB"
    file = data_dir / "postgres" / "postgresql.conf"
    ours = file.read_bytes()
    for changed in (
        ours.replace(b"shared_buffers = 512MB", b"shared_buffers = 200MB") + b"# Gr\xf6\xdfe\n",
        b"".join(line for line in ours.splitlines(True) if b"bbj_pipeline" not in line and b"512MB" not in line)
        + b"shared_buffers = '200MB'\n",
    ):
        file.write_bytes(changed)
        assert _buffers(data_dir) == "200MB"
        assert file.read_bytes() == changed


def test_a_server_that_refuses_its_settings_says_which(data_dir: Path) -> None:
    """The message repeats the server's own complaint instead of the command that failed."""
    _buffers(data_dir)
    file = data_dir / "postgres" / "postgresql.conf"
    file.write_bytes(file.read_bytes() + b"work_mem = lots\n")
    done = _opened(data_dir)
    assert done.returncode != 0
    assert 'invalid value for parameter "work_mem": "lots"' in done.stderr or "postgresql.conf" in done.stderr


def _buffers(data_dir: Path) -> str:
    """What a process of its own sees, whose server stops with it."""
    done = _opened(data_dir)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def _opened(data_dir: Path) -> subprocess.CompletedProcess[str]:
    code = _OPEN.replace("select 1", "show shared_buffers")
    return subprocess.run([sys.executable, "-c", code, str(data_dir)], input="", capture_output=True, text=True, check=False)


def test_a_refused_connection_is_one_line_without_the_password(tmp_path: Path) -> None:
    """The message names host, port and database and the remedy, never the password."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = SecretStr(f"postgresql://bbj:secret-word@127.0.0.1:{port}/docs")
    with pytest.raises(DatabaseUnavailable) as caught, open_database(Settings(data_dir=tmp_path, database_url=url)):
        pass
    text = str(caught.value)
    assert text.startswith(f"PostgreSQL at 127.0.0.1:{port}/docs does not answer")
    assert text.endswith("start it, or correct BBJ_DATABASE_URL")
    assert "secret-word" not in text
    assert "\n" not in text


@pytest.mark.parametrize(
    "url",
    [
        "mysql://bbj:secret-word@host/docs",
        "postgresql://bbj:secret-word@host:port:1/docs",
        "postgresql://bbj:one@secret-word@host/docs",
        "postgresql://bbj:1/secret-word@host/docs",
        "postgresql://bbj:1?secret-word@host/docs",
        "secret-word",
    ],
)
def test_a_url_that_is_none_is_not_repeated(tmp_path: Path, url: str) -> None:
    """A mistyped URL may hold the password: the message shows the form, not the text."""
    with (
        pytest.raises(ConfigurationError, match="BBJ_DATABASE_URL is not a PostgreSQL URL") as caught,
        open_database(Settings(data_dir=tmp_path, database_url=SecretStr(url))),
    ):
        pass
    assert "secret-word" not in repr(caught.value)


def test_a_lost_connection_is_unavailable_and_the_next_one_works(database: Database) -> None:
    """A backend that goes away in the middle of a statement is an outage, and the pool gives a new connection afterwards."""

    def terminate(pid: int) -> None:
        with database.direct_connection() as other:
            other.execute("select pg_terminate_backend(%s)", (pid,))

    def sleep() -> None:
        with database.connection() as connection:
            threading.Timer(0.2, terminate, (connection.info.backend_pid,)).start()
            connection.execute("select pg_sleep(30)")

    with pytest.raises(DatabaseUnavailable, match="does not answer"):
        sleep()
    with database.connection() as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_a_snapshot_is_read_only_and_stable(database: Database) -> None:
    """All statements of a snapshot see one state, and a statement that takes too long is stopped."""
    with database.connection() as writer:
        writer.execute("create table t (n int)")
        with database.snapshot(timeout=5) as reader:
            assert reader.execute("select count(*) from t").fetchone() == (0,)
            writer.execute("insert into t values (1)")
            assert reader.execute("select count(*) from t").fetchone() == (0,)
    with pytest.raises(DatabaseUnavailable, match="stopped a statement"), database.snapshot(timeout=0.1) as reader:
        reader.execute("select pg_sleep(5)")


def test_other_databases_by_psycopg2_and_sqlalchemy(postgres: Database) -> None:
    """A second database on the same server is made once and reached by the drivers of Dagster's storage."""
    url = postgres.ensure_database("orchestration_test")
    assert postgres.ensure_database("orchestration_test") == url
    with psycopg2.connect(url.get_secret_value()) as connection, connection.cursor() as cursor:
        cursor.execute("select current_database()")
        assert cursor.fetchone() == ("orchestration_test",)
    connection.close()
    engine = sqlalchemy.create_engine(url.get_secret_value())
    with engine.connect() as alchemy:
        assert alchemy.execute(sqlalchemy.text("select current_database()")).scalar() == "orchestration_test"
    engine.dispose()
    assert "postgres" not in repr(postgres.url)
