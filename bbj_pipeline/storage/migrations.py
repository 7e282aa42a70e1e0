"""Brings the schema up: numbered SQL files in order, each committed together with the record that it ran.

What the schema is stands in ``sql/migrations``; a file that was applied once is never edited again, its checksum is kept.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import psycopg

from bbj_pipeline.errors import SchemaError
from bbj_pipeline.storage.database import Connection, Database
from bbj_pipeline.storage.queries import migration_files, query

__all__ = ["migrate"]


def migrate(database: Database) -> list[str]:
    """Apply the migrations that have not run yet; return their names. Processes that migrate at once wait for each other.

    Afterwards the group roles ``bbj_reader`` and ``bbj_writer`` may use what was made, where the connection may grant that.

    Raises ``SchemaError`` when an applied file was changed since, when the database is newer than this code, or when the
    role may not create what a migration needs.
    """
    with database.direct_connection() as connection:
        connection.execute("select pg_advisory_lock(hashtextextended('bbj_pipeline migrations', 0))")
        connection.execute(
            "create table if not exists schema_migrations ("
            "name text primary key, checksum text not null, applied_at timestamptz not null default now())"
        )
        rows = connection.execute("select name, checksum from schema_migrations").fetchall()
        applied = _apply(connection, migration_files(), dict(rows))
        if applied or _roles_are_missing(connection):
            connection.execute(query("grant_roles"))
        return applied


def _roles_are_missing(connection: Connection) -> bool:
    """Tell whether there are no group roles though this connection may make them."""
    row = connection.execute(query("count_missing_roles")).fetchone()
    return row is not None and row[0] > 0


def _apply(connection: Connection, files: list[Path], applied: dict[str, str]) -> list[str]:
    unknown = sorted(set(applied) - {path.stem for path in files})
    if unknown:
        raise SchemaError(
            f"the database has the migration {unknown[-1]}, which this version does not know",
            remedy="install the version of bbj-pipeline that made it, or a later one",
        )
    done = []
    for path in files:
        text = path.read_text(encoding="utf-8")
        checksum = hashlib.sha256(text.encode()).hexdigest()
        if path.stem not in applied:
            _apply_one(connection, path.stem, text, checksum)
            done.append(path.stem)
        elif applied[path.stem] != checksum:
            raise SchemaError(
                f"the migration {path.stem} was changed after it was applied",
                remedy="restore the file and put the change into a new migration",
            )
    return done


def _apply_one(connection: Connection, name: str, text: str, checksum: str) -> None:
    try:
        with connection.transaction():
            connection.execute(text)  # the project's own file, shipped with the code
            connection.execute("insert into schema_migrations (name, checksum) values (%s, %s)", (name, checksum))
    except psycopg.errors.InsufficientPrivilege as error:
        raise SchemaError(
            f"the migration {name} was refused ({str(error).splitlines()[0]})",
            remedy="run 'bbj-pipeline migrate' as a role that may create extensions and tables",
        ) from None
