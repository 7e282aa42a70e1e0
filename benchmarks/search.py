"""Searching a large corpus: rows, recall, and milliseconds beside a plain-SQL hybrid query with ``ts_rank`` in the same run.

    python -m benchmarks.search [--chunks N] [--dimension N] [--queries N] [--clients N ...] [--real] [--folder PATH]

Publishes a synthetic corpus into a database of its own, in a temporary folder or in ``--folder``, which is kept: what is
published there already is not published again, so that a large corpus is built once. ``--real`` mixes in the texts that the
database of the settings serves. "End to end" is a whole search with the embedding of its question by the offline model, whose
vector is then replaced by the corpus's own. With one client the processor time of the server is measured too. Nothing is
asserted: numbers are for people.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from psycopg import sql
from pydantic import SecretStr

from bbj_pipeline.models import load_embedder
from bbj_pipeline.retrieval import Searcher, SearchResponse
from bbj_pipeline.retrieval.dense import DenseLeg
from bbj_pipeline.retrieval.legs import Filter
from bbj_pipeline.settings import load_settings
from bbj_pipeline.stages.contract import Vector
from bbj_pipeline.storage.database import Connection, Database, open_database
from bbj_pipeline.storage.embedded import start_embedded_server
from bbj_pipeline.storage.lexical import admitted
from bbj_pipeline.storage.migrations import migrate
from bbj_pipeline.storage.publications import status
from bbj_pipeline.storage.publishing import publish
from bbj_pipeline.storage.spaces import active_space
from benchmarks.large import LABELS, SHARES, Corpus, Known

K = 20
CASES: dict[str, tuple[dict[str, Any], Filter]] = {
    "no filter": ({}, Filter()),
    "hint dwc": ({"generation": "dwc"}, Filter(hinted=("dwc", "all"))),
    "hint vpro5": ({"generation": "vpro5"}, Filter(hinted=("vpro5", "all"))),
    "strict dwc": ({"generation": "dwc", "strict": True}, Filter(generations=("dwc", "all"))),
    "strict vpro5": ({"generation": "vpro5", "strict": True}, Filter(generations=("vpro5", "all"))),
    "one kind, 5.8 %": ({"kinds": ["wordpress"]}, Filter(kinds=("wordpress",))),
    "one kind, 0.1 %": ({"kinds": ["pdf"]}, Filter(kinds=("pdf",))),
    "version 9": ({"version": "9"}, Filter(version=999)),
}
ONLY_RARE = Filter(generations=("vpro5",))
"""The label of 1.8 % alone, without the universal documents that a search always admits."""

Work = Callable[[int], Any]
"""Asks the question of that number."""
Begin = Callable[[], Work]

PLAIN = """
with dense as (
    select id, row_number() over (order by embedding <=> %(embedding)s) as place
    from doc_chunks order by embedding <=> %(embedding)s limit 20
), words as (
    select id, row_number() over (order by ts_rank_cd(search_vector, q) desc) as place
    from doc_chunks, to_tsquery('english', %(any_term)s) as q
    where search_vector @@ q order by ts_rank_cd(search_vector, q) desc limit 20
)
select id, coalesce(0.7 / (60 + dense.place), 0) + coalesce(0.3 / (60 + words.place), 0) as score
from dense full join words using (id) order by score desc limit 5
"""


class Server:
    """The processor time of an embedded server: comparable where a wall clock also counts the neighbours of a machine."""

    def __init__(self, folder: Path) -> None:
        self._postmaster = psutil.Process(int((folder / "postmaster.pid").read_text().split()[0]))
        self._known: dict[int, int] = {}

    def seconds(self) -> float:
        """Processor seconds of all backends so far; of one that ended, what was last seen of it."""
        for child in self._postmaster.children():
            path = Path(f"/proc/{child.pid}/schedstat")
            if path.exists():
                self._known[child.pid] = int(path.read_text().split()[0])
        return sum(self._known.values()) / 1e9


@contextmanager
def kept_database(folder: Path) -> Iterator[tuple[Database, Server]]:
    """The database of a folder, made when it is not there; its server stops when the process ends."""
    server = Database(SecretStr(start_embedded_server(folder / "postgres")))
    with Database(server.ensure_database("bench")) as database:
        migrate(database)
        yield database, Server(folder / "postgres")


@contextmanager
def fresh_database() -> Iterator[tuple[Database, Server]]:
    """A migrated database on an embedded server of its own, which stops when the process ends."""
    with tempfile.TemporaryDirectory(prefix="bbj-bench-", ignore_cleanup_errors=True) as folder:
        server = Database(SecretStr(start_embedded_server(Path(folder) / "postgres")))
        with Database(server.ensure_database("bench")) as database:
            migrate(database)
            yield database, Server(Path(folder) / "postgres")
        with server.direct_connection() as connection:
            connection.execute("drop database bench with (force)")


def real_texts() -> list[tuple[str, str, str]]:
    """Title, header and content of all chunks that the database of the settings serves."""
    with open_database(load_settings()) as database, database.connection() as connection:
        rows = connection.execute("select title, contextual_header, content from doc_chunks order by id").fetchall()
    return [(title, header, content) for title, header, content in rows]


def load(database: Database, corpus: Corpus) -> float:
    """Publish every instance that is not published yet; return seconds."""
    begun = time.perf_counter()
    there = {(item.kind, item.instance) for item in status(database)}
    for ref, positions in corpus.instances().items():
        if (ref.kind, ref.instance) in there:
            continue
        publish(
            database, ref, rows=lambda ref=ref, positions=positions: corpus.rows(ref, positions),  # type: ignore[misc]
            fingerprint=f"synthetic:{corpus.dimension}", dimension=corpus.dimension, input_version="1", run_id="bench",
            code_versions={},
        )  # fmt: skip
    return time.perf_counter() - begun


def percentiles(milliseconds: Sequence[float]) -> str:
    return " | ".join(f"{value:.1f}" for value in np.percentile(milliseconds, [50, 95, 99]))


def recall(database: Database, questions: Sequence[tuple[str, Vector]], condition: Filter) -> tuple[float, int, int, str]:
    """Mean recall@20 of the dense leg against exact search, the fewest rows it gave, rows admitted, and its path.

    With a hint the truth is the nearest 20 of all and the nearest 20 that fit it.
    """
    shares, fewest, path = [], K, ""
    with database.snapshot(timeout=60) as connection:
        space = active_space(connection)
        assert space is not None
        among = admitted(connection, space, condition.values, filtered=not condition.is_open)
        for _, vector in questions:
            found = DenseLeg(connection, space, vector).search(among, K)
            path = found.path
            truth = exact(connection, space.chunks, vector, among.facets)
            if among.hinted is not None:
                truth |= exact(connection, space.chunks, vector, among.hinted)
            rows = [identity for identity, _ in found.items]
            fewest = min(fewest, len(rows))
            shares.append(len(set(rows) & truth) / max(1, len(truth)))
    return float(np.mean(shares)), fewest, among.matching, path


def exact(connection: Connection, chunks: sql.Identifier, vector: Vector, facets: Sequence[int] | None) -> set[str]:
    statement = sql.SQL(
        "with matching as materialized (select id, embedding <=> %(v)s as d from {}"
        " where %(f)s::integer[] is null or facet = any(%(f)s::integer[])) select id from matching order by d, id limit %(k)s"
    ).format(chunks)
    values = {"v": vector, "f": None if facets is None else list(facets), "k": K}
    return {row[0] for row in connection.execute(statement, values)}


def timed(work: Work, count: int, clients: int) -> tuple[list[Any], list[float], float]:
    """Run ``work`` for each number in ``clients`` threads; return results, milliseconds of each, and calls a second."""

    def one(number: int) -> tuple[Any, float]:
        begun = time.perf_counter()
        result = work(number)
        return result, (time.perf_counter() - begun) * 1000

    begun = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        pairs = list(pool.map(one, range(count)))
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs], count / (time.perf_counter() - begun)


def plain(database: Database, question: str, vector: Vector) -> list[Any]:
    """The blueprint's two statements as one: nearest 20, any-term ``ts_rank_cd`` 20, fused."""
    any_term = " | ".join(word for word in question.split() if word.isalnum())
    with database.snapshot(timeout=60) as connection:
        return connection.execute(PLAIN, {"embedding": vector, "any_term": any_term}).fetchall()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chunks", type=int, default=sum(SHARES.values()))
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--clients", type=int, nargs="*", default=[8])
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    corpus = Corpus(asked.chunks, asked.dimension, real=real_texts() if asked.real else ())
    questions = corpus.questions(asked.queries)
    place = fresh_database() if asked.folder is None else kept_database(asked.folder)
    with place as (database, server):
        seconds = load(database, corpus)
        print(f"{asked.chunks:,} chunks, {asked.dimension} dimensions, {len(corpus.real):,} real texts")
        print(f"published in {seconds:.0f} s")
        print_recall(database, questions[:50])
        embedder = Known(corpus, questions, load_embedder(load_settings()))
        print_one_client(server, begins(database, questions, embedder), len(questions))
        for clients in asked.clients:
            print_clients(clients, begins(database, questions, embedder), len(questions))


def begins(database: Database, questions: Sequence[tuple[str, Vector]], embedder: Known) -> dict[str, Begin]:
    """How each kind of search is begun: with a searcher of its own, which remembers no question of an earlier run."""

    def ours(options: dict[str, Any]) -> Work:
        searcher = Searcher(database, embedder)
        return lambda n: searcher.search(questions[n][0], explain=True, **options)

    kinds: dict[str, Begin] = {name: partial(ours, options) for name, (options, _) in CASES.items()}
    kinds["plain SQL, ts_rank_cd"] = lambda: lambda n: plain(database, *questions[n])
    return kinds


def print_recall(database: Database, questions: Sequence[tuple[str, Vector]]) -> None:
    """Rows, path and recall by filter."""
    print("\n| filter | rows admitted | path | fewest of 20 rows | recall@20 |\n|---|---|---|---|---|")
    conditions = {name: case[1] for name, case in CASES.items()} | {f"only vpro5, {LABELS[5][1]:.1%}": ONLY_RARE}
    for name, condition in conditions.items():
        share, fewest, matching, path = recall(database, questions, condition)
        print(f"| {name} | {matching:,} | {path} | {fewest} | {share:.3f} |", flush=True)


def print_one_client(server: Server, kinds: dict[str, Begin], count: int) -> None:
    """Processor time of the server, milliseconds in its statements, and of whole searches, one at a time."""
    print("\n| one client | server CPU p50 | p95 | p99 | database p50 | p95 | p99 | end to end p50 | p95 | p99 |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, begin in kinds.items():
        spent = processor(server, begin(), count)
        results, total, _ = timed(begin(), count, 1)
        print(f"| {name} | {percentiles(spent)} | {database_part(results)} | {percentiles(total)} |", flush=True)


def print_clients(clients: int, kinds: dict[str, Begin], count: int) -> None:
    """The same of searches side by side, and searches a second."""
    print(f"\n| {clients} clients | database p50 | p95 | p99 | end to end p50 | p95 | p99 | a second |")
    print("|---|---|---|---|---|---|---|---|")
    for name, begin in kinds.items():
        results, total, rate = timed(begin(), count, clients)
        print(f"| {name} | {database_part(results)} | {percentiles(total)} | {rate:.0f} |", flush=True)


def processor(server: Server, work: Work, count: int) -> list[float]:
    """Milliseconds of the server's processor time of each call."""
    spent = []
    for number in range(count):
        before = server.seconds()
        work(number)
        spent.append((server.seconds() - before) * 1000)
    return spent


def database_part(results: Sequence[Any]) -> str:
    """Percentiles of the milliseconds spent in statements; nothing for what is no search."""
    parts = ("filter", "dense", "lexical", "completed", "fetch", "copies", "links")
    if not all(isinstance(result, SearchResponse) for result in results):
        return " | | "
    return percentiles([sum(result.explain["milliseconds"][part] for part in parts) for result in results])


if __name__ == "__main__":
    main()
