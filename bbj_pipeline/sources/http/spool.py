"""Keeps bodies on disk while a listing is being completed, so that memory does not grow with the site.

One anonymous temporary file; nothing is known about what is stored. Threads may share it.
"""

from __future__ import annotations

import tempfile
import threading
from typing import Self

__all__ = ["Spool"]


class Spool:
    """Append-only storage of byte strings; ``put`` gives a ticket, ``get`` takes it."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="bbj-pipeline-")  # noqa: SIM115 - closed by __exit__
        self._end = 0
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def put(self, content: bytes) -> tuple[int, int]:
        """Store ``content`` and return its ticket."""
        with self._lock:
            self._file.seek(self._end)
            self._file.write(content)
            ticket = (self._end, len(content))
            self._end += len(content)
        return ticket

    def get(self, ticket: tuple[int, int]) -> bytes:
        """Return what was stored under ``ticket``."""
        with self._lock:
            self._file.seek(ticket[0])
            return self._file.read(ticket[1])
