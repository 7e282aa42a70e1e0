"""Who may ask, and how often: API keys, token buckets, and the host names under which the service may be addressed.

ASGI middlewares that answer a refused request themselves. What a request asks is not looked at.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from pydantic import SecretStr
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from bbj_pipeline.retrieval.serving.asgi import client_address, header, notes
from bbj_pipeline.retrieval.serving.problems import problem

__all__ = ["Access", "Hosts", "KeyRing", "TokenBuckets", "split_list"]

OPEN_PATHS = ("/health", "/health/live", "/health/ready")
"""What a load balancer asks for, without a key, under whatever name."""
MAX_CALLERS = 10_000
"""Callers whose buckets are remembered; the one unseen for longest is forgotten first, and forgetting is in his favour."""
_LOCAL = ("127.0.0.1", "localhost", "[::1]")


def split_list(text: str) -> list[str]:
    """Return the entries of a comma separated setting."""
    return [entry for part in text.split(",") if (entry := part.strip())]


class KeyRing:
    """The accepted keys, as digests; ``name_of`` takes the same time for every key that is none."""

    def __init__(self, keys: SecretStr | None) -> None:
        self._digests = [_digest(key) for key in split_list(keys.get_secret_value() if keys else "")]

    @property
    def is_empty(self) -> bool:
        """Whether no key is asked for."""
        return not self._digests

    def name_of(self, presented: str | None) -> str | None:
        """Return the name under which an accepted key is logged and counted (never the key), else ``None``."""
        if presented is None:
            return None
        digest = _digest(presented)
        matches = [hmac.compare_digest(digest, known) for known in self._digests]
        return digest.hex()[:8] if any(matches) else None


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode(errors="surrogateescape")).digest()


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled: float


class TokenBuckets:
    """One bucket a caller: ``burst`` requests at once, refilled by ``per_minute``; ``clock`` gives seconds."""

    def __init__(self, *, per_minute: int, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = per_minute / 60
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, caller: str) -> float:
        """Take a token; return 0, or the seconds until there will be one."""
        if self._rate == 0:
            return 0.0
        now = self._clock()
        bucket = self._buckets.pop(caller, None) or _Bucket(self._burst, now)
        bucket.tokens = min(self._burst, bucket.tokens + (now - bucket.filled) * self._rate)
        bucket.filled = now
        self._buckets[caller] = bucket
        if len(self._buckets) > MAX_CALLERS:
            self._buckets.popitem(last=False)
        if bucket.tokens < 1:
            return (1 - bucket.tokens) / self._rate
        bucket.tokens -= 1
        return 0.0

    def __len__(self) -> int:
        return len(self._buckets)


class Access:
    """Asks for a key, if there are keys, and for a token; a refused attempt costs a token as well."""

    def __init__(self, app: ASGIApp, *, keys: KeyRing, buckets: TokenBuckets) -> None:
        self._app = app
        self._keys = keys
        self._buckets = buckets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 401 or 429."""
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS:
            await self._app(scope, receive, send)
            return
        name = self._keys.name_of(_presented(scope))
        if name is not None:
            notes(scope)["key"] = name
        wait = self._buckets.take(name or client_address(scope))
        if wait > 0:
            response = problem(
                429,
                "this caller has used up his requests",
                f"wait {math.ceil(wait)} s",
                headers={"Retry-After": str(math.ceil(wait))},
            )
            await response(scope, receive, send)
        elif self._keys.is_empty or name is not None:
            await self._app(scope, receive, send)
        else:
            response = problem(
                401,
                "the request carries no valid API key",
                "send one as 'Authorization: Bearer KEY' or 'X-API-Key: KEY'",
                headers={"WWW-Authenticate": "Bearer"},
            )
            await response(scope, receive, send)


def _presented(scope: Scope) -> str | None:
    bearer = header(scope, b"authorization")
    if bearer is not None and bearer[:7].lower() == "bearer ":
        return bearer[7:].strip()
    return header(scope, b"x-api-key")


class Hosts:
    """Refuses requests that a foreign web page had a browser send: under another host name, or from another origin.

    A page whose name was rebound to this machine's address would otherwise read a service on loopback. The comparison is the
    MCP SDK's; here it protects every path.
    """

    def __init__(self, app: ASGIApp, *, hosts: Sequence[str], origins: Sequence[str]) -> None:
        self._app = app
        names = [*_LOCAL, *hosts]
        self._security = TransportSecurityMiddleware(
            TransportSecuritySettings(
                allowed_hosts=[form for name in names for form in _with_ports(name)],
                allowed_origins=[*origins, *(f"{scheme}://{form}" for name in names for form in _with_ports(name)
                                             for scheme in ("http", "https"))],
            )
        )  # fmt: skip

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 421 or 403."""
        if scope["type"] == "http" and scope["path"] not in OPEN_PATHS:
            refused = await self._security.validate_request(Request(scope))
            if refused is not None:
                await _foreign(refused.status_code)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _foreign(status: int) -> ASGIApp:
    if status == 403:
        return problem(403, "a web page of another origin sent this request", "add its origin to BBJ_CORS_ORIGINS")
    return problem(421, "the service is not known under this host name", "add the name to BBJ_ALLOWED_HOSTS")


def _with_ports(name: str) -> list[str]:
    """Return a host as it stands in a header: alone, or with any port."""
    has_port = ":" in name.rsplit("]", 1)[-1]
    return [name] if has_port else [name, f"{name}:*"]
