"""A signed request from outside that queues a refresh: ``POST /hooks/refresh/{kind}/{instance}``.

Nothing is refreshed here; a row is written that a sensor turns into a run. The body is only proof of who asks: it is hashed,
never parsed, and whatever is replayed is recognised by what was signed.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable, Collection

from fastapi import APIRouter, HTTPException, Request, Response
from starlette.concurrency import run_in_threadpool

from bbj_pipeline.records import InstanceRef
from bbj_pipeline.settings import Settings
from bbj_pipeline.sources.config import load_sources
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.refresh_requests import enqueue

__all__ = ["MAX_AGE", "MAX_BODY_BYTES", "refresh_router", "sign", "verify_signature"]

MAX_AGE = 300.0
"""Seconds by which the sender's clock may differ from this one's, and for which a signed request is valid."""
MAX_BODY_BYTES = 25 * 1024 * 1024
"""The largest body that GitHub sends."""

_PREFIX = "sha256="
_LONGEST_REASON = 200


def sign(secret: str, body: bytes, timestamp: str | None = None) -> str:
    """Return ``sha256=`` and the hexadecimal HMAC-SHA-256 of ``timestamp.body``; of the body alone without a timestamp."""
    signed = body if timestamp is None else timestamp.encode() + b"." + body
    return _PREFIX + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def verify_signature(
    secret: str, body: bytes, timestamp: str | None, signature: str, *, now: Callable[[], float] = time.time
) -> bool:
    """Return whether ``signature`` is that of ``body`` under ``secret``, compared in constant time.

    With a ``timestamp`` (seconds since 1970) it is part of what is signed and at most ``MAX_AGE`` seconds away. Without one
    this is GitHub's ``X-Hub-Signature-256``, whose protection against replay is that each signature counts
    once, for as long as its request is kept (``BBJ_KEEP_DAYS`` after its run, if anything is pruned).
    """
    genuine = hmac.compare_digest(sign(secret, body, timestamp).encode(), signature.encode())
    if timestamp is None:
        return genuine
    recent = timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12 and abs(now() - int(timestamp)) <= MAX_AGE
    return genuine and recent


def refresh_router(settings: Settings, database: Database, *, configured: Collection[InstanceRef] | None = None) -> APIRouter:
    """Return the router; without ``BBJ_WEBHOOK_SECRET`` it refuses every request.

    ``configured`` are the instances that may be named, by default those of the sources file.
    """
    known = frozenset(configured if configured is not None else (item.ref for item in load_sources(settings.sources_file)))
    router = APIRouter()

    @router.post("/hooks/refresh/{kind}/{instance}", status_code=202, summary="Queue a refresh of an instance")
    async def refresh(kind: str, instance: str, request: Request, response: Response) -> dict[str, str]:
        """Queue a refresh of one instance; 202 when queued, 200 when this very delivery already was.

        Signed by ``X-BBJ-Signature-256`` over ``X-BBJ-Timestamp`` and body, or by GitHub's ``X-Hub-Signature-256``.
        """
        if settings.webhook_secret is None:
            raise HTTPException(503, "refresh requests are off: set BBJ_WEBHOOK_SECRET for the service and the sender")
        body = await _body(request)
        signature = _verified(request, body, settings.webhook_secret.get_secret_value())
        ref = InstanceRef(kind, instance)
        if ref not in known:  # asked after the signature, so that strangers learn no names
            raise HTTPException(404, "no such instance: name one of sources.yaml")
        if request.headers.get("x-github-event") == "ping":
            response.status_code = 200
            return {"status": "pong"}
        reason = request.headers.get("x-github-event") or request.headers.get("x-bbj-reason") or "asked for"
        # What was signed identifies the delivery: the headers that carry an id are not signed, and could be new each time.
        queued = await run_in_threadpool(enqueue, database, ref, delivery_id=signature, reason=reason[:_LONGEST_REASON])
        response.status_code = 202 if queued else 200
        return {"status": "queued" if queued else "already queued"}

    return router


def _verified(request: Request, body: bytes, secret: str) -> str:
    """Return the genuine signature of a request; any other is refused with one answer, whatever was wrong with it."""
    own, timestamp = request.headers.get("x-bbj-signature-256"), request.headers.get("x-bbj-timestamp")
    github = request.headers.get("x-hub-signature-256")
    if own is not None and timestamp is not None and verify_signature(secret, body, timestamp, own):
        return own
    if own is None and github is not None and verify_signature(secret, body, None, github):
        return github
    raise HTTPException(401, "the signature is missing, wrong or too old: sign with the shared secret and the current time")


async def _body(request: Request) -> bytes:
    """Read the body, and no more of it than is allowed."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_BODY_BYTES:
            raise HTTPException(413, f"the body is larger than {MAX_BODY_BYTES:,} bytes")
    return bytes(body)
