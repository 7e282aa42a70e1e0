"""Runs the cases of a campaign in processes of their own: one that dies or hangs costs its case, and the campaign goes on."""

from __future__ import annotations

import logging
import multiprocessing
import resource
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path

from benchmarks.fuzz.cases import Outcome, run_case, seeds_of

__all__ = ["SLOW_SECONDS", "Report", "campaign"]

SLOW_SECONDS = 5.0
_HANG_SECONDS = 120.0
_MEMORY = 4 * 1024**3


@dataclass(slots=True)
class Report:
    """What a campaign of one kind came to."""

    kind: str
    outcomes: list[Outcome] = field(default_factory=list)

    def line(self) -> str:
        """Return the counts in one line."""
        seconds = [item.seconds for item in self.outcomes] or [0.0]
        slowest = max(self.outcomes, key=lambda item: item.seconds, default=Outcome(self.kind, 0, 0.0))
        failed = sum(bool(item.problems) for item in self.outcomes)
        slow = sum(item.seconds > SLOW_SECONDS for item in self.outcomes)
        middle = statistics.median(seconds)
        return (
            f"{self.kind}: {len(self.outcomes)} cases, {failed} failed, median {middle * 1000:.1f} ms, slowest"
            f" {slowest.seconds:.2f} s (case {slowest.case}, {slowest.seconds / max(middle, 1e-6):.0f} x median), {slow} over"
            f" {SLOW_SECONDS:g} s"
        )


def campaign(
    kind: str, *, cases: int, seed: int, save: Path | None = None, jobs: int = 1, minutes: float = float("inf")
) -> Report:
    """Run ``cases`` cases of one kind in ``jobs`` processes; a process that dies or hangs costs one case, not the campaign.

    After ``minutes`` it ends with the cases it has reached; the report says how many.
    """
    until = time.monotonic() + 60 * minutes
    seeds_of(kind)  # once, before the processes are forked
    report = Report(kind)
    workers = [_Worker(kind, seed, range(job, cases, jobs), save) for job in range(jobs)]
    while running := [item for item in workers if item.process is not None]:
        wait([item.pipe for item in running], timeout=1.0)
        for item in running:
            report.outcomes.extend(item.collect())
            if time.monotonic() > until:
                item.stop()
    return report


class _Worker:
    """One process and the cases it still has to do; started again behind a case that ended or stopped it."""

    def __init__(self, kind: str, seed: int, cases: range, save: Path | None) -> None:
        self.kind, self.seed, self.cases, self.save = kind, seed, cases, save
        self.process: multiprocessing.process.BaseProcess | None = None
        self._start()

    def _start(self) -> None:
        self.pipe, far = multiprocessing.Pipe(duplex=False)
        self.process = multiprocessing.get_context("fork").Process(
            target=_work, args=(self.kind, self.seed, self.cases, self.save, far), daemon=True
        )
        self.process.start()
        far.close()
        self.since = time.monotonic()

    def collect(self) -> Iterator[Outcome]:
        """Yield what has come; end or restart the process when it is done, dead or stuck."""
        assert self.process is not None
        try:
            while self.pipe.poll():
                outcome: Outcome = self.pipe.recv()
                self.cases = self.cases[1:]
                self.since = time.monotonic()
                yield outcome
        except EOFError:
            self.process.join()
            code, self.process = self.process.exitcode, None
            if self.cases:
                yield from self._lost(f"the process ended with exit code {code}")
            return
        if time.monotonic() - self.since > _HANG_SECONDS:
            self.process.kill()
            self.process.join()
            yield from self._lost(f"no end after {_HANG_SECONDS:g} s")

    def stop(self) -> None:
        """End the process where it is."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None

    def _lost(self, problem: str) -> Iterator[Outcome]:
        yield Outcome(self.kind, self.cases[0], time.monotonic() - self.since, (problem,))
        self.cases = self.cases[1:]
        self.process = None
        if self.cases:
            self._start()


def _work(kind: str, seed: int, cases: range, save: Path | None, pipe: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    logging.disable(logging.CRITICAL)
    for case in cases:
        pipe.send(run_case(kind, seed, case, save))
