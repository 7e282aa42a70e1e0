"""The short form of ``benchmarks/kill.py``: a few blows to publishing on a private server; the long form is ``make kill``."""

from __future__ import annotations

from benchmarks.kill import STRIKES, campaign


def test_every_read_sees_one_version_and_what_is_left_is_one() -> None:
    """Killed clients, a killed server: no read is mixed, the state is old or new, a re-run completes."""
    with campaign(documents=40, seed=5) as run:
        for scenario, points in (("publish", 3), ("database", 1)):
            tally = STRIKES[scenario](run, points)
            assert tally.mixed == [], scenario
            assert tally.reads > 0, scenario
            assert tally.outcomes["re-run completed"] + tally.outcomes["new"] >= points, scenario
