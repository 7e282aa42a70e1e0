"""The HTTP client of one site: which hosts may be asked, how often, how long, how much.

No format and no crawling order here; threads may share a client. Clock, sleep, chance and name resolution are values, so
that a test passes its own.
A ``routes`` table sends the requests for one origin to another address; a recorded site is served that way on loopback
while everything above this client sees its public URLs only.
"""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urljoin, urlsplit, urlunsplit

import requests
from urllib3.exceptions import HTTPError

from bbj_pipeline.errors import SourceUnavailable
from bbj_pipeline.sources.http.policy import (
    RETRY_STATUSES,
    USER_AGENT,
    Limits,
    backoff_seconds,
    is_private_literal,
    is_public_address,
    retry_after_seconds,
)
from bbj_pipeline.sources.http.transport import Transport
from bbj_pipeline.sources.http.urls import origin_of

__all__ = ["Clock", "Gone", "HttpClient", "Refused", "Reply", "SiteFault"]

Conditions = Callable[[str], Mapping[str, str]]
"""Gives the headers that make the request for a URL a conditional one; none when nothing is known of it."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_GONE = frozenset({404, 410})
_NOT_MODIFIED = 304
_BLOCK = 64 * 1024


class Gone(Exception):
    """The site says that there is nothing (any more) under this URL: 404 or 410."""


class Refused(Exception):
    """This URL will not be read, today or tomorrow: a host that is not allowed, a private address, too many redirects,
    a body over the bound, an answer that is neither success nor a passing fault. ``code`` is stable and kebab-case."""

    def __init__(self, code: str, reason: str, reply: Reply | None = None) -> None:
        super().__init__(code, reason)
        self.code = code
        self.reason = reason
        self.reply = reply


class SiteFault(SourceUnavailable):
    """A URL did not come after all attempts. ``status`` is the last answer, ``None`` when there was none in time."""

    def __init__(self, what: str, *, status: int | None, retry_after: float | None) -> None:
        super().__init__(what, remedy="run again when the site is back", retry_after=retry_after)
        self.status = status


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: ``url`` is the public one after redirects, header names are in lower case."""

    url: str
    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def media_type(self) -> str:
        """The media type without parameters, in lower case; empty when the server did not say."""
        return self.headers.get("content-type", "").split(";", 1)[0].strip().lower()

    def json(self) -> Any:
        """Return the body as JSON (UTF-8, a byte order mark is allowed); raises ``ValueError`` when it is not."""
        return json.loads(self.content.decode("utf-8-sig"))


@dataclass(frozen=True, slots=True)
class Clock:
    """Time and chance as values: ``monotonic`` and ``now`` in seconds, ``draw`` a number in [0, 1)."""

    monotonic: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    draw: Callable[[], float] = random.random


def _resolve(host: str) -> list[str]:
    try:
        return sorted({str(info[4][0]) for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)})
    except OSError:
        return []


@dataclass
class HttpClient:
    """Reads URLs of ``origins`` (as ``origin_of`` writes them), and of no other.

    ``trusted`` origins may resolve to private addresses: those an operator configured by hand. ``routes`` maps an origin to
    the one that is really connected to. ``delay`` is the pause in seconds between the beginnings of two requests to one
    origin, whichever thread makes them; ``delays`` gives single origins a longer one. An origin that asks for patience
    (Retry-After) is left alone by all threads.
    """

    origins: frozenset[str]
    trusted: frozenset[str] = frozenset()
    routes: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    delay: float = 0.0
    delays: dict[str, float] = field(default_factory=dict)
    clock: Clock = field(default_factory=Clock)
    resolve: Callable[[str], list[str]] = _resolve

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._own = threading.local()
        self._sessions: list[requests.Session] = []
        self._free_at: dict[str, float] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for session in self._sessions:
            session.close()

    def get(
        self,
        url: str,
        *,
        accept: str = "*/*",
        statuses: Iterable[int] = (),
        max_bytes: int | None = None,
        attempts: int | None = None,
        conditions: Conditions | None = None,
    ) -> Reply:
        """Read ``url``, following redirects inside the allowed origins, and return a reply with status 200 or in ``statuses``.

        ``conditions`` is asked for each URL on the way; to a request that carries some, 304 is an answer too.
        Raises ``Gone`` for 404 and 410, ``Refused`` for what will not change, and ``SiteFault`` when the site did not
        answer after all attempts, or asks to wait longer than the limits allow.
        """
        wanted = frozenset(statuses)
        bound = self.limits.max_bytes if max_bytes is None else max_bytes
        tries = self.limits.attempts if attempts is None else attempts
        for _ in range(self.limits.max_redirects + 1):
            asked = dict(conditions(url)) if conditions is not None else {}
            reply = self._with_retries(url, {"Accept": accept, **asked}, bound, tries)
            if reply.status == _NOT_MODIFIED and asked:
                return reply
            if reply.status in _REDIRECTS and "location" in reply.headers:
                url = self._target(url, reply.headers["location"])
                continue
            if reply.status == 200 or reply.status in wanted:
                return reply
            if reply.status in _GONE:
                raise Gone(f"{url} answers {reply.status}")
            raise Refused(f"http-{reply.status}", f"{url} answers {reply.status}", reply)
        raise Refused("too-many-redirects", f"{url}: more than {self.limits.max_redirects} redirects")

    def _target(self, url: str, location: str) -> str:
        """Resolve a redirect against the public URL; the connected address in it is turned back into the public origin."""
        target = urljoin(url, location)
        try:
            origin = origin_of(target)
        except ValueError as error:
            raise Refused("redirect-refused", f"{url} redirects to what is not followed: {error}") from None
        back = {connected: public for public, connected in self.routes.items()}
        return _with_origin(target, back[origin]) if origin in back else target

    def _with_retries(self, url: str, headers: Mapping[str, str], bound: int, attempts: int) -> Reply:
        connected = self._permit(url)
        for attempt in range(attempts):
            asked: float | None = None
            status: int | None = None
            try:
                reply = self._once(url, connected, headers, bound)
                if reply.status not in RETRY_STATUSES:
                    return reply
                status, problem = reply.status, f"answers {reply.status}"
                asked = retry_after_seconds(reply.headers.get("retry-after"), now=self.clock.now())
            except (requests.RequestException, HTTPError, OSError) as error:
                # never the text of the error: it names the connected address, which differs in every replay
                problem = f"did not answer ({type(error).__name__})"
            if asked is not None and asked > self.limits.retry_wait:
                break
            if asked:
                self._leave_alone(connected, asked)
            if attempt + 1 < attempts:
                pause = backoff_seconds(attempt, draw=self.clock.draw(), limit=self.limits.retry_wait)
                self.clock.sleep(max(pause, asked or 0.0))
        raise SiteFault(f"{url} {problem} after {attempt + 1} attempts", status=status, retry_after=asked)

    def _permit(self, url: str) -> str:
        """Return the URL to connect to; raise ``Refused`` when its origin or its address is not allowed."""
        try:
            origin = origin_of(url)
        except ValueError as error:
            raise Refused("bad-url", str(error)) from None
        if origin in self.routes:
            return _with_origin(url, self.routes[origin])
        host = urlsplit(url).hostname or ""
        if origin not in self.origins:
            code = "private-address" if is_private_literal(host) else "host-not-allowed"
            raise Refused(code, f"{origin} is not one of the allowed hosts")
        if origin not in self.trusted:
            addresses = self.resolve(host)
            if not addresses:
                raise SourceUnavailable(f"the name {host} does not resolve", remedy="check the URL, then run again")
            if not is_public_address(host, lambda _: addresses):
                raise Refused("private-address", f"{host} resolves to an address that is not public")
        return url

    def _session(self) -> tuple[requests.Session, Transport]:
        """Return this thread's connections: hanging up on a server that never ends must not cut another thread's answer."""
        known: tuple[requests.Session, Transport] | None = getattr(self._own, "session", None)
        if known is None:
            session, transport = requests.Session(), Transport(self._check_peer)
            for scheme in ("http://", "https://"):
                session.mount(scheme, transport)
            session.trust_env = False  # no proxy, no .netrc: an address that was checked is the one that is connected to
            session.headers.update({"User-Agent": USER_AGENT, "Accept-Encoding": "gzip, deflate"})
            known = self._own.session = (session, transport)
            with self._lock:
                self._sessions.append(session)
        return known

    def _once(self, url: str, connected: str, headers: Mapping[str, str], bound: int) -> Reply:
        self._await_turn(connected, self.delays.get(origin_of(url), 0.0))
        session, transport = self._session()
        until = self.clock.monotonic() + self.limits.deadline
        with (
            transport.deadline(self.limits.deadline) as expired,
            session.get(
                connected,
                headers=dict(headers),
                timeout=(self.limits.connect, self.limits.read),
                allow_redirects=False,
                stream=True,
            ) as response,
        ):
            answered = {name.lower(): value for name, value in response.headers.items()}
            needed = response.status_code not in RETRY_STATUSES | _REDIRECTS
            content = self._body(url, response, until, bound) if needed else b""
            if expired():
                raise requests.Timeout(f"{url} did not finish within {self.limits.deadline:g} s")
            return Reply(url, response.status_code, answered, content)

    def _check_peer(self, host: str, address: str) -> None:
        """Refuse a connection whose other end is private although the name resolved to public addresses a moment ago."""
        free = {*self.trusted, *self.routes.values()}
        if host in {urlsplit(origin).hostname for origin in free}:
            return
        if not is_public_address(host, lambda _: [address]):
            raise Refused("private-address", f"{host} connected to an address that is not public")

    def _body(self, url: str, response: requests.Response, deadline: float, bound: int) -> bytes:
        """Read the decoded body in small blocks; neither its length nor its pace is the server's to choose."""
        parts: list[bytes] = []
        size = 0
        # read1 returns what has come; read would wait for a full block, however slowly it drips
        while part := response.raw.read1(_BLOCK, decode_content=True):
            size += len(part)
            if size > bound:
                raise Refused("too-large", f"{url}: the body is over {bound:,} bytes")
            if self.clock.monotonic() > deadline:
                raise requests.Timeout(f"{url}: the body did not end within {self.limits.deadline:g} s")
            parts.append(part)
        return b"".join(parts)

    def _await_turn(self, connected: str, own_delay: float) -> None:
        """Take the next free moment of the origin, and sleep until it comes."""
        origin = origin_of(connected)
        with self._lock:
            now = self.clock.monotonic()
            turn = max(now, self._free_at.get(origin, now))
            self._free_at[origin] = turn + max(self.delay, own_delay)
        if turn > now:
            self.clock.sleep(turn - now)

    def _leave_alone(self, connected: str, seconds: float) -> None:
        """Let no thread begin a request to the origin before ``seconds`` have passed."""
        origin = origin_of(connected)
        with self._lock:
            self._free_at[origin] = max(self._free_at.get(origin, 0.0), self.clock.monotonic() + seconds)


def _with_origin(url: str, origin: str) -> str:
    base, parts = urlsplit(origin), urlsplit(url)
    return urlunsplit((base.scheme, base.netloc, parts.path, parts.query, ""))
