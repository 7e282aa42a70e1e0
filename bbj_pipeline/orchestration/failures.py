"""Turns this project's errors into Dagster failures: the text says what, where and the remedy; the class decides retries."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import dagster as dg

from bbj_pipeline.errors import PipelineError, Unavailable

__all__ = ["classified", "retry_policy"]


def retry_policy(max_retries: int) -> dg.RetryPolicy | None:
    """Return the policy for what ``classified`` lets be retried: 10, 20, 40 … seconds with jitter."""
    if max_retries == 0:
        return None
    return dg.RetryPolicy(max_retries=max_retries, delay=10, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.PLUS_MINUS)


@contextlib.contextmanager
def classified() -> Iterator[None]:
    """Raise every error as a ``Failure``; what did not answer may be retried, a rejected input or a bug may not."""
    try:
        yield
    except PipelineError as error:
        raise dg.Failure(
            description=str(error),
            metadata={"error": type(error).__name__, "what": error.what, "remedy": error.remedy},
            allow_retries=isinstance(error, Unavailable),
        ) from error
    except OSError as error:
        where = f" at {error.filename}" if error.filename else ""
        raise dg.Failure(
            description=f"the file system refused{where} ({error.strerror or error}): free space or mend permissions",
            metadata={
                "error": type(error).__name__,
                "remedy": "free space, or mend the permissions of the store and the export",
            },
            allow_retries=True,
        ) from error
    except Exception as error:
        raise dg.Failure(
            description=f"{type(error).__name__}: {error}",
            metadata={"error": type(error).__name__, "remedy": "a bug: report it with the stack trace of this failure"},
            allow_retries=False,
        ) from error
