"""What a request may cost, how a failed one is repeated, and which network addresses may be reached.

Pure rules; the client applies them. Time enters as numbers, never by reading a clock here.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

from bbj_pipeline import __version__

__all__ = [
    "RETRY_STATUSES",
    "USER_AGENT",
    "Limits",
    "backoff_seconds",
    "is_private_literal",
    "is_public_address",
    "retry_after_seconds",
]

USER_AGENT = f"bbj-pipeline/{__version__} (documentation indexer; respects robots.txt)"

RETRY_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers that may differ in a moment: time-outs, throttling and server faults (RFC 9110, RFC 6585, RFC 8470)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one request; seconds and bytes.

    ``deadline`` bounds one attempt from the request to the last byte of the body, so that a body that drips for ever ends.
    ``retry_wait`` is the longest pause between two attempts; a server that asks for more is unavailable now.
    """

    connect: float = 10.0
    read: float = 30.0
    deadline: float = 120.0
    max_bytes: int = 64 * 1024 * 1024
    max_redirects: int = 5
    attempts: int = 4
    retry_wait: float = 60.0


def backoff_seconds(attempt: int, *, draw: float, limit: float) -> float:
    """Return the pause after failed ``attempt`` (from 0): full jitter, ``draw`` in [0, 1) of 1, 2, 4 … seconds, bounded.

    Full jitter is what the AWS architecture blog ("Exponential Backoff And Jitter", 2015) found to spread load best.
    A quarter of the step is always waited, so that no retry is immediate.
    """
    step: float = min(limit, 2.0**attempt)
    return step * (0.25 + 0.75 * draw)


def retry_after_seconds(value: str | None, *, now: float) -> float | None:
    """Read a Retry-After header (seconds, or an HTTP date against ``now`` in epoch seconds); ``None`` when it says nothing."""
    if not value:
        return None
    text = value.strip()
    if text.isdecimal():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, moment.timestamp() - now)


def is_public_address(host: str, resolve: Callable[[str], list[str]]) -> bool:
    """Say whether every address ``host`` resolves to is globally reachable: not private, loopback, link-local or reserved."""
    addresses = resolve(host)
    return bool(addresses) and all(_is_global(address) for address in addresses)


def is_private_literal(host: str) -> bool:
    """Say, without asking for any name, whether ``host`` is this machine or is written as an address that is not public."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return not _is_global(host)
    except ValueError:  # a name
        return False


_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
"""IPv6 addresses that a NAT64 gateway turns into the IPv4 address in their last four bytes (RFC 6052)."""


def _is_global(address: str) -> bool:
    parsed = ipaddress.ip_address(address.split("%", 1)[0])
    inner = _inside_of(parsed) if isinstance(parsed, ipaddress.IPv6Address) else None
    return bool(parsed.is_global and not parsed.is_multicast) if inner is None else _is_global(str(inner))


def _inside_of(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address that an IPv6 one leads to: mapped (RFC 4291), 6to4 (RFC 3056), or translated by NAT64."""
    if address in _TRANSLATED:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour
