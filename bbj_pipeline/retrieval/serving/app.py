"""Puts the service together: routes, MCP over HTTP, and the layers a request passes, outermost first.

Callers behind proxies, log and metrics, CORS, host names, keys and limits, body and disconnection, then the routes. Nothing is
computed here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from bbj_pipeline import __version__
from bbj_pipeline.retrieval.serving.access import Access, Hosts, KeyRing, TokenBuckets, split_list
from bbj_pipeline.retrieval.serving.bodies import MAX_BODY_BYTES, Bodies
from bbj_pipeline.retrieval.serving.mcp_face import create_mcp_server
from bbj_pipeline.retrieval.serving.metrics import Metrics
from bbj_pipeline.retrieval.serving.problems import install_handlers, problem
from bbj_pipeline.retrieval.serving.requests import Requests
from bbj_pipeline.retrieval.serving.rest import create_router
from bbj_pipeline.retrieval.serving.service import Service
from bbj_pipeline.settings import Settings

__all__ = ["create_app"]

_DESCRIPTION = (
    "Generation-aware search over the BBj documentation. `POST /search` finds passages, `GET /chunks/{chunk_id}` opens one "
    "with its origin; the same two as MCP tools at `/mcp` (Streamable HTTP). Failures are RFC 9457 problems with a remedy."
)


def create_app(service: Service, settings: Settings, *, hooks: APIRouter | None = None, any_host: bool = False) -> ASGIApp:
    """Return the ASGI application over ``service``, which the caller warms before and closes after.

    ``hooks`` are routes below ``/hooks/`` that check a signature of their own instead of a key, and bound their own bodies.
    ``any_host`` accepts whatever host name a request carries: right where callers need a key, or a proxy checks it.
    """
    keys = KeyRing(settings.api_keys)
    metrics = Metrics(lambda: service.workers.pending)

    async def ready() -> Service:
        return service

    mcp = StreamableHTTPSessionManager(
        create_mcp_server(ready, metrics=metrics, log_queries=settings.log_queries),
        json_response=True,
        stateless=True,
        max_request_body_size=MAX_BODY_BYTES,
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with mcp.run():
            yield

    api = FastAPI(
        title="BBj knowledge", version=__version__, description=_DESCRIPTION, lifespan=lifespan, redoc_url=None,
        redirect_slashes=False,
    )  # fmt: skip
    install_handlers(api)
    api.include_router(create_router(service, metrics, log_queries=settings.log_queries))
    api.router.routes += [Route(path, endpoint=_McpEndpoint(mcp)) for path in ("/mcp", "/mcp/")]
    _document(api, needs_key=not keys.is_empty)

    origins = split_list(settings.cors_origins)
    hosts = split_list(settings.allowed_hosts)
    app: ASGIApp = Bodies(api)
    buckets = TokenBuckets(per_minute=settings.rate_limit, burst=settings.rate_burst)
    app = Access(app, keys=keys, buckets=buckets)
    if hosts or not any_host:
        app = Hosts(app, hosts=hosts, origins=origins)
    if origins:
        app = CORSMiddleware(
            app, allow_origins=origins, allow_methods=["GET", "POST"], expose_headers=["Retry-After"],
            allow_headers=["Authorization", "X-API-Key", "Content-Type", "Mcp-Protocol-Version", "Mcp-Session-Id"],
        )  # fmt: skip
    if hooks is not None:
        app = _Hooks(app, hooks)
    app = Requests(app, metrics=metrics, routes=frozenset({*api.openapi()["paths"], "/mcp", "/docs", "/openapi.json"}))
    proxies = split_list(settings.trusted_proxies)
    # Reads X-Forwarded-For from its end, where proxies add to it, up to the first address that is none of theirs.
    return cast(ASGIApp, ProxyHeadersMiddleware(cast(Any, app), trusted_hosts=proxies)) if proxies else app


class _Hooks:
    """Takes what is addressed to ``/hooks/`` past keys and limits: git servers sign their requests and know no key."""

    def __init__(self, app: ASGIApp, hooks: APIRouter) -> None:
        self._app = app
        self._hooks = FastAPI(openapi_url=None, redirect_slashes=False)
        install_handlers(self._hooks)
        self._hooks.include_router(hooks)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on to one of the two."""
        hooked = scope["type"] == "http" and scope["path"].startswith("/hooks/")
        await (self._hooks if hooked else self._app)(scope, receive, send)


class _McpEndpoint:
    """Streamable HTTP without sessions: every message is a POST that carries all it needs; no stream is opened by GET."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a POST by the MCP server and everything else by 405."""
        if scope["method"] == "POST":
            await self._manager.asgi_app(scope, receive, send)
            return
        refusal = problem(405, "this MCP endpoint has no sessions", "send each message by POST", headers={"Allow": "POST"})
        await refusal(scope, receive, send)


def _document(api: FastAPI, *, needs_key: bool) -> None:
    """Add to the OpenAPI document how a key is sent, where one is asked for."""

    def openapi() -> dict[str, Any]:
        if api.openapi_schema is None:
            schema = get_openapi(title=api.title, version=api.version, description=api.description, routes=api.routes)
            if needs_key:
                schema["components"]["securitySchemes"] = {
                    "bearer": {"type": "http", "scheme": "bearer"},
                    "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
                }
                for path, operations in schema["paths"].items():
                    if not path.startswith("/health"):
                        for operation in operations.values():
                            operation["security"] = [{"bearer": []}, {"key": []}]
            api.openapi_schema = schema
        return api.openapi_schema

    api.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way of extending the document
