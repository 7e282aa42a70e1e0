"""What readers see and what is left when publishing is killed, its server is killed, its disk is full, or two publish at once.

    python -m benchmarks.kill [--points N] [--documents N] [--seed S] [--only SCENARIO]...

Every database is a private server in a fresh folder. Each version of the one instance replaces all its documents, adds one and
removes one; every chunk carries the version's number. Readers run all the time; a read takes one snapshot of the chunks, the
record of the publication and the documents, and must find all of one version. After each blow the state must be the old or the
new version, and publishing again must complete. The process ends with 1 when a read or a state was neither.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil
from pydantic import SecretStr

from bbj_pipeline.errors import DatabaseUnavailable, PipelineError
from bbj_pipeline.records import Chunk, InstanceRef
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.embedded import start_embedded_server
from bbj_pipeline.storage.migrations import migrate
from bbj_pipeline.storage.publishing import PublishRow, publish
from bbj_pipeline.storage.rollback import kept_publications, rollback

REF = InstanceRef("mdx", "campaign")
DIMENSION = 64
CHUNKS = 4
READERS = 2
SCENARIOS = ("publish", "rollback", "database", "disk", "two")
_READ = """
select
    (select array_agg(distinct split_part(content, ' ', 1)) from doc_chunks),
    (select count(*) from doc_chunks),
    (select (counts ->> 'chunks')::bigint from publications where is_current),
    (select split_part(content_version, ':', 1) from publications where is_current),
    (select count(*) from documents),
    (select count(*) from doc_chunks where search_vector @@ to_tsquery('english', 'campaign'))
"""


@dataclass
class Tally:
    """What one scenario did to the publications, and what was seen."""

    outcomes: Counter[str] = field(default_factory=Counter)
    reads: int = 0
    unavailable: int = 0
    mixed: list[str] = field(default_factory=list)
    seconds: float = 0.0


def rows(version: int, documents: int) -> Iterator[PublishRow]:
    """All chunks of a version: one document fewer than the last had, one more that it had not."""
    vectors = np.random.default_rng(version).standard_normal((documents * CHUNKS, DIMENSION)).astype(np.float32)
    for n in range(documents):
        key = f"extra-{version}.md" if n == version % documents else f"d{n:05}.md"
        for ordinal in range(CHUNKS):
            chunk = Chunk(
                kind=REF.kind, key=key, ordinal=ordinal, section_ordinal=ordinal, title="Campaign", heading_path=("Campaign",),
                contextual_header="Campaign", content=f"v{version} text {n} {ordinal} addWindow()", tokens=8,
                doc_type="concept", generations=("dwc",), raw_key=key, raw_sha256=f"{version:064x}",
            )  # fmt: skip
            yield PublishRow(chunk, vectors[n * CHUNKS + ordinal])


def put(database: Database, version: int, documents: int) -> str:
    result = publish(
        database,
        REF,
        rows=lambda: rows(version, documents),
        fingerprint=f"campaign:{DIMENSION}",
        dimension=DIMENSION,
        input_version=f"v{version}",
        run_id=f"run {version}",
        code_versions={"campaign": "1"},
        approve_deletions=True,
    )
    return result.status


def seen(database: Database, documents: int) -> str:
    """Return the one version a snapshot shows, or a description of what was mixed."""
    found = database.read(lambda connection: connection.execute(_READ).fetchone())
    assert found is not None
    versions, chunks, recorded, record, known, worded = found
    total = documents * CHUNKS
    if versions is not None and versions == [record] and (chunks, recorded, known, worded) == (total, total, documents, total):
        return str(record)
    return f"mixed: {found}"


class Readers:
    """Threads that read in a loop and note every snapshot that is not one whole version."""

    def __init__(self, database: Database, documents: int, tally: Tally) -> None:
        self._database, self._documents, self._tally = database, documents, tally
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._read) for _ in range(READERS)]

    def __enter__(self) -> Readers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _read(self) -> None:
        while not self._stop.is_set():
            try:
                version = seen(self._database, self._documents)
            except DatabaseUnavailable:
                self._tally.unavailable += 1
                time.sleep(0.05)
                continue
            self._tally.reads += 1
            time.sleep(0.002)  # the two cores are also those of what is to be struck
            if version.startswith("mixed"):
                self._tally.mixed.append(version)


@dataclass
class Campaign:
    """A private server with versions 0 and 1 published, and what a scenario needs of it; ``version`` is the last."""

    folder: Path
    database: Database
    documents: int
    draw: random.Random
    version: int = 1

    def begin(self, tally: Tally) -> None:
        """Publish the next version undisturbed, and note how long that takes."""
        self.version += 1
        tally.seconds = self.measured("publish", str(self.version))

    def measured(self, *arguments: str) -> float:
        """Return the seconds an undisturbed worker takes from ``go`` to its end."""
        process = self.worker(*arguments)
        started = time.perf_counter()
        process.communicate("go\n")
        return time.perf_counter() - started

    def started(self, *arguments: str) -> subprocess.Popen[str]:
        """A worker that was just told to go."""
        process = self.worker(*arguments)
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
        return process

    def worker(self, *arguments: str) -> subprocess.Popen[str]:
        """A process that is loaded and connected and waits for ``go``."""
        command = [sys.executable, "-m", "benchmarks.kill", "--worker", self.database.url.get_secret_value(), *arguments]
        process = subprocess.Popen(
            [*command, "--documents", str(self.documents)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    def settled(self, tally: Tally, old: str, new: str) -> str:
        """Return which of two versions is there now; anything else is noted as mixed."""
        version = seen(self.database, self.documents)
        if version not in (old, new):
            tally.mixed.append(f"left {version}, expected {old} or {new}")
        return "old" if version == old else "new" if version == new else "neither"

    def finish(self, tally: Tally, version: int) -> None:
        """Publish again and expect the version whole."""
        put(self.database, version, self.documents)
        if seen(self.database, self.documents) != f"v{version}":
            tally.mixed.append(f"a re-run of v{version} did not complete")
        tally.outcomes["re-run completed"] += 1


@contextlib.contextmanager
def campaign(documents: int, seed: int, folder: Path | None = None, **server: str) -> Iterator[Campaign]:
    """Start a private server and publish versions 0 and 1."""
    home = folder or Path(tempfile.mkdtemp(prefix="bbj-kill-"))
    try:
        server_url = start_embedded_server(home / "postgres")
        with Database(SecretStr(server_url)).direct_connection() as connection:
            for name, value in server.items():
                connection.execute(f"alter system set {name} = '{value}'")
            connection.execute("select pg_reload_conf()")
        with Database(Database(SecretStr(server_url)).ensure_database("campaign"), pool_size=READERS + 2) as database:
            migrate(database)
            for version in (0, 1):
                put(database, version, documents)
            yield Campaign(home, database, documents, random.Random(seed))
    finally:
        kill_server(home)
        if folder is None:
            shutil.rmtree(home, ignore_errors=True)


def kill_server(home: Path) -> None:
    """``kill -9`` of the private server's postmaster; its children follow."""
    with contextlib.suppress(FileNotFoundError, ValueError, psutil.NoSuchProcess):
        process = psutil.Process(int((home / "postgres" / "postmaster.pid").read_text().split("\n", 1)[0]))
        if process.name().startswith("postgres") and str(home / "postgres") in process.cmdline():
            children = process.children(recursive=True)
            process.kill()
            psutil.wait_procs([process, *children], timeout=30)


def strike_process(run: Campaign, points: int) -> Tally:
    """Kill the publishing process at random points."""
    tally = Tally()
    run.begin(tally)
    with Readers(run.database, run.documents, tally):
        for _ in range(points):
            run.version += 1
            strike(run, tally, run.started("publish", str(run.version)))
            tally.outcomes[run.settled(tally, f"v{run.version - 1}", f"v{run.version}")] += 1
            run.finish(tally, run.version)
    return tally


def strike(run: Campaign, tally: Tally, process: subprocess.Popen[str]) -> None:
    """``kill -9`` at a random point of what an undisturbed worker takes; every second one near the end, where the commit is."""
    time.sleep(run.draw.uniform(run.draw.choice((0, 0.8)), 1.1) * tally.seconds)
    process.kill()
    process.communicate()
    tally.outcomes["killed" if process.returncode == -signal.SIGKILL else "was done before"] += 1


def strike_rollback(run: Campaign, points: int) -> Tally:
    """Kill a process that rolls back to the version before at random points."""
    tally = Tally()
    run.begin(tally)
    last, old, new = kept_publications(run.database, REF)[0].publication_id, f"v{run.version}", f"v{run.version - 1}"
    tally.seconds = run.measured("rollback", "0")
    rollback(run.database, REF, to=last, run_id="forward")
    with Readers(run.database, run.documents, tally):
        for _ in range(points):
            strike(run, tally, run.started("rollback", "0"))
            state = run.settled(tally, old, new)
            tally.outcomes[state] += 1
            if state == "old":
                rollback(run.database, REF, run_id="again")
                if seen(run.database, run.documents) != new:
                    tally.mixed.append(f"a re-run of the rollback to {new} did not complete")
                tally.outcomes["re-run completed"] += 1
            rollback(run.database, REF, to=last, run_id="forward")
    return tally


def strike_database(run: Campaign, points: int) -> Tally:
    """Kill the postmaster while a process publishes, and start the server again at once; the process may retry."""
    tally = Tally()
    run.begin(tally)
    with Readers(run.database, run.documents, tally):
        for _ in range(points):
            run.version += 1
            process = run.started("publish", str(run.version))
            time.sleep(run.draw.uniform(0, tally.seconds))
            kill_server(run.folder)
            restart(run.folder)
            tally.outcomes[run.settled(tally, f"v{run.version - 1}", f"v{run.version}")] += 1
            process.communicate()
            tally.outcomes["publishing went on by itself" if process.returncode == 0 else "publishing failed"] += 1
            run.finish(tally, run.version)
    return tally


def restart(folder: Path) -> None:
    """Start the server again as another process would that comes next."""
    script = "import sys; from pathlib import Path; from bbj_pipeline.storage.embedded import start_embedded_server as s"
    subprocess.run([sys.executable, "-c", f"{script}; s(Path(sys.argv[1]))", str(folder / "postgres")], check=True)


def strike_disk(run: Campaign, points: int) -> Tally:
    """Publish on a disk that has room for a part of what is to be written; then make room and publish again."""
    tally = Tally()
    before = shutil.disk_usage(run.folder).free
    run.begin(tally)
    needed = max(1 << 20, before - shutil.disk_usage(run.folder).free)
    ballast = run.folder / "ballast"
    with Readers(run.database, run.documents, tally):
        for _ in range(points):
            run.version += 1
            left = int(run.draw.uniform(0, 0.9) * needed)
            fill(ballast, max(0, shutil.disk_usage(run.folder).free - left))
            try:
                put(run.database, run.version, run.documents)
                tally.outcomes["published all the same"] += 1
            except PipelineError:
                tally.outcomes["refused"] += 1
            ballast.unlink()
            restart(run.folder)
            tally.outcomes[run.settled(tally, f"v{run.version - 1}", f"v{run.version}")] += 1
            run.finish(tally, run.version)
    return tally


def fill(file: Path, size: int) -> None:
    """Take ``size`` bytes of the disk, or all there are."""
    with file.open("wb") as out, contextlib.suppress(OSError):
        os.posix_fallocate(out.fileno(), 0, max(1, size))


def strike_together(run: Campaign, points: int) -> Tally:
    """Let two processes publish two versions at once; in every second round one of them is killed."""
    tally = Tally()
    run.begin(tally)
    with Readers(run.database, run.documents, tally):
        for point in range(points):
            first, second = (run.started("publish", str(run.version + n)) for n in (1, 2))
            if point % 2:
                strike(run, tally, first)
            for process in (first, second):
                process.communicate()
            if second.returncode:
                tally.mixed.append(f"the other run failed with {second.returncode}")
            tally.outcomes["both ended well"] += first.returncode == second.returncode == 0
            run.settled(tally, f"v{run.version + 1}", f"v{run.version + 2}")
            run.version += 2
            run.finish(tally, run.version)
    return tally


STRIKES = {
    "publish": strike_process,
    "rollback": strike_rollback,
    "database": strike_database,
    "disk": strike_disk,
    "two": strike_together,
}
SMALL_DISK = "size=320m"
SMALL_WAL = {"max_wal_size": "64MB", "min_wal_size": "32MB"}


def run_scenario(name: str, points: int, documents: int, seed: int, folder: Path | None = None) -> Tally:
    """Run one scenario on a server of its own; ``folder`` is where its disk is small."""
    with campaign(documents, seed, folder, **(SMALL_WAL if name == "disk" else {})) as run:
        return STRIKES[name](run, points)


def on_small_disk(arguments: list[str]) -> int:
    """Run this script for the disk scenario alone, in a mount namespace where a folder is a small tmpfs.

    Only there is the disk really full, WAL and all: a limit on file sizes would stop neither WAL nor new files.
    """
    folder = tempfile.mkdtemp(prefix="bbj-small-")
    script = 'mount -t tmpfs -o "$1" tmpfs "$2" && chmod 755 "$2" && shift 2 && exec "$@"'
    try:
        command = ["unshare", "--mount", "sh", "-c", script, "sh", SMALL_DISK, folder, *arguments, "--folder", folder]
        return subprocess.run(command, check=False).returncode
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def work(url: str, what: str, version: int, documents: int) -> None:
    """What a worker does: get ready, wait for ``go``, publish or roll back."""
    with Database(SecretStr(url)) as database:
        with database.connection():
            print("ready", flush=True)
        if sys.stdin.readline() == "go\n":
            put(database, version, documents) if what == "publish" else rollback(database, REF, run_id="worker")


def report(name: str, tally: Tally) -> None:
    counted = ", ".join(f"{number} {outcome}" for outcome, number in tally.outcomes.items())
    print(
        f"{name:9} undisturbed {tally.seconds:.1f} s: {counted} | {tally.reads} reads, {tally.unavailable} unavailable,"
        f" {len(tally.mixed)} mixed",
        flush=True,
    )
    for line in tally.mixed[:5]:
        print(f"          {line}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--points", type=int, default=50, help="blows to a publishing process; a fifth of it elsewhere")
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=SCENARIOS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--worker", nargs=3, metavar=("URL", "WHAT", "VERSION"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        url, what, version = asked.worker
        work(url, what, int(version), asked.documents)
        return
    failed = False
    for name in asked.only or SCENARIOS:
        points = asked.points if name == "publish" else max(1, asked.points // 5)
        if name == "disk" and asked.folder is None:
            again = [sys.executable, "-m", "benchmarks.kill", "--points", str(asked.points)]
            again += ["--documents", str(asked.documents), "--seed", str(asked.seed), "--only", "disk"]
            failed |= on_small_disk(again) != 0
            continue
        tally = run_scenario(name, points, asked.documents, asked.seed, asked.folder)
        report(name, tally)
        failed |= bool(tally.mixed)
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
