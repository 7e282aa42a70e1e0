"""The error tree decides what a run does about an error, and its log says what, where and the remedy."""

# Annotations stay real here (no `from __future__ import annotations`): Dagster reads the type of a context.

import dagster as dg
import pytest

from bbj_pipeline.errors import DatabaseUnavailable, PipelineError, RejectedInput, SourceUnavailable
from bbj_pipeline.orchestration.failures import MAX_RETRY_AFTER, classified, failed_steps


def run(errors: list[Exception], instance: dg.DagsterInstance, *, retries: int = 2) -> dg.ExecuteInProcessResult:
    """Run one step that meets ``errors``, one an attempt, and then succeeds."""

    @dg.asset
    def export(context: dg.AssetExecutionContext) -> None:
        with classified(retries, where="flare/docs, raw_export", attempt=context.retry_number):
            if errors:
                raise errors.pop(0)

    return dg.materialize([export], instance=instance, raise_on_error=False)


def busy(seconds: float) -> SourceUnavailable:
    return SourceUnavailable("the site is busy", remedy="wait", retry_after=seconds)


def test_unavailable_is_tried_again() -> None:
    """What does not answer is tried again, as often as allowed, whether or not the server says when."""
    with dg.DagsterInstance.ephemeral() as instance:
        assert run([busy(0.0), DatabaseUnavailable("gone", remedy="start it", retry_after=0.0)], instance).success
        failed = run([busy(0.0), busy(0.0), busy(0.0)], instance)
        assert not failed.success
        (step,) = failed_steps(instance, failed.run_id)
        assert (step.what, step.remedy, step.retryable) == ("the site is busy", "wait", True)


@pytest.mark.parametrize("error", [RejectedInput("no topic in it", remedy="export it again"), KeyError("a bug")])
def test_what_stays_as_it_is_is_not_tried_again(error: Exception) -> None:
    """A rejected input and a bug fail the run at the first attempt."""
    with dg.DagsterInstance.ephemeral() as instance:
        failed = run([error], instance)
        assert not failed.success
        assert [event for event in failed.all_events if event.is_step_up_for_retry] == []
        (step,) = failed_steps(instance, failed.run_id)
        assert not step.retryable


@pytest.mark.parametrize(("asked", "least", "most"), [(30, 30, 33), (0, 0, 0), (7200, MAX_RETRY_AFTER, MAX_RETRY_AFTER * 1.1)])
def test_the_servers_time_is_waited_for(asked: float, least: float, most: float) -> None:
    """Retry-After is waited for, never less and a little more at random, but not beyond what a run may hold its place."""
    with pytest.raises(dg.RetryRequested) as caught, classified(3):
        raise busy(asked)
    assert caught.value.max_retries == 3
    assert least <= (caught.value.seconds_to_wait or 0.0) <= most


def test_without_retries_the_error_is_the_failure() -> None:
    """Where nobody may try again, a busy server fails at once with its own words."""
    with pytest.raises(dg.Failure, match="What:   the site is busy\nRemedy: wait"), classified():
        raise busy(30)


def test_other_waits_grow_and_differ() -> None:
    """Without a time from the server the waits double from ten seconds, with jitter."""

    def wait(error: Exception, attempt: int) -> float:
        with pytest.raises(dg.RetryRequested) as caught, classified(3, attempt=attempt):
            raise error
        return caught.value.seconds_to_wait or 0.0

    for error in (DatabaseUnavailable("gone", remedy="start it"), OSError(28, "full", "/data")):
        for attempt, middle in enumerate((10, 20, 40)):
            waits = {wait(error, attempt) for _ in range(20)}
            assert len(waits) > 1
            assert all(0 <= seconds <= 2 * middle for seconds in waits)


@pytest.mark.parametrize(
    "errors",
    [
        [RejectedInput("no topic in it", remedy="export it again")],
        [SourceUnavailable("no topic in it", remedy="export it again", retry_after=0.0)] * 3,
    ],
    ids=["rejected", "unavailable"],
)
def test_a_failed_run_begins_with_where_what_and_remedy(errors: list[Exception]) -> None:
    """What the page of a failed run shows above the stack trace is where, what and the remedy, also after all attempts."""
    with dg.DagsterInstance.ephemeral() as instance:
        failed = run(list(errors), instance)
        (record,) = instance.get_records_for_run(failed.run_id, of_type=dg.DagsterEventType.RUN_FAILURE).records
        first = record.event_log_entry.get_dagster_event().job_failure_data.first_step_failure_event
        assert first is not None
        error = first.step_failure_data.error
        assert error is not None
        _, *lines = error.message.splitlines()
        assert lines == ["Where:  flare/docs, raw_export", "What:   no topic in it", "Remedy: export it again"]
        (step,) = failed_steps(instance, failed.run_id)
        assert (step.what, step.remedy) == ("no topic in it", "export it again")


def test_every_failure_says_what_and_remedy() -> None:
    """Each class of error leaves its class, what was found and the remedy in the failure that the UI shows."""
    for error in (
        busy(1),
        RejectedInput("x", remedy="y"),
        PipelineError("x", remedy="y"),
        OSError(28, "full", "/data"),
        KeyError("z"),
    ):
        with pytest.raises(dg.Failure) as caught, classified():
            raise error
        assert caught.value.description
        assert {"error", "what", "remedy", "retryable"} <= set(caught.value.metadata)
