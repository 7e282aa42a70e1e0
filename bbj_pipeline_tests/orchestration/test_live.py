"""The platform's own processes, started for real: minutes long, so chosen by hand with ``pytest -m live``."""

from __future__ import annotations

import pytest

from benchmarks import cancel, live, services, tour

pytestmark = [pytest.mark.live, pytest.mark.timeout(1800)]


def test_a_dropped_export_becomes_searchable_by_itself() -> None:
    """A .zip copied in slowly gives one run, the same again none, a changed one one; its new topic is then found. A first and a
    changed export of another instance, materialised alone, are followed by one run of what is below; the same by none."""
    outcome = live.campaign(pieces=3)
    assert outcome.runs == [1, 0, 1]
    assert outcome.automated == [1, 0, 1]
    assert set(outcome.statuses) == {"SUCCESS"}
    assert not outcome.found_before
    assert outcome.found_after


def test_every_composed_service_runs_against_a_real_server() -> None:
    """Each command line of docker-compose.yml starts and is healthy over TCP, a launched run completes, the API finds it."""
    measured = services.campaign()
    assert measured["run"] == "SUCCESS"
    assert measured["hits"] > 0
    assert measured["without a key"] == "status 401"
    assert measured["unwritable"] == []


def test_a_run_cancelled_while_it_embeds_leaves_nothing_taken_or_half_done() -> None:
    """Terminated by GraphQL as in the UI: CANCELED, nothing published, no draft, its pool free; the next run goes on."""
    assert cancel.campaign(pages=1000).kept


def test_a_data_engineer_walks_through_the_ui() -> None:
    """By clicks the broken kind is found, its reason read, its partition run again, a kind backfilled, one rolled back."""
    pytest.importorskip("playwright", reason="the extra 'tour' is not installed")
    tour.campaign()
