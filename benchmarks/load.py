"""Loading a corpus through a publication, beside a bare ``COPY`` and index build of the same rows; and what an edit costs.

    python -m benchmarks.load [--chunks N ...] [--dimension N] [--edits N]

Each size is loaded twice into a database of its own: by ``publish``, instance by instance, and by ``COPY`` into a table of the
same columns whose indexes (primary key, HNSW, generations) are built afterwards. Then 50 chunks are edited, in an instance of
500 beside all the others, and published again. Seconds are processor seconds of server and client together, without those that
making up the rows takes: on a shared machine a wall clock also counts the neighbours. Nothing is asserted: numbers are for
people.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Iterator

from psycopg import sql

from bbj_pipeline.records import InstanceRef
from bbj_pipeline.storage.database import Connection, Database
from bbj_pipeline.storage.publishing import PublishRow, publish
from bbj_pipeline.storage.rows import CHUNK_COLUMNS, chunk_types, chunk_values
from benchmarks.large import Corpus
from benchmarks.search import Server, fresh_database, load

SMALL = InstanceRef("mdx", "small")
SMALL_CHUNKS = 500


def spent(server: Server, work: Callable[[], object]) -> float:
    """Processor seconds of server and client together."""
    before = server.seconds() + time.process_time()
    work()
    return server.seconds() + time.process_time() - before


def bare(database: Database, corpus: Corpus) -> None:
    """``COPY`` the rows and build the indexes; all columns but the search vector, which no row brings."""
    columns = sql.SQL(", ").join(map(sql.Identifier, [*CHUNK_COLUMNS, "identifiers"]))
    with database.connection() as connection:
        connection.execute("create table bare (like chunks_1)")
        connection.execute("alter table bare drop column number, drop column facet, add column identifiers text[] not null")
        connection.execute("alter table bare alter column search_vector drop not null")
        connection.execute("alter table bare alter column embedding set storage plain")
        statement = sql.SQL("copy bare ({}) from stdin (format binary)").format(columns)
        with connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types(chunk_types())
            for ref, positions in corpus.instances().items():
                for row in corpus.rows(ref, positions):
                    copy.write_row(chunk_values(row, ref, dimension=corpus.dimension, publication_id=1))
        connection.execute("set max_parallel_maintenance_workers = 0; set maintenance_work_mem = '512MB'")
        connection.execute("create index on bare using hnsw (embedding vector_cosine_ops) with (m = 16, ef_construction = 64)")
        connection.execute("create index on bare using gin (generation)")
        connection.execute("alter table bare add primary key (id)")


def make(corpus: Corpus) -> None:
    """Make up all rows and forget them."""
    for ref, positions in corpus.instances().items():
        for _ in corpus.rows(ref, positions):
            pass


def edit(database: Database, corpus: Corpus, edits: int, server: Server) -> float:
    """Publish a small instance, then again with some chunks edited, three times; return the least processor seconds."""

    def put(version: str, edited: range) -> None:
        def rows() -> Iterator[PublishRow]:
            return corpus.rows(SMALL, range(SMALL_CHUNKS), frozenset(edited))

        publish(
            database, SMALL, rows=rows, fingerprint=f"synthetic:{corpus.dimension}", dimension=corpus.dimension,
            input_version=version, run_id="bench", code_versions={},
        )  # fmt: skip

    put("0", range(0))
    return min(spent(server, lambda last=last: put(f"{last}", range(last))) for last in (edits, 2 * edits, 3 * edits))  # type: ignore[misc]


def sizes(connection: Connection) -> str:
    """Megabytes of chunks, their HNSW index, the postings and their index."""
    names = ("chunks_1", "chunks_1_hnsw", "postings_1", "postings_1_pkey")
    rows = (connection.execute("select pg_table_size(%s::regclass) / 1e6", (name,)).fetchone() for name in names)
    return " | ".join(f"{row[0]:.0f}" for row in rows if row)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chunks", type=int, nargs="*", default=[5_000, 51_134])
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--edits", type=int, default=50)
    asked = parser.parse_args()
    print("| chunks | publish, s | bare, s | times | 50 edits, s | chunks, MB | HNSW | postings | their index | client, MB |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for count in asked.chunks:
        corpus = Corpus(count, asked.dimension)
        with fresh_database() as (database, server):
            made = spent(server, lambda corpus=corpus: make(corpus))  # type: ignore[misc]
            # A publication reads its rows twice.
            published = spent(server, lambda database=database, corpus=corpus: load(database, corpus)) - 2 * made  # type: ignore[misc]
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            bared = spent(server, lambda database=database, corpus=corpus: bare(database, corpus)) - made  # type: ignore[misc]
            edited = edit(database, corpus, asked.edits, server)
            with database.connection() as connection:
                space = sizes(connection)
        times = published / bared
        print(
            f"| {count:,} | {published:.1f} | {bared:.1f} | {times:.2f} | {edited:.2f} | {space} | {memory:.0f} |", flush=True
        )


if __name__ == "__main__":
    main()
