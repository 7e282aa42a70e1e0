"""Bounds a request's body in bytes and seconds, and drops the work of a client that has gone.

An ASGI middleware in front of both faces. What the body says is not looked at.
"""

from __future__ import annotations

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bbj_pipeline.retrieval.serving.asgi import header, notes
from bbj_pipeline.retrieval.serving.problems import problem

__all__ = ["MAX_BODY_BYTES", "Bodies"]

MAX_BODY_BYTES = 128 * 1024
"""Feedback with a question and a comment of full length, every character escaped as two times six bytes, has 72 kB."""
BODY_SECONDS = 10.0


class _TooLargeError(Exception):
    pass


class Bodies:
    """Reads the body before anything is done for it, and cancels the answer when the client disconnects."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its body at hand, or answer 408 or 413."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            with anyio.fail_after(BODY_SECONDS):
                body = await _read(scope, receive)
        except _TooLargeError:
            refusal = problem(
                413, f"the body has more than {MAX_BODY_BYTES:,} bytes", "shorten it", headers={"Connection": "close"}
            )
            await refusal(scope, receive, send)
        except TimeoutError:
            refusal = problem(
                408, f"the body was not there after {BODY_SECONDS:g} s", "send it at once", headers={"Connection": "close"}
            )
            await refusal(scope, receive, send)
        else:
            if body is None:
                notes(scope)["disconnected"] = True
            else:
                await _while_connected(self._app, scope, body, receive, send)


async def _read(scope: Scope, receive: Receive) -> bytes | None:
    """Return the whole body, ``None`` when the client left before its end."""
    declared = header(scope, b"content-length")
    if declared is not None and declared.isdigit() and (len(declared) > 9 or int(declared) > MAX_BODY_BYTES):
        raise _TooLargeError
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            raise _TooLargeError
        if not message.get("more_body", False):
            return bytes(body)


async def _while_connected(app: ASGIApp, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
    """Run ``app`` until it has answered, or until the client has gone; its exception is raised as it is."""
    unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    gone = anyio.Event()
    finished = False
    failure: Exception | None = None

    async def replay() -> Message:
        if unread:
            return unread.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def watched(message: Message) -> None:
        nonlocal finished
        await send(message)
        finished = message["type"] == "http.response.body" and not message.get("more_body", False)

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        gone.set()
        if not finished:
            notes(scope)["disconnected"] = True
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        try:
            await app(scope, replay, watched)
        except Exception as error:  # a task group would wrap it
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
