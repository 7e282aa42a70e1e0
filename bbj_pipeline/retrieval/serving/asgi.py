"""The small pieces of ASGI that the middlewares share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.types import Message, Scope, Send

__all__ = ["client_address", "header", "notes", "status_watcher"]

_NOTES = "bbj_pipeline.notes"
_LONGEST_ADDRESS = 64
"""What a proxy passes on may be no address; callers are remembered by it."""


def header(scope: Scope, name: bytes) -> str | None:
    """Return the first header of that (lower case) name."""
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), None)


def client_address(scope: Scope) -> str:
    """Return the caller's address; behind a proxy that is not configured as trusted, the proxy's."""
    client = scope.get("client")
    return str(client[0])[:_LONGEST_ADDRESS] if client else "unknown"


def notes(scope: Scope) -> dict[str, Any]:
    """Return what is known of this request for its log line; whoever answers it adds to this."""
    found: dict[str, Any] = scope.setdefault(_NOTES, {})
    return found


def status_watcher(send: Send, seen: Callable[[int], None]) -> Send:
    """Return a ``send`` that tells the status of the response when it begins."""

    async def watched(message: Message) -> None:
        if message["type"] == "http.response.start":
            seen(message["status"])
        await send(message)

    return watched
