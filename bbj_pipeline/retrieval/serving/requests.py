"""One log line and one count a request, and the last line of defence: no exception leaves the service.

The outermost ASGI middleware. The line holds no question unless that is allowed, and no key ever.
"""

from __future__ import annotations

import logging
import time
import traceback

from starlette.types import ASGIApp, Receive, Scope, Send

from bbj_pipeline.retrieval.serving.asgi import client_address, notes, status_watcher
from bbj_pipeline.retrieval.serving.metrics import Metrics

__all__ = ["Requests"]

CLIENT_GONE = 499
"""Status in log and metrics of a request whose client left before the answer (nginx's number)."""
MAX_PATH = 200
_METHODS = frozenset({"GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"})
access_log = logging.getLogger("bbj_pipeline.access")


class Requests:
    """Logs and counts every request."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, routes: frozenset[str]) -> None:
        self._app = app
        self._metrics = metrics
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; write its line at its end."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 0

        def seen(code: int) -> None:
            nonlocal status
            status = code

        about = notes(scope)
        try:
            await self._app(scope, receive, status_watcher(send, seen))
        except Exception as error:  # a bug: the client has its 500 already, the log gets the cause in one line
            about["error"] = f"{type(error).__name__}: {error}"
            about["traceback"] = "".join(traceback.format_exception(error))
            status = status or 500
        finally:
            self._finish(scope, CLIENT_GONE if about.pop("disconnected", False) else status, time.perf_counter() - started)

    def _finish(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = self._route(scope["path"])
        self._metrics.requests.labels(route, method, str(status)).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        level = logging.ERROR if "error" in notes(scope) else logging.INFO
        fields = {
            "method": method,
            "path": scope["path"][:MAX_PATH],
            "status": status,
            "milliseconds": round(seconds * 1000, 1),
            "client": client_address(scope),
            **notes(scope),
        }
        access_log.log(level, "request", extra={"fields": fields})

    def _route(self, path: str) -> str:
        """Return the route's name for metrics: a path with an id, or one nobody knows, must not make a series of its own."""
        if path.startswith("/chunks/"):
            return "/chunks/{chunk_id}"
        path = path.rstrip("/") or "/"
        return path if path in self._routes else "other"
