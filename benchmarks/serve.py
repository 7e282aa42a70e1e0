"""The service under load: latency, throughput and growth of the real command over the published corpus.

Starts ``bbj-pipeline serve`` on a free port over what ``BBJ_DATA_DIR`` or ``BBJ_DATABASE_URL`` holds. Measures one client,
eight, ``--burst`` requests at the same moment (answered, or refused with Retry-After and asked again), and a soak of
``--seconds``: requests by REST and MCP as fast as eight clients get them, some of whom hang up. Prints latencies, and memory,
descriptors, threads and database connections as the soak goes on.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import httpx
import psutil

from bbj_pipeline.settings import SAMPLES_DIR, load_settings
from bbj_pipeline.storage.database import Database, open_database

PARTS = 6
CONNECTIONS = """
select count(*), count(*) filter (where state <> 'idle')
from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
"""
MCP_HEADERS = {"accept": "application/json, text/event-stream"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=360)
    parser.add_argument("--burst", type=int, default=1000)
    options = parser.parse_args()
    program = str(Path(sys.executable).parent / "bbj-pipeline")
    with (
        open_database(load_settings()) as database,
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen([program, "serve", "--port", "0"], stderr=log) as server,
    ):
        try:
            asyncio.run(measure(address(server, log), psutil.Process(server.pid), database, options))
        finally:
            server.terminate()


def address(server: subprocess.Popen[bytes], log: IO[str]) -> str:
    while server.poll() is None:
        log.seek(0)
        if found := re.search(r"REST: (http://[^/]+)/docs", log.read()):
            return found[1]
        time.sleep(0.2)
    raise SystemExit("the service did not start; see bbj-pipeline serve")


async def measure(url: str, process: psutil.Process, database: Database, options: argparse.Namespace) -> None:
    limits = httpx.Limits(max_connections=options.burst, max_keepalive_connections=64)
    async with httpx.AsyncClient(base_url=url, timeout=120, limits=limits) as client:
        await until_live(client)
        show(process, database, "at the start")
        for clients, count in ((1, 200), (8, 400)):
            report(f"{clients} client(s)", *await many(client, clients, until(count=count)))
        await burst(client, options.burst)
        show(process, database, "warm")
        answered = 0
        for part in range(1, PARTS + 1):
            seconds, statuses, total = await many(client, 8, until(seconds=options.seconds / PARTS), mixed=True)
            report(f"soak {part}/{PARTS}", seconds, statuses, total)
            answered += len(seconds)
            show(process, database, f"after {answered:,}")
        print(f"{answered:,} requests: {answered / 3600:.1f} hours at one a second", flush=True)


def until(*, count: int | None = None, seconds: float | None = None) -> Iterator[int]:
    """Numbers of requests, until there were ``count`` or ``seconds`` have passed."""
    end = None if seconds is None else time.perf_counter() + seconds
    return itertools.takewhile(lambda number: number != count and (end is None or time.perf_counter() < end), itertools.count())


async def until_live(client: httpx.AsyncClient) -> None:
    while True:
        try:
            if (await client.get("/health/ready")).is_success:
                return
        except httpx.TransportError:
            await asyncio.sleep(0.2)


def questions() -> itertools.cycle[dict[str, object]]:
    lines = (SAMPLES_DIR / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    judged = [json.loads(line) for line in lines if line.strip()]
    return itertools.cycle([{"query": item["query"], "generation": item["generation"]} for item in judged])


async def ask(client: httpx.AsyncClient, question: dict[str, object], number: int, *, mixed: bool) -> int:
    """One request; of a mixed load every third is by MCP and every twentieth hangs up."""
    if mixed and number % 20 == 0:
        try:
            await client.post("/search", json=question, timeout=0.005)
        except httpx.TimeoutException:
            return 499
    if mixed and number % 3 == 0:
        call = {"name": "search_bbj_knowledge", "arguments": question}
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}
        return (await client.post("/mcp", json=message, headers=MCP_HEADERS)).status_code
    return (await client.post("/search", json=question)).status_code


async def many(
    client: httpx.AsyncClient, clients: int, numbers: Iterator[int], *, mixed: bool = False
) -> tuple[list[float], Counter[int], float]:
    asked = questions()
    seconds: list[float] = []
    statuses: Counter[int] = Counter()

    async def one() -> None:
        for number in numbers:
            started = time.perf_counter()
            statuses[await ask(client, next(asked), number, mixed=mixed)] += 1
            seconds.append(time.perf_counter() - started)

    started = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(clients)))
    return seconds, statuses, time.perf_counter() - started


async def burst(client: httpx.AsyncClient, count: int) -> None:
    """All at the same moment; a refused one waits as long as it is told and asks again."""
    refused = 0
    asked = questions()

    async def one(question: dict[str, object]) -> float:
        nonlocal refused
        started = time.perf_counter()
        while (answer := await client.post("/search", json=question)).status_code == 503:
            refused += 1
            await asyncio.sleep(float(answer.headers["retry-after"]))
        assert answer.status_code == 200, answer.text
        return time.perf_counter() - started

    started = time.perf_counter()
    seconds = list(await asyncio.gather(*(one(next(asked)) for _ in range(count))))
    report(f"{count} at once", seconds, Counter({200: count, 503: refused}), time.perf_counter() - started)


def report(name: str, seconds: list[float], statuses: Counter[int], total: float) -> None:
    cuts = statistics.quantiles(seconds, n=100)
    shown = " ".join(f"p{p} {cuts[p - 1] * 1000:.0f}" for p in (50, 95, 99))
    print(f"{name}: {len(seconds) / total:.1f}/s, ms: {shown}; {dict(statuses)}", flush=True)


def show(process: psutil.Process, database: Database, when: str) -> None:
    memory = process.memory_info().rss / 1e6
    with database.direct_connection() as connection:
        row = connection.execute(CONNECTIONS).fetchone()
    assert row is not None
    print(
        f"  {when}: {memory:.1f} MB, {process.num_fds()} descriptors, {process.num_threads()} threads,"
        f" {row[0]} database connections, {row[1]} of them at work",
        flush=True,
    )


if __name__ == "__main__":
    main()
