"""Fixtures of all tests: one embedded PostgreSQL a session (a test process), a fresh migrated database a test."""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from pydantic import SecretStr
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from bbj_pipeline.models import load_embedder
from bbj_pipeline.settings import Settings
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.embedded import start_embedded_server
from bbj_pipeline.storage.migrations import migrate
from bbj_pipeline_tests.fakes import EmbedsOnce

# "quick" draws the same examples everywhere, so that a red build is red again at the desk, and shrinks what it finds. New
# examples are looked for by hand: pytest --hypothesis-profile long --timeout 3600.
hypothesis.settings.register_profile("quick", deadline=None, derandomize=True)
hypothesis.settings.register_profile("long", deadline=None, max_examples=10_000, print_blob=True)
hypothesis.settings.load_profile("quick")

if "PYTEST_XDIST_WORKER" in os.environ:
    # Each worker has a core; models that took all of them would stand in one another's way. Read when torch is imported.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

_TEMPLATE = "migrated_template"
_TOGETHER = ("bbj_pipeline_tests/evaluation/", "bbj_pipeline_tests/retrieval/serving/")
"""Folders whose files share something expensive: published samples, a running service."""
_FIRST = "bbj_pipeline_tests/orchestration/test_daemon_alone.py"
"""Waits for the daemon's clock most of the time, while the other process works."""
_numbers = itertools.count(1)


class ByFile(LoadFileScheduling):
    """Gives a process one file after another, and what belongs together at once."""

    def _split_scope(self, nodeid: str) -> str:
        return next((folder for folder in _TOGETHER if nodeid.startswith(folder)), super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(_FIRST))  # the others keep their order


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A fresh data folder outside pytest's own.

    Run by root, the embedded server is another user, and every pytest session that starts closes pytest's folder to others.
    """
    folder = Path(tempfile.mkdtemp(prefix="bbj-data-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Database]:
    """A real embedded server with a migrated template database; it stops when the test process ends."""
    folder = tempfile.mkdtemp(prefix="bbj-server-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # registered first, so it runs after the server has stopped
    server = Database(SecretStr(start_embedded_server(Path(folder) / "postgres")))
    with server.direct_connection() as connection:
        connection.execute("alter system set fsync = off")  # no test survives a power failure
        connection.execute("select pg_reload_conf()")
    with Database(server.ensure_database(_TEMPLATE)) as template:
        migrate(template)
    yield server
    server.close()


@pytest.fixture(scope="session")
def model() -> EmbedsOnce:
    """The real offline model; what one test had embedded, the next is given."""
    return EmbedsOnce(load_embedder(Settings()))


@pytest.fixture
def empty_database(postgres: Database) -> Iterator[Database]:
    """A new database without any schema."""
    yield from _database(postgres, "template1")


@pytest.fixture
def database(postgres: Database) -> Iterator[Database]:
    """A new database at the current schema, with nothing published."""
    yield from _database(postgres, _TEMPLATE)


@pytest.fixture
def settings(database: Database, data_dir: Path) -> Settings:
    """Settings of a fresh data folder and the fresh database, reached by URL."""
    return Settings(data_dir=data_dir, database_url=database.url)


def _database(server: Database, template: str) -> Iterator[Database]:
    name = f"test_{next(_numbers)}"
    with server.direct_connection() as connection:
        connection.execute(f"create database {name} template {template}")
    try:
        with Database(server.database_uri_for(name)) as database:
            yield database
    finally:
        with server.direct_connection() as connection:
            connection.execute(f"drop database {name} with (force)")
