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

__all__ = ["MAX_RETRY_AFTER", "FailedStep", "StepFailed", "classified", "failed_steps", "retry_policy"]

MAX_RETRY_AFTER = 900.0
"""Longest wait inside a run, in seconds, whatever a server asks for: a run holds a place in the queue meanwhile."""
_SPREAD = 0.1
"""Share by which a wait is lengthened at random, so that instances of one server do not come back at the same moment."""


class StepFailed(dg.Failure):
    """A failure whose text is what a run's page shows above the stack trace: where, what and the remedy, a line each."""

    def __init__(self, where: str, error: Exception, *, what: str, remedy: str, retryable: bool, is_last: bool = False) -> None:
        place = {"where": where} if where else {}
        super().__init__(
            description=f"{what}: {remedy}",
            metadata={**place, "what": what, "remedy": remedy, "error": type(error).__name__, "retryable": retryable},
            # After the last attempt Dagster would say "Exceeded max_retries" in the place of this text.
            allow_retries=retryable and not is_last,
        )
        lines = {"Where": where, "What": what, "Remedy": remedy}
        self._text = "".join(f"\n{name + ':':<8}{text}" for name, text in lines.items() if text)

    def __str__(self) -> str:
        return self._text


def retry_policy(max_retries: int) -> dg.RetryPolicy | None:
    """Return the policy for what ``classified`` lets be retried: 10, 20, 40 … seconds with jitter."""
    if max_retries == 0:
        return None
    return dg.RetryPolicy(max_retries=max_retries, delay=10, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.PLUS_MINUS)


@contextlib.contextmanager
def classified(max_retries: int = 0, *, where: str = "", attempt: int = 0) -> Iterator[None]:
    """Raise every error as a ``StepFailed``; what did not answer may be retried, a rejected input or a bug may not.

    ``where`` names the instance and what was done with it, for a person: ``flare/docs, raw_export``. ``attempt`` counts from 0;
    the one that is number ``max_retries`` is the last.
    Where the other side said when to come back and ``max_retries`` is above 0, that time is waited for (never less, at most
    ``MAX_RETRY_AFTER`` and a tenth) instead of the retry policy's.
    """
    is_last = 0 < max_retries <= attempt
    try:
        yield
    except PipelineError as error:
        retryable = isinstance(error, Unavailable)
        failure = StepFailed(where, error, what=error.what, remedy=error.remedy, retryable=retryable, is_last=is_last)
        failure.__cause__ = error
        if isinstance(error, Unavailable) and error.retry_after is not None and attempt < max_retries:
            wait = min(max(error.retry_after, 0.0), MAX_RETRY_AFTER) * random.uniform(1, 1 + _SPREAD)  # noqa: S311  # no secret
            raise dg.RetryRequested(max_retries=max_retries, seconds_to_wait=wait) from failure
        raise failure from error
    except OSError as error:
        place = f" at {error.filename}" if error.filename else ""
        raise StepFailed(
            where,
            error,
            what=f"the file system refused{place} ({error.strerror or error})",
            remedy="free space, or mend the permissions of the store and the export",
            retryable=True,
            is_last=is_last,
        ) from error
    except Exception as error:
        raise StepFailed(
            where,
            error,
            what=f"{type(error).__name__}: {error}",
            remedy="a bug: report it with the stack trace of this failure",
            retryable=False,
        ) from error


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
