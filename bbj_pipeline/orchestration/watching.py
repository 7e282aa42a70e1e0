"""What is remembered of one watched export, and what a tick makes of it: wait, request a run, follow it, request it again.

An export is complete when its marker was written anew or, without a marker, when looks at it stayed the same for long enough.
Elapsed time is the watching process's own monotonic clock; a restart of that process only makes it wait longer.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import dagster as dg

from bbj_pipeline.orchestration.failures import failed_steps
from bbj_pipeline.orchestration.marked_export import waits_for
from bbj_pipeline.sources.change_tokens import Look, content_digest, look_at
from bbj_pipeline.sources.config import ConfiguredInstance

__all__ = ["MAX_ATTEMPTS", "RETRY_SECONDS", "Clock", "Moment", "Watched", "process_clock", "watch"]

MAX_ATTEMPTS = 3
"""Runs of one content at most; after that the nightly run goes on trying."""
RETRY_SECONDS = 600.0
"""Time before a failed content is requested again, doubled each time: 10 and 20 minutes."""
_LOST_SECONDS = 300.0
"""Time after which a requested run that nobody has seen is requested again, under the same key."""
_RUN_KEY = "dagster/run_key"
_PROCESS = uuid.uuid4().hex


@dataclass(frozen=True, slots=True)
class Moment:
    """A reading of a monotonic clock, in seconds, and which process's clock it is."""

    process: str
    seconds: float

    def since(self, saved: list[Any] | None) -> float:
        """Return the seconds since a saved moment of the same process; 0 across processes, whose clocks cannot be compared."""
        return max(0.0, self.seconds - float(saved[1])) if saved and saved[0] == self.process else 0.0

    def saved(self) -> list[Any]:
        """Return this moment as a cursor keeps it."""
        return [self.process, self.seconds]


Clock = Callable[[], Moment]


def process_clock() -> Moment:
    """Read this process's monotonic clock."""
    return Moment(_PROCESS, time.monotonic())


@dataclass(frozen=True, slots=True)
class Watched:
    """One export as the cursor keeps it: the last look and since when it is the same, the content last requested, its run."""

    listing: str | None = None
    rested: float = 0.0
    settled: str | None = None
    """The listing, or the marker's state, whose content is known."""
    requested: str | None = None
    """The digest of the content last requested."""
    number: int = 0
    """How many contents were requested: a content that comes back after another one is a new request."""
    attempt: int = 0
    waiting: float = 0.0
    """Seconds since the run was requested, or since it failed."""
    followed: bool = False
    """Whether the end of the requested run is still awaited."""
    failed: bool = False
    """Whether that run failed in a way that is worth another attempt."""


def watch(
    item: ConfiguredInstance, before: Watched, elapsed: float, instance: dg.DagsterInstance
) -> tuple[Watched, str | None]:
    """Return what is known of an export after one more look, and the key of the run to request, if any.

    Dagster remembers a key for ever; it names the instance and the digest of the content. ``elapsed`` is the time since the
    look before, in seconds. Raises ``OSError`` when the store does not answer.
    """
    options = item.options
    location = options.mirror or options.path
    if location is None:
        return before, None
    look = look_at(location, options.marker)
    rested = before.rested + elapsed if look.listing == before.listing else 0.0
    seen = replace(before, listing=look.listing, rested=rested)
    state = _complete(look, before, rested, options.marker, options.quiet_seconds)
    if state is not None and state != before.settled:
        try:
            content = content_digest(location, options.marker)
        except FileNotFoundError:  # it changed while it was read: not complete after all
            return replace(seen, listing=None), None
        if content != before.requested:
            return _request(item, _first_attempt(seen, state, content))
        seen = replace(seen, settled=state)
    return _follow(item, seen, elapsed, instance)


def _complete(look: Look, before: Watched, rested: float, marker: str | None, quiet_seconds: float) -> str | None:
    """Return the state that is complete: the marker's, or that of a listing that rests; ``None`` while it is not."""
    if look.listing is None:
        return None
    if marker is not None:
        return look.marker
    return look.listing if look.listing == before.listing and rested >= quiet_seconds else None


def _first_attempt(seen: Watched, state: str, content: str) -> Watched:
    return Watched(
        listing=seen.listing,
        rested=seen.rested,
        settled=state,
        requested=content,
        number=seen.number + 1,
        attempt=1,
        followed=True,
    )


def _request(item: ConfiguredInstance, state: Watched) -> tuple[Watched, str]:
    return state, _key(item, state)


def _key(item: ConfiguredInstance, state: Watched) -> str:
    again = f":attempt{state.attempt}" if state.attempt > 1 else ""
    return f"{item.ref}:{state.number}:{state.requested}{again}"


def _follow(
    item: ConfiguredInstance, seen: Watched, elapsed: float, instance: dg.DagsterInstance
) -> tuple[Watched, str | None]:
    """Look how the requested run went; one that failed for want of something outside is requested again after a while."""
    if seen.failed:
        waited = replace(seen, waiting=seen.waiting + elapsed)
        if waited.waiting < RETRY_SECONDS * 2 ** (seen.attempt - 1):
            return waited, None
        return _request(item, replace(waited, attempt=seen.attempt + 1, waiting=0.0, followed=True, failed=False))
    if not seen.followed:
        return seen, None
    runs = instance.get_runs(dg.RunsFilter(tags={_RUN_KEY: _key(item, seen)}), limit=1)
    if not runs:
        waited = replace(seen, waiting=seen.waiting + elapsed)
        return (waited, None) if waited.waiting < _LOST_SECONDS else _request(item, replace(waited, waiting=0.0))
    if not runs[0].is_finished:
        return replace(seen, waiting=0.0), None
    if waits_for(runs[0]) is not None:  # it found the next copy begun: that one's marker will be a new state
        return replace(seen, requested=None, waiting=0.0, followed=False), None
    again = seen.attempt < MAX_ATTEMPTS and _worth_retrying(instance, runs[0])
    return replace(seen, waiting=0.0, followed=False, failed=again), None


def _worth_retrying(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """A rejected input, a failed check and a bug stay what they are; what did not answer, and a run that crashed, may not."""
    if run.status != dg.DagsterRunStatus.FAILURE:
        return False
    failures = failed_steps(instance, run.run_id)
    return not failures or any(failure.retryable for failure in failures)
