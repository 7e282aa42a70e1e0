"""Backends that are terminated: what may be repeated is, once, and nothing is lost or done twice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bbj_pipeline.errors import ConnectionLost, DatabaseUnavailable
from bbj_pipeline.settings import Settings
from bbj_pipeline.storage.database import RETRIES, Connection, Database, open_database
from bbj_pipeline.storage.embedding_cache import DatabaseEmbeddingCache
from bbj_pipeline.storage.publications import status
from bbj_pipeline.storage.publishing import PublishRow
from bbj_pipeline.storage.rollback import rollback
from bbj_pipeline_tests.storage.chunk_factory import REF, documents, put, served, unit


def terminate_all(database: Database) -> None:
    """End every other session of this database, as a restart or an administrator would."""
    with database.direct_connection() as connection:
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )


@pytest.mark.parametrize("losses", [1, 2])
def test_a_publication_is_repeated_as_a_whole(database: Database, losses: int) -> None:
    """Each connection lost while rows are compared and staged costs a repetition: one publication, all rows, right counts."""
    put(database, documents(300), "1")
    calls = 0

    def rows() -> Iterator[PublishRow]:
        nonlocal calls
        calls += 1
        for n, row in enumerate(documents(300, word="new")):
            if calls <= losses and n == 590:
                terminate_all(database)
            yield row

    result = put(database, rows, "2")
    assert (result.status, result.updated, calls) == ("published", 600, losses + 1)
    assert {content.split()[0] for _, _, content in served(database)} == {"new"}
    with database.connection() as connection:
        assert connection.execute("select count(*) from publications").fetchone() == (2,)
    rollback(database, REF, run_id="r")
    assert {content.split()[0] for _, _, content in served(database)} == {"text"}


def test_reads_and_the_cache_survive_a_restart_of_all_sessions(database: Database) -> None:
    """Idle pooled connections that were ended are replaced before they are used."""
    put(database, documents(2), "1")
    cache = DatabaseEmbeddingCache(database)
    cache.put("test:8", {"00" * 32: unit(1)})
    terminate_all(database)
    assert len(status(database)) == 1
    terminate_all(database)
    cache.put("test:8", {"11" * 32: unit(2)})
    terminate_all(database)
    assert set(cache.get("test:8", ["00" * 32, "11" * 32])) == {"00" * 32, "11" * 32}


def test_work_is_repeated_a_few_times_and_then_given_up(database: Database) -> None:
    """A session that is ended in each attempt ends in one error after the last; another error is not repeated."""
    attempts = 0

    def ended(connection: Connection) -> None:
        nonlocal attempts
        attempts += 1
        connection.execute("select pg_terminate_backend(pg_backend_pid())")

    with pytest.raises(ConnectionLost, match="does not answer"):
        database.retried(ended)
    assert attempts == RETRIES + 1

    def wrong(connection: Connection) -> None:
        nonlocal attempts
        attempts += 1
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        database.retried(wrong)
    assert attempts == RETRIES + 2


def test_statements_are_bounded_by_the_setting(settings: Settings) -> None:
    """A statement that runs longer than BBJ_STATEMENT_SECONDS is stopped with the remedy, and not repeated."""
    with (
        open_database(settings.model_copy(update={"statement_seconds": 0.2})) as database,
        pytest.raises(DatabaseUnavailable, match="stopped a statement"),
    ):
        database.retried(lambda connection: connection.execute("select pg_sleep(5)"))
