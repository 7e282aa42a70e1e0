"""Opens the database from the settings and hands out pooled connections.

The only module that decides where PostgreSQL is and what a connection looks like. No statement about chunks lives here, and
no message made here contains a password.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Self, TypeVar
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
from pgvector.psycopg import register_vector
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool
from pydantic import SecretStr

from bbj_pipeline.errors import ConfigurationError, ConnectionLost, DatabaseUnavailable, SchemaError
from bbj_pipeline.settings import Settings
from bbj_pipeline.storage.cancelling import cancellable
from bbj_pipeline.storage.embedded import start_embedded_server

__all__ = ["Connection", "Database", "open_database"]

Connection = psycopg.Connection[tuple[Any, ...]]

DATABASE_NAME = "bbj_pipeline"
"""Name of the pipeline's database on the embedded server."""
MINIMUM_PGVECTOR = (0, 8, 4)
"""Earlier releases have corruption and overflow faults in HNSW."""
CONNECT_SECONDS = 5
POOL_SECONDS = 10.0
POOL_SIZE = 8
STATEMENT_SECONDS = 1800.0
"""The longest statement is the first build of a space's HNSW index; a waiting lock counts as a statement, too."""
READ_SECONDS = 30.0
RETRIES = 3
RETRY_SECONDS = 0.2
DEAD_CLIENT_SECONDS = 5
"""How soon the server notices that the client of a running statement is gone, and lets its locks go."""
T = TypeVar("T")
log = logging.getLogger(__name__)
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())  # each failed attempt; the last is raised here, in one line


class Database:
    """One PostgreSQL database and a pool of connections to it; a context manager that closes the pool.

    ``statement_seconds`` bounds each statement (0: no bound), ``pool_size`` the connections of this process.
    """

    def __init__(self, url: SecretStr, *, statement_seconds: float = STATEMENT_SECONDS, pool_size: int = POOL_SIZE) -> None:
        self.url = url
        self.where = _where(url)
        self._statement_seconds = statement_seconds
        self._pool = ConnectionPool(
            url.get_secret_value(),
            kwargs={
                "autocommit": True,
                "connect_timeout": CONNECT_SECONDS,
                "application_name": DATABASE_NAME,
                # A prepared statement's generic plan knows no filter: the sixth filtered search took 154 instead of 0.6 ms.
                "prepare_threshold": None,
            },
            min_size=0,
            max_size=pool_size,
            configure=self._configure,
            timeout=POOL_SECONDS,
            reconnect_timeout=POOL_SECONDS,
            check=ConnectionPool.check_connection,
            open=False,
        )

    def __enter__(self) -> Self:
        self._pool.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _configure(self, connection: Connection) -> None:
        """Set a new connection's limits. Not as start-up options, which connection poolers refuse."""
        connection.execute(
            "select set_config('statement_timeout', %s, false), set_config('client_connection_check_interval', %s, false)",
            (f"{int(self._statement_seconds * 1000)}ms", f"{DEAD_CLIENT_SECONDS}s"),
        )

    def close(self) -> None:
        """Close the pool; connections in use are closed when they come back."""
        self._pool.close()

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Give a pooled autocommit connection that knows the ``vector`` type; its ``transaction()`` begins a transaction.

        Raises ``DatabaseUnavailable`` when the server is not reached or is lost, and ``SchemaError`` when tables are missing.
        """
        with self._translated(), self._pool.connection() as connection:
            _register_vector(connection)
            with cancellable(connection):
                yield connection

    def retried(self, work: Callable[[Connection], T]) -> T:
        """Return what ``work`` returns on a pooled connection; it is called again when the connection is lost.

        ``work`` must be repeatable: one whole transaction that finds what an earlier attempt committed. Waits grow from
        ``RETRY_SECONDS``; after ``RETRIES`` further attempts ``ConnectionLost`` is raised.
        """
        return _repeated(self.connection, work)

    def read(self, work: Callable[[Connection], T], *, timeout: float = READ_SECONDS) -> T:
        """Return what ``work`` returns in a ``snapshot``; like ``retried``, it is called again when the connection is lost."""
        return _repeated(lambda: self.snapshot(timeout=timeout), work)

    @contextmanager
    def snapshot(self, *, timeout: float) -> Iterator[Connection]:
        """Give a connection inside one read-only transaction: all its statements see the same state of the database.

        ``timeout`` bounds each statement, in seconds; beyond it ``DatabaseUnavailable`` is raised.
        """
        with self.connection() as connection, connection.transaction():
            connection.execute("set transaction isolation level repeatable read, read only")
            # Compiling a statement takes longer than any search; where costs are estimated high it would be done each time.
            settings = "select set_config('statement_timeout', %s, true), set_config('jit', 'off', true)"
            connection.execute(settings, (f"{int(timeout * 1000)}ms",))
            yield connection

    @contextmanager
    def direct_connection(self) -> Iterator[Connection]:
        """Give an autocommit connection of its own, outside the pool and without the ``vector`` type, as migrations need it."""
        with self._translated():
            connection = psycopg.connect(
                self.url.get_secret_value(), autocommit=True, connect_timeout=CONNECT_SECONDS, prepare_threshold=None
            )
            with connection:
                yield connection

    def without_password(self) -> str:
        """Return the connection string without its password, for where others could read it."""
        parts = conninfo_to_dict(self.url.get_secret_value())
        parts.pop("password", None)
        return str(make_conninfo("", **parts))

    def database_uri_for(self, name: str) -> SecretStr:
        """Return the URL of another database on the same server, usable by libpq, psycopg2 and SQLAlchemy."""
        return _with_database(self.url, name)

    def ensure_database(self, name: str) -> SecretStr:
        """Create the database ``name`` on this server unless it exists; return its URL.

        Raises ``SchemaError`` when the role may not create databases.
        """
        with self.direct_connection() as connection:
            _create_database(connection, name)
        return self.database_uri_for(name)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn the driver's errors into this project's, in one line and without secrets."""
        try:
            yield
        except psycopg.errors.QueryCanceled as error:
            raise DatabaseUnavailable(
                f"PostgreSQL at {self.where} stopped a statement ({_first_line(error)})",
                remedy="try again when it is less busy, or raise the time-out",
            ) from None
        except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn) as error:
            raise SchemaError(
                f"the database at {self.where} is not at this version's schema ({_first_line(error)})",
                remedy="run 'bbj-pipeline migrate'",
            ) from None
        except psycopg.errors.InsufficientPrivilege as error:
            raise SchemaError(
                f"the role at {self.where} may not do this ({_first_line(error)})",
                remedy="publish as a member of bbj_writer, search as one of bbj_reader; 'bbj-pipeline migrate' grants them",
            ) from None
        except (psycopg.errors.DiskFull, psycopg.errors.OutOfMemory, psycopg.errors.IoError) as error:
            raise DatabaseUnavailable(
                f"PostgreSQL at {self.where} ran out of room ({_first_line(error)})",
                remedy="free space on the server's disk and run again; what is served is as it was",
            ) from None
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            if _may_succeed_again(error):
                raise ConnectionLost(
                    f"PostgreSQL at {self.where} does not answer ({_first_line(error)})",
                    remedy="start it, or correct BBJ_DATABASE_URL",
                ) from None
            raise DatabaseUnavailable(
                f"PostgreSQL at {self.where} refused a statement ({_first_line(error)})", remedy="read the server's log"
            ) from None


@contextmanager
def open_database(settings: Settings) -> Iterator[Database]:
    """Open the configured database, or start the embedded one; check the server and pgvector.

    Raises ``ConfigurationError`` for a URL that is none, ``DatabaseUnavailable`` when the server is not reached, and
    ``SchemaError`` when pgvector is missing or too old. The schema itself is brought up by ``migrations.migrate``.
    """
    if settings.database_url is not None:
        url = _checked_url(settings.database_url)
    else:
        server = SecretStr(start_embedded_server(settings.data_dir / "postgres"))
        url = Database(server).ensure_database(DATABASE_NAME)
    with Database(url, statement_seconds=settings.statement_seconds, pool_size=settings.pool_size) as database:
        with database.direct_connection() as connection:
            _check_pgvector(connection, database.where)
        yield database


def _repeated(connect: Callable[[], AbstractContextManager[Connection]], work: Callable[[Connection], T]) -> T:
    for attempt in range(RETRIES):
        try:
            with connect() as connection:
                return work(connection)
        except ConnectionLost as error:
            log.warning("attempt %d: %s", attempt + 1, error)
            time.sleep(RETRY_SECONDS * 3**attempt)
    with connect() as connection:
        return work(connection)


def _checked_url(url: SecretStr) -> SecretStr:
    """Return the URL when libpq understands it; its text may hold a password, so no message repeats it."""
    text = url.get_secret_value()
    try:
        if not text.startswith(("postgresql://", "postgres://")):
            raise ValueError("another scheme")
        parts = conninfo_to_dict(text)
        if not all(port.isdigit() for port in str(parts.get("port", 5432)).split(",")):
            raise ValueError("a port that is no number")
        split = urlsplit(text)
        if split.netloc.count("@") > 1 or "@" in split.path + split.query + split.fragment:
            raise ValueError("a password with an unescaped @, /, ? or #: parsers cut it in different places")
    except (ValueError, psycopg.Error):
        raise ConfigurationError(
            "BBJ_DATABASE_URL is not a PostgreSQL URL",
            remedy="write postgresql://user:password@host:port/database, special characters as %XX",
        ) from None
    return url


def _where(url: SecretStr) -> str:
    """Return host, port and database for messages."""
    parts = conninfo_to_dict(url.get_secret_value())
    host = parts.get("host") or "localhost"
    port = "" if str(host).startswith("/") else f":{parts.get('port') or 5432}"
    return f"{host}{port}/{parts.get('dbname') or ''}"


def _with_database(url: SecretStr, name: str) -> SecretStr:
    return SecretStr(urlunsplit(urlsplit(url.get_secret_value())._replace(path="/" + quote(name, safe=""))))


def _create_database(connection: Connection, name: str) -> None:
    try:
        if connection.execute("select from pg_database where datname = %s", (name,)).fetchone() is None:
            connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    except (psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
        return  # another process was faster
    except psycopg.errors.InsufficientPrivilege:
        raise SchemaError(
            f"the database {name!r} does not exist and this role may not create it",
            remedy=f"have an administrator run: create database {name}",
        ) from None


def _check_pgvector(connection: Connection, where: str) -> None:
    row = connection.execute(
        "select coalesce(installed_version, default_version) from pg_available_extensions where name = 'vector'"
    ).fetchone()
    needed = ".".join(map(str, MINIMUM_PGVECTOR))
    if row is None:
        raise SchemaError(f"pgvector is not installed on {where}", remedy=f"install pgvector {needed} or later on the server")
    found = tuple(int(part) for part in str(row[0]).split(".") if part.isdigit())
    if found < MINIMUM_PGVECTOR:
        raise SchemaError(
            f"pgvector on {where} is {row[0]}, {needed} is needed",
            remedy=f"install pgvector {needed} or later and run: alter extension vector update",
        )


def _register_vector(connection: Connection) -> None:
    if connection.adapters.types.get("vector") is None:
        try:
            register_vector(connection)
        except psycopg.ProgrammingError:
            raise SchemaError(
                "nothing was ever published in this database",
                remedy="run 'bbj-pipeline run' first, or point BBJ_DATA_DIR or BBJ_DATABASE_URL to where it was published",
            ) from None


def _may_succeed_again(error: psycopg.Error) -> bool:
    """Tell a lost connection, a shutdown or a lost race (no SQLSTATE; classes 08, 40, 57; all slots taken) from the rest."""
    return error.sqlstate is None or error.sqlstate[:2] in ("08", "40", "57") or error.sqlstate == "53300"


def _first_line(error: psycopg.Error) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
