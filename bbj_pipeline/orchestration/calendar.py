"""The cadence of refreshes: the nightly default, and how long a schedule pauses at most. Nothing is scheduled here."""

from __future__ import annotations

import datetime
import itertools

from dagster._utils.schedules import schedule_execution_time_iterator

from bbj_pipeline.sources.contract import SourceOptions

__all__ = ["NIGHTLY", "cadence", "longest_pause"]

NIGHTLY = "0 2 * * *"
"""Cron expression of instances that name no schedule of their own."""
_LOOK_AHEAD = 14
"""Ticks of a schedule that are compared: a fortnight of nights, or the weekends of a schedule of working days."""


def cadence(options: SourceOptions) -> tuple[str, str]:
    """Return the cron expression and the time zone in which an instance is refreshed."""
    return options.schedule or NIGHTLY, options.timezone


def longest_pause(cron: str, timezone: str, since: datetime.datetime) -> datetime.timedelta:
    """Return the longest time between two of the next ticks of a schedule."""
    ticks = schedule_execution_time_iterator(since.timestamp(), cron, timezone)
    times = [next(ticks).timestamp() for _ in range(_LOOK_AHEAD)]
    return datetime.timedelta(seconds=max(later - earlier for earlier, later in itertools.pairwise(times)))
