"""Loading a corpus through a publication, beside a bare ``COPY`` and index build of the same rows; and what an edit costs.

    python -m benchmarks.load [--chunks N ...] [--dimension N] [--edits N] [--only-load | --only-growth]

Each size is loaded twice into a database of its own: by ``publish``, instance by instance with the largest first, and by
``COPY`` into a table of the same columns whose indexes are built afterwards, in steps that are added up:

    narrow       COPY of all columns that a row brings; primary key, HNSW, generations: what vectors and a filter need
    same table   and the search vector, made by the server as the rows come, with its GIN index, and the three B-trees of the
                 served table (document, number, facet)
    with words   and the postings of the lexical index, from the terms of the rows, with their primary key

Then chunks are edited, in an instance of 500 beside all the others and in the largest instance, and published again, and the
same number is deleted. Seconds are processor seconds of server and client together, without those that making up the rows
takes: on a shared machine a wall clock also counts the neighbours. Nothing is asserted: numbers are for people.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from psycopg import sql

from bbj_pipeline.records import InstanceRef
from bbj_pipeline.storage.database import Connection, Database
from bbj_pipeline.storage.publishing import PublishRow, publish
from bbj_pipeline.storage.rows import CHUNK_COLUMNS, COPIED_COLUMNS, chunk_values, identify
from benchmarks.large import Corpus
from benchmarks.search import Server, fresh_database, load

SMALL = InstanceRef("mdx", "small")
SMALL_CHUNKS = 500
TYPES = {name: COPIED_COLUMNS.get(name, kind) for name, kind in CHUNK_COLUMNS.items()} | {"identifiers": "text[]"}

SEARCH_VECTOR = """
alter table bare drop column search_vector, add column search_vector tsvector generated always as (
    setweight(to_tsvector('english', left(title || ' ' || contextual_header, 5000)), 'B')
    || to_tsvector('english', left(content, 50000)) || array_to_tsvector(identifiers)
) stored
"""
POSTINGS = """
create table bare_terms as
select row_number() over ()::integer as id, term, df
from (select term, count(*) as df from bare, unnest(terms) as term group by term) as counted;
alter table bare_terms add primary key (id), add unique (term);
create table bare_postings as
select known.id as term, number as chunk, 1 as facet, listed.tf,
    (select sum(tf) from unnest(bare.tfs) as tf)::smallint as length
from bare cross join unnest(terms, tfs) as listed (word, tf) join bare_terms as known on known.term = listed.word;
alter table bare_postings add primary key (term, chunk) include (facet, tf, length);
"""


def spent(server: Server, work: Callable[[], object]) -> float:
    """Processor seconds of server and client together."""
    before = server.seconds() + time.process_time()
    work()
    return server.seconds() + time.process_time() - before


def bare(database: Database, corpus: Corpus, *, whole: bool) -> None:
    """``COPY`` the rows and build the indexes: the narrow ones, or with the search vector all of the served table."""
    columns = sql.SQL(", ").join(map(sql.Identifier, TYPES))
    with database.connection() as connection:
        connection.execute("drop table if exists bare")
        connection.execute("create table bare (like chunks_1 including storage)")
        connection.execute("alter table bare drop column facet, add column identifiers text[] not null")
        connection.execute("alter table bare alter column number add generated always as identity")
        connection.execute(SEARCH_VECTOR if whole else "alter table bare alter column search_vector drop not null")
        statement = sql.SQL("copy bare ({}) from stdin (format binary)").format(columns)
        with connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types(list(TYPES.values()))
            for ref, positions in corpus.instances().items():
                for row in corpus.rows(ref, positions):
                    copy.write_row(values(row, ref, corpus.dimension))
        connection.execute("set max_parallel_maintenance_workers = 0; set maintenance_work_mem = '512MB'")
        connection.execute("create index on bare using hnsw (embedding vector_cosine_ops) with (m = 24, ef_construction = 200)")
        connection.execute("create index on bare using gin (generation)")
        connection.execute("alter table bare add primary key (id)")
        if whole:
            connection.execute("create index on bare using gin (search_vector)")
            connection.execute("create index on bare (kind, instance, doc_key, ordinal)")
            connection.execute("create unique index on bare (number)")
            connection.execute("create index on bare (doc_type)")  # in place of the facet: as many values, as long


def values(row: PublishRow, ref: InstanceRef, dimension: int) -> list[Any]:
    """The row's values in the order of ``TYPES``: a bare COPY brings arrays as arrays."""
    *single, term_list, tf_list, identifier_list = chunk_values(
        row, ref, identify(row.chunk, ref), dimension=dimension, publication_id=1
    )
    return [*single, term_list.split(), [int(tf) for tf in tf_list.split()], identifier_list.split()]


def postings(database: Database) -> None:
    """Make the lexical index of the bare table, all at once."""
    with database.connection() as connection:
        connection.execute("set max_parallel_maintenance_workers = 0; set maintenance_work_mem = '512MB'")
        connection.execute(POSTINGS)


def make(corpus: Corpus) -> None:
    """Make up all rows and forget them."""
    for ref, positions in corpus.instances().items():
        for _ in corpus.rows(ref, positions):
            pass


@dataclass(frozen=True)
class Changes:
    """Publishes changed versions of one instance and tells what that took, making up its rows not counted."""

    database: Database
    server: Server
    corpus: Corpus
    ref: InstanceRef
    positions: range

    def put(self, version: str, *, edited: int = 0, dropped: int = 0) -> float:
        """Publish all rows but the last ``dropped``, the first ``edited`` with another text."""
        kept = self.positions[: len(self.positions) - dropped]

        def rows() -> Iterator[PublishRow]:
            return self.corpus.rows(self.ref, kept, frozenset(self.positions[:edited]))

        fingerprint = f"synthetic:{self.corpus.dimension}"
        made = spent(self.server, lambda: deque(rows(), maxlen=0))
        result = spent(
            self.server,
            lambda: publish(
                self.database, self.ref, rows=rows, fingerprint=fingerprint, dimension=self.corpus.dimension,
                input_version=version, run_id="bench", code_versions={},
            ),
        )  # fmt: skip
        return result - made

    def measure(self, edits: int) -> tuple[float, float]:
        """Return the least processor seconds of three edits, and those of one deletion of as many chunks."""
        edited = min(self.put(f"e{n}", edited=n * edits) for n in (1, 2, 3))
        return edited, self.put("d", edited=3 * edits, dropped=edits)


def sizes(connection: Connection) -> str:
    """Megabytes of chunks, their HNSW index, the postings and their index."""
    names = ("chunks_1", "chunks_1_hnsw", "postings_1", "postings_1_pkey")
    rows = (connection.execute("select pg_table_size(%s::regclass) / 1e6", (name,)).fetchone() for name in names)
    return " | ".join(f"{row[0]:.0f}" for row in rows if row)


def baselines(database: Database, corpus: Corpus, server: Server, made: float) -> Iterator[tuple[str, float]]:
    """Yield the processor seconds of the three bare loads, the narrowest first."""
    yield "bare, narrow", spent(server, lambda: bare(database, corpus, whole=False)) - made
    same = spent(server, lambda: bare(database, corpus, whole=True)) - made
    yield "bare, same table", same
    yield "bare, with words", same + spent(server, lambda: postings(database))
    with database.connection() as connection:
        connection.execute("drop table bare, bare_terms, bare_postings")


def grown(database: Database, corpus: Corpus, server: Server, edits: int) -> str:
    """What edits and deletions cost in a small instance beside all others, and in the largest one."""
    small = Changes(database, server, corpus, SMALL, range(SMALL_CHUNKS))
    small.put("0")
    largest, positions = next(iter(corpus.instances().items()))
    beside = small.measure(edits)
    inside = Changes(database, server, corpus, largest, positions).measure(edits)
    return (
        f"{edits} edits, then deletions: {beside[0]:.2f}, {beside[1]:.2f} s in an instance of {SMALL_CHUNKS} beside the others;"
        f" {inside[0]:.2f}, {inside[1]:.2f} s in the largest, of {len(positions):,}"
    )


def peak() -> float:
    """Megabytes that this process held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chunks", type=int, nargs="*", default=[5_000, 51_134])
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--edits", type=int, default=50)
    parser.add_argument("--only-load", action="store_true", help="Without edits and deletions.")
    parser.add_argument("--only-growth", action="store_true", help="Without the bare loads.")
    asked = parser.parse_args()
    for count in asked.chunks:
        corpus = Corpus(count, asked.dimension)
        with fresh_database() as (database, server):
            made = spent(server, lambda corpus=corpus: make(corpus))  # type: ignore[misc]
            published = spent(server, lambda database=database, corpus=corpus: load(database, corpus)) - made  # type: ignore[misc]
            with database.connection() as connection:
                space = sizes(connection)
            print(f"{count:,} chunks: published in {published:.1f} s; MB of chunks, HNSW, postings, their index: {space}")
            print(f"  client, peak: {peak():.0f} MB", flush=True)
            if not asked.only_growth:
                for name, seconds in baselines(database, corpus, server, made):
                    print(f"  {name}: {seconds:.1f} s, a publication takes {published / seconds:.2f} times as long", flush=True)
            if not asked.only_load:
                print("  " + grown(database, corpus, server, asked.edits))
                print(f"  client, peak: {peak():.0f} MB", flush=True)


if __name__ == "__main__":
    main()
