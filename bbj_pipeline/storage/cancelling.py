"""Stops the statement that one piece of work is waiting for, from another thread, when nobody waits for the work any more.

Which connection is in use is known here and to ``database`` only. Whether work is given up is the caller's decision.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

import psycopg

from bbj_pipeline.errors import DatabaseUnavailable

__all__ = ["Cancellation", "cancellable"]

CANCEL_SECONDS = 5.0
_current: ContextVar[Cancellation | None] = ContextVar("bbj_pipeline.cancellation", default=None)


class Cancellation:
    """After ``cancel``, what is read within ``covers`` soon ends with ``DatabaseUnavailable``, and its connection is free.

    The lock keeps a connection where it is until the server has the request: no statement of the next user is hit by it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[Any] | None = None
        self._cancelled = False

    @contextmanager
    def covers(self) -> Iterator[None]:
        """All that this thread asks of a database within this block can be cancelled."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def cancel(self) -> None:
        """Stop the running statement, and refuse the next; blocks until the server was told, ``CANCEL_SECONDS`` at most."""
        with self._lock:
            self._cancelled = True
            if self._connection is not None:
                with suppress(psycopg.Error):  # the connection is lost: there is nothing left to stop
                    self._connection.cancel_safe(timeout=CANCEL_SECONDS)

    @contextmanager
    def _using(self, connection: psycopg.Connection[Any]) -> Iterator[None]:
        with self._lock:
            if self._cancelled:
                raise DatabaseUnavailable("nobody waits for this answer any more", remedy="ask again")
            self._connection = connection
        try:
            yield
        finally:
            with self._lock:
                self._connection = None


@contextmanager
def cancellable(connection: psycopg.Connection[Any]) -> Iterator[None]:
    """Let the ``Cancellation`` that covers this thread, if one does, stop what the connection does within this block."""
    cancellation = _current.get()
    if cancellation is None:
        yield
    else:
        with cancellation._using(connection):
            yield
