"""Turns this project's errors into Dagster failures: the text says where, what and the remedy; the class decides retries.

Also here: how the log of a failed run is read back into what, remedy, and whether trying again can help.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from dataclasses import dataclass

import dagster as dg

from bbj_pipeline.errors import PipelineError, Unavailable

__all__ = ["MAX_RETRY_AFTER", "FailedStep", "StepFailed", "classified", "failed_steps"]

MAX_RETRY_AFTER = 900.0
"""Longest wait inside a run, in seconds, whatever a server asks for: a run holds a place in the queue meanwhile."""
_SPREAD = 0.1
"""Share by which a wait is lengthened at random, so that instances of one server do not come back at the same moment."""
_BACKOFF = dg.RetryPolicy(delay=10, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.PLUS_MINUS)


class StepFailed(dg.Failure):
    """A failure whose text is what a run's page shows above the stack trace: where, what and the remedy, a line each."""

    def __init__(self, where: str, error: Exception, *, what: str, remedy: str, retryable: bool) -> None:
        place = {"where": where} if where else {}
        super().__init__(
            description=f"{what}: {remedy}",
            metadata={**place, "what": what, "remedy": remedy, "error": type(error).__name__, "retryable": retryable},
        )
        self.__cause__ = error
        self.retryable = retryable
        lines = {"Where": where, "What": what, "Remedy": remedy}
        self._text = "".join(f"\n{name + ':':<8}{text}" for name, text in lines.items() if text)

    def __str__(self) -> str:
        return self._text


@contextlib.contextmanager
def classified(max_retries: int = 0, *, where: str = "", attempt: int = 0) -> Iterator[None]:
    """Raise every error as a ``StepFailed``; what did not answer is tried again, a rejected input or a bug is not.

    ``where`` names the instance and what was done with it, for a person: ``flare/docs, raw_export``. ``attempt`` counts from 0;
    the one that is number ``max_retries`` is the last. Before the next attempt 10, 20, 40 … seconds with jitter are waited, or,
    where the other side said when to come back, that time (never less, at most ``MAX_RETRY_AFTER`` and a tenth).

    Retries are asked for here and not by a policy of the asset: with a policy Dagster tries a cancelled step again.
    """
    try:
        yield
    except PipelineError as error:
        retryable = isinstance(error, Unavailable)
        failure = StepFailed(where, error, what=error.what, remedy=error.remedy, retryable=retryable)
    except OSError as error:
        place = f" at {error.filename}" if error.filename else ""
        what = f"the file system refused{place} ({error.strerror or error})"
        remedy = "free space, or mend the permissions of the store and the export"
        failure = StepFailed(where, error, what=what, remedy=remedy, retryable=True)
    except Exception as error:
        remedy = "a bug: report it with the stack trace of this failure"
        failure = StepFailed(where, error, what=f"{type(error).__name__}: {error}", remedy=remedy, retryable=False)
    else:
        return
    if failure.retryable and attempt < max_retries:
        raise dg.RetryRequested(max_retries=max_retries, seconds_to_wait=_wait(failure.__cause__, attempt)) from failure
    raise failure


def _wait(error: BaseException | None, attempt: int) -> float:
    asked = error.retry_after if isinstance(error, Unavailable) else None
    if asked is None:
        return _BACKOFF.calculate_delay(attempt + 1)
    return min(max(asked, 0.0), MAX_RETRY_AFTER) * random.uniform(1, 1 + _SPREAD)  # noqa: S311  # no secret


@dataclass(frozen=True, slots=True)
class FailedStep:
    """A step that failed for good: its key, the class of the error, what was found, the remedy, and whether waiting helps."""

    step: str
    error: str
    what: str
    remedy: str
    retryable: bool


def failed_steps(instance: dg.DagsterInstance, run_id: str) -> list[FailedStep]:
    """Return the failed steps of a run from its log; none when the run's process ended before it could say why."""
    records = instance.get_records_for_run(run_id, of_type=dg.DagsterEventType.STEP_FAILURE).records
    return [_read(record.event_log_entry.get_dagster_event()) for record in records]


def _read(event: dg.DagsterEvent) -> FailedStep:
    data = event.step_failure_data
    said = data.user_failure_data.metadata if data.user_failure_data else {}
    error = data.error
    return FailedStep(
        step=event.step_key or "",
        error=str(said["error"].value) if "error" in said else (error.cls_name or "error") if error else "error",
        what=str(said["what"].value) if "what" in said else error.message.strip() if error else "no reason was recorded",
        remedy=str(said["remedy"].value) if "remedy" in said else "read the log of the run",
        retryable=bool(said["retryable"].value) if "retryable" in said else False,
    )
