"""Who may do what: the group roles on the embedded server, and ordinary logins on a plain PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from psycopg import sql
from pydantic import SecretStr

from bbj_pipeline.errors import SchemaError
from bbj_pipeline.retrieval import Searcher
from bbj_pipeline.settings import Settings
from bbj_pipeline.storage.database import Database, open_database
from bbj_pipeline.storage.migrations import migrate
from bbj_pipeline.storage.publications import status
from bbj_pipeline.storage.publishing import PublishRow
from bbj_pipeline.storage.retention import Retention, prune
from bbj_pipeline.storage.rollback import rollback
from bbj_pipeline.storage.stage_files import StageStore
from bbj_pipeline_tests.fakes import CountingEmbedder
from bbj_pipeline_tests.storage.chunk_factory import REF, documents, put, served
from bbj_pipeline_tests.storage.plain_server import PASSWORD, PlainServer, plain_server

WIDE = {"fingerprint": "wide:16", "dimension": 16}


def as_role(database: Database, role: str) -> Database:
    """The same database, every connection under ``set role``."""
    return Database(SecretStr(f"{database.url.get_secret_value()}&options=-c%20role%3D{role}"))


def wide(word: str) -> list[PublishRow]:
    return [PublishRow(row.chunk, np.concatenate([row.vector, row.vector])) for row in documents(3, word=word)]


def found(database: Database) -> list[str]:
    response = Searcher(database, CountingEmbedder(fingerprint="test:8")).search("text", limit=3)
    return [hit.chunk.key for hit in response.hits]


def test_a_reader_searches_and_cannot_write(database: Database) -> None:
    """bbj_reader finds what is served and reads provenance; each way of writing is refused."""
    put(database, documents(3), "1")
    put(database, documents(3, word="text new"), "2")
    with as_role(database, "bbj_reader") as reader:
        assert found(reader) == found(database) != []
        assert len(served(reader)) == 6
        assert status(reader) == status(database)
        with reader.connection() as connection:
            assert connection.execute("select count(*) from chunk_provenance").fetchone() == (6,)
        for statement in (
            "delete from chunks_1",
            "insert into embedding_spaces (fingerprint, dimension) values ('x', 1)",
            "update chunks_1 set content = ''",
            "truncate chunks_1_history",
            "create table mine (n int)",
            "drop view doc_chunks",
        ):
            with pytest.raises(SchemaError, match="may not do this"), reader.connection() as connection:
                connection.execute(statement)
        with pytest.raises(SchemaError, match="as a member of bbj_writer"):
            put(reader, documents(3, word="evil"), "3")
        with pytest.raises(SchemaError, match="may not do this"):
            rollback(reader, REF, run_id="r")
    assert {content.split()[1] for _, _, content in served(database)} == {"new"}


def test_a_writer_publishes_switches_rolls_back_and_prunes(database: Database, tmp_path: object) -> None:
    """bbj_writer does all that a run does, makes and replaces what it needs, and cannot touch the record of migrations."""
    with as_role(database, "bbj_writer") as writer:
        put(writer, documents(3), "1")
        put(writer, documents(3, word="new"), "2")
        rollback(writer, REF, run_id="r")
        assert put(writer, wide("wide"), "3", **WIDE).active
        put(writer, wide("wider"), "4", **WIDE)
        retention = Retention(publications=1, days=0)
        removals = prune(writer, StageStore(str(tmp_path)), retention=retention, configured=[REF], spaces=True)
        assert any("retired embedding space 1" in removal.what for removal in removals)
        with pytest.raises(SchemaError, match="may not do this"), writer.connection() as connection:
            connection.execute("delete from schema_migrations")
    with as_role(database, "bbj_reader") as reader:
        assert {content.split()[0] for _, _, content in served(reader)} == {"wider"}


@pytest.fixture(scope="module")
def plain(postgres: Database) -> Iterator[PlainServer]:
    with plain_server() as server:
        yield server


def administer(server: PlainServer, database: str, *statements: str) -> None:
    with Database(server.url("admin", database)).direct_connection() as connection:
        for statement in statements:
            connection.execute(sql.SQL(statement).format(password=sql.Literal(PASSWORD)))  # type: ignore[arg-type]


def test_an_ordinary_owner_needs_no_roles(plain: PlainServer) -> None:
    """The owner of a database who may not make roles migrates, publishes and rolls back; nothing is granted to anyone."""
    administer(plain, "postgres", "create role owner login password {password}", "create database owned owner owner")
    administer(plain, "owned", "create extension vector")
    with open_database(Settings(database_url=plain.url("owner", "owned"))) as database:
        assert migrate(database) != []
        assert migrate(database) == []
        put(database, documents(3), "1")
        put(database, documents(3, word="new"), "2")
        rollback(database, REF, run_id="r")
        assert {content.split()[0] for _, _, content in served(database)} == {"text"}
        assert put(database, wide("wide"), "3", **WIDE).active


def test_logins_of_the_group_roles_share_the_work(plain: PlainServer) -> None:
    """An administrator migrates once; two publishing logins replace each other's tables, a searching login only reads."""
    administer(plain, "postgres", "create database shared")
    with open_database(Settings(database_url=plain.url("admin", "shared"))) as database:
        migrate(database)
    administer(
        plain,
        "shared",
        *(f"create role {login} login password {{password}} in role bbj_writer" for login in ("night", "day")),
        "create role web login password {password} in role bbj_reader",
    )
    with (
        open_database(Settings(database_url=plain.url("night", "shared"))) as night,
        open_database(Settings(database_url=plain.url("day", "shared"))) as day,
        open_database(Settings(database_url=plain.url("web", "shared"))) as web,
    ):
        assert migrate(day) == []
        put(night, documents(3), "1")
        put(day, documents(3, word="new"), "2")
        rollback(night, REF, run_id="r")
        assert found(web) == found(day) != []
        assert put(day, wide("wide"), "3", **WIDE).active
        put(night, wide("wider"), "4", **WIDE)
        assert {content.split()[0] for _, _, content in served(web)} == {"wider"}
        with pytest.raises(SchemaError, match="may not do this"), web.connection() as connection:
            connection.execute("delete from documents")


def test_an_old_pgvector_is_refused_at_the_start(plain: PlainServer) -> None:
    """A database whose pgvector is older than 0.8.4 is not opened; the message names both versions and the remedy."""
    administer(plain, "postgres", "create database old")
    administer(plain, "old", "create extension vector", "update pg_extension set extversion = '0.8.3' where extname = 'vector'")
    with (
        pytest.raises(
            SchemaError, match=r"is 0\.8\.3, 0\.8\.4 is needed: install pgvector 0\.8\.4 or later and run: alter ext"
        ),
        open_database(Settings(database_url=plain.url("admin", "old"))),
    ):
        pass
