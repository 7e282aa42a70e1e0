"""A bounded pool of threads for blocking work: so much at once, so much waiting, and no more.

Nothing here knows what the work is. Who stops waiting (a client that disconnects, a time-out) frees his place in the queue at
once. Of work that already runs the statement is cancelled that it waits for; it keeps its place to its end, which is then near.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from bbj_pipeline.errors import Overloaded
from bbj_pipeline.storage.cancelling import Cancellation

__all__ = ["Workers"]

T = TypeVar("T")


class Workers:
    """``threads`` at work, ``queue`` waiting; ``seconds`` is how long a caller waits for his result."""

    def __init__(self, *, threads: int, queue: int, seconds: float, name: str) -> None:
        self._capacity = threads + queue
        self._seconds = seconds
        self._executor = ThreadPoolExecutor(max_workers=threads, thread_name_prefix=name)
        self._lock = threading.Lock()
        self._pending = 0

    @property
    def pending(self) -> int:
        """Work running or waiting."""
        return self._pending

    async def run(self, work: Callable[[], T]) -> T:
        """Return what ``work`` returns in a thread; raise ``Overloaded`` when there is no place or it takes too long."""
        with self._lock:
            if self._pending >= self._capacity:
                raise Overloaded(
                    "the service has as many requests as it can take", remedy="try again in a second", retry_after=1
                )
            self._pending += 1
        cancellation = Cancellation()

        def covered() -> T:
            with cancellation.covers():
                return work()

        try:
            future = self._executor.submit(covered)
        except RuntimeError:  # shut down while requests still arrive
            self._leave()
            raise Overloaded("the service is stopping", remedy="try again in a few seconds", retry_after=5) from None
        future.add_done_callback(self._leave)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._seconds)
        except TimeoutError:
            raise Overloaded(
                f"the answer was not there after {self._seconds:g} s",
                remedy="try again when the service is less busy",
                retry_after=5,
            ) from None
        finally:
            if not (future.done() or future.cancel()):  # it runs, and nobody waits for it; to tell the server takes a thread
                asyncio.get_running_loop().run_in_executor(None, cancellation.cancel)

    def close(self) -> None:
        """Drop what waits and wait for what runs."""
        self._executor.shutdown(wait=True, cancel_futures=True)

    def _leave(self, _: Future[Any] | None = None) -> None:
        with self._lock:
            self._pending -= 1
