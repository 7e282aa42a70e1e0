"""Loads SQL by name from the ``sql`` folder and fills in identifiers safely.

No SQL is written here and no connection is opened. Values never pass through here: they are named parameters of the
statement; only identifiers and literals of DDL are composed.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from psycopg import sql

from bbj_pipeline.settings import sql_dir

__all__ = ["migration_files", "query", "template"]


@cache
def _read(folder: str, name: str) -> sql.SQL:
    text = (sql_dir() / folder / f"{name}.sql").read_text(encoding="utf-8")
    return sql.SQL(text)  # the project's own files, shipped with the code


def query(name: str, **parts: sql.Composable) -> sql.Composed:
    """Return ``sql/queries/<name>.sql`` with its ``{placeholders}`` replaced by ``parts``."""
    return _read("queries", name).format(**parts)


def template(name: str, **parts: sql.Composable) -> sql.Composed:
    """Return the DDL ``sql/templates/<name>.sql`` with its ``{placeholders}`` replaced by ``parts``."""
    return _read("templates", name).format(**parts)


def migration_files() -> list[Path]:
    """Return the migrations, ``NNNN_name.sql``, in order."""
    return sorted((sql_dir() / "migrations").glob("[0-9][0-9][0-9][0-9]_*.sql"))
