"""Runs the worker process on one PDF and turns its answer into records: pages of spans, the outline, or a ``Reject``.

The bounds of time, memory, pages and work are set here. No layout is decided here.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bbj_pipeline.records import Reject

__all__ = ["Extracted", "Fill", "Limits", "OutlineEntry", "Page", "Rule", "RunWorker", "Span", "extract", "run_worker"]

_WORKER = Path(__file__).with_name("worker.py")
_START_SECONDS = 20
"""Wall-clock time beyond the processor time limit: starting Python on a busy machine, reading and writing pipes."""

RunWorker = Callable[[bytes, float], "subprocess.CompletedProcess[bytes]"]
"""Runs the worker on a request for at most some seconds of wall-clock time; raises ``subprocess.TimeoutExpired``."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one file may cost. ``seconds`` of processor time, ``memory`` in bytes of address space.

    ``page_bytes`` bounds a page's decoded content stream, ``page_operations`` its operators, forms drawn by it included;
    a page over either is left out and named in the topic's metadata. ``characters`` bounds the text of the whole file.
    """

    seconds: int = 120
    pages: int = 5_000
    memory: int = 2 * 1024**3
    page_bytes: int = 16 * 1024**2
    page_operations: int = 2_000_000
    characters: int = 20_000_000


@dataclass(frozen=True, slots=True)
class Span:
    """A run of text in one font: ``x``, ``y`` (from the bottom left), ``size``, and about how wide it is, in points."""

    x: float
    y: float
    size: float
    mono: bool
    bold: bool
    width: float
    text: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A level or upright line drawn on a page, as the box around it, in points from the bottom left."""

    left: float
    bottom: float
    right: float
    top: float


@dataclass(frozen=True, slots=True)
class Fill:
    """A rectangle filled with a colour, which is named by its components as the file writes them."""

    left: float
    bottom: float
    right: float
    top: float
    colour: str


@dataclass(frozen=True, slots=True)
class Page:
    """One page's spans in the file's order, ``None`` where pypdf sees the end of a line, and what is drawn beside them.

    ``number`` counts from 1.
    """

    number: int
    left: float
    bottom: float
    width: float
    height: float
    spans: tuple[Span | None, ...]
    rules: tuple[Rule, ...] = ()
    fills: tuple[Fill, ...] = ()


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """One bookmark: its depth from 1, its title, the page from 1 it leads to, and how high on it (points), if it says so."""

    level: int
    title: str
    page: int
    top: float | None


@dataclass(frozen=True, slots=True)
class Extracted:
    """What the worker found in a file. ``modified`` is the date its metadata gives, ISO 8601 in UTC.

    ``failed`` (broken) and ``skipped`` (over the limits) are numbers of pages whose text is missing.
    """

    title: str | None
    modified: str | None
    pages: tuple[Page, ...]
    outline: tuple[OutlineEntry, ...]
    page_count: int
    failed: tuple[int, ...]
    skipped: tuple[int, ...]
    encrypted: bool
    warnings: int


def run_worker(request: bytes, seconds: float) -> subprocess.CompletedProcess[bytes]:
    """Run the worker in an interpreter of its own."""
    return subprocess.run(  # noqa: S603 - fixed program and arguments; the file and its password go through the pipe
        [sys.executable, "-P", str(_WORKER)],
        input=request,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=seconds,
        check=False,
    )


def extract(
    key: str, content: bytes, *, password: str | None, limits: Limits, run: RunWorker = run_worker
) -> Extracted | Reject:
    """Extract one file in a process of its own; never raises for what is in the file.

    Rejects: ``password-needed``, ``damaged``, ``too-large``, ``too-slow``.
    """
    asked = {
        "password": password,
        "seconds": limits.seconds,
        "memory": limits.memory,
        "pages": limits.pages,
        "page_bytes": limits.page_bytes,
        "page_operations": limits.page_operations,
        "characters": limits.characters,
    }
    try:
        done = run(json.dumps(asked).encode() + b"\n" + content, limits.seconds + _START_SECONDS)
    except subprocess.TimeoutExpired:
        return _too_slow(key, limits)
    return _read(key, done, limits)


def _read(key: str, done: subprocess.CompletedProcess[bytes], limits: Limits) -> Extracted | Reject:
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        # killed by the processor time limit (SIGXCPU or SIGKILL), or out of memory before it could say so
        if done.returncode in (-24, -9):
            return _too_slow(key, limits)
        return Reject(key, "damaged", f"reading it ended the reader (exit {done.returncode})")
    if "reject" in answer:
        code, reason = answer["reject"]
        return Reject(key, code, reason)
    return Extracted(
        title=answer["title"],
        modified=answer["modified"],
        pages=tuple(_page(page) for page in answer["pages"]),
        outline=tuple(OutlineEntry(*entry) for entry in answer["outline"]),
        page_count=answer["page_count"],
        failed=tuple(answer["failed"]),
        skipped=tuple(answer["skipped"]),
        encrypted=answer["encrypted"],
        warnings=answer["warnings"],
    )


def _page(page: dict[str, Any]) -> Page:
    spans = tuple(
        None if span is None else Span(span[0], span[1], span[2], bool(span[3]), bool(span[4]), span[5], span[6])
        for span in page["spans"]
    )
    rules = tuple(Rule(*rule) for rule in page["rules"])
    fills = tuple(Fill(*fill) for fill in page["fills"])
    return Page(page["number"], page["left"], page["bottom"], page["width"], page["height"], spans, rules, fills)


def _too_slow(key: str, limits: Limits) -> Reject:
    return Reject(key, "too-slow", f"not read after {limits.seconds} seconds: raise max_seconds or split the file")
