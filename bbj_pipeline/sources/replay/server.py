"""A threaded HTTP/1.1 server on an ephemeral loopback port whose answers are a pure function of the request.

Only the transport lives here, conditional requests (RFC 9110) and compression included; what is answered is the
``Handler``'s matter.
"""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from email.utils import parsedate_to_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["Answer", "Handler", "serve"]

_COMPRESSIBLE = ("text/", "application/json", "application/xml")


@dataclass(frozen=True, slots=True)
class Answer:
    """One response; ``Content-Length``, ``ETag`` and compression are added by the server."""

    status: int
    content: bytes = b""
    media_type: str = "text/html; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)


Handler = Callable[[str], Answer]
"""Answers a request target (path and query, still quoted)."""


Observer = Callable[[str, int, int], None]
"""Is told of each answer: request target, status, and bytes of the body as sent. Threads call it."""


@contextmanager
def serve(handler: Handler, observe: Observer | None = None) -> Iterator[str]:
    """Serve ``handler`` on 127.0.0.1 and give the origin, such as ``http://127.0.0.1:40123``; stops on leaving."""

    class Request(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 30
        wbufsize = -1  # head and body in one write: two small ones wait for each other's acknowledgement, 40 ms a request
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            answer = handler(self.path)
            etag = f'"{hashlib.sha256(answer.content).hexdigest()[:32]}"'
            headers = {"Content-Type": answer.media_type, "ETag": etag, **answer.headers}
            if answer.status == 200 and _is_known(self.headers, headers):
                self._send(304, b"", {name: headers[name] for name in ("ETag", "Last-Modified") if name in headers})
                return
            content = answer.content
            if "gzip" in self.headers.get("Accept-Encoding", "") and answer.media_type.startswith(_COMPRESSIBLE):
                content = gzip.compress(content, compresslevel=1, mtime=0)
                headers["Content-Encoding"] = "gzip"
            self._send(answer.status, content, headers)

        def do_HEAD(self) -> None:
            self.do_GET()

        def _send(self, status: int, content: bytes, headers: Mapping[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if status != 304:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)
            if observe is not None:
                observe(self.path, status, len(content))

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the signature of the base class
            """A replay is part of a run that reports for itself."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Request) as server:
        server.daemon_threads = True
        server.block_on_close = False  # an idle keep-alive connection must not hold up the end of a run
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def _is_known(asked: Message, headers: Mapping[str, str]) -> bool:
    """Say whether the asking side has this answer; If-Modified-Since counts only without If-None-Match (RFC 9110, 13.2.2)."""
    tags = asked.get("If-None-Match")
    if tags is not None:
        return headers["ETag"].removeprefix("W/") in {tag.strip().removeprefix("W/") for tag in tags.split(",")}
    since, modified = asked.get("If-Modified-Since"), headers.get("Last-Modified")
    if since is None or modified is None:
        return False
    try:
        return parsedate_to_datetime(modified) <= parsedate_to_datetime(since)
    except ValueError:
        return False
