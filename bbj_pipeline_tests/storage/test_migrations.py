"""Migrations: once each, in order, never changed afterwards."""

from __future__ import annotations

import threading

import pytest

from bbj_pipeline.errors import SchemaError
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.migrations import migrate
from bbj_pipeline.storage.publications import status
from bbj_pipeline.storage.queries import migration_files


def test_the_second_migration_is_a_no_op(empty_database: Database) -> None:
    """All files are applied in order and named; the second run applies none."""
    assert migrate(empty_database) == [path.stem for path in migration_files()]
    assert migrate(empty_database) == []
    assert status(empty_database) == []


def test_processes_that_migrate_at_once_wait_for_each_other(empty_database: Database) -> None:
    """Each migration is applied by exactly one of several."""
    applied: list[str] = []
    threads = [threading.Thread(target=lambda: applied.extend(migrate(empty_database))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert applied == [path.stem for path in migration_files()]


def test_a_changed_file_is_noticed(database: Database) -> None:
    """An applied migration whose file has another checksum is refused by name."""
    with database.connection() as connection:
        connection.execute("update schema_migrations set checksum = 'other' where name = '0001_schema'")
    with pytest.raises(SchemaError, match="the migration 0001_schema was changed after it was applied"):
        migrate(database)


def test_a_newer_database_is_noticed(database: Database) -> None:
    """A database ahead of the code is refused, not guessed at."""
    with database.connection() as connection:
        connection.execute("insert into schema_migrations (name, checksum) values ('9999_future', 'x')")
    with pytest.raises(SchemaError, match="9999_future, which this version does not know"):
        migrate(database)


def test_a_database_without_schema_names_the_command(empty_database: Database) -> None:
    """Reading before migrating says what to run."""
    with pytest.raises(SchemaError, match="run 'bbj-pipeline run' first"):
        status(empty_database)
