"""Failures as ``application/problem+json`` (RFC 9457): what happened and what to do, never a traceback.

Which error has which status stands here once. Nothing is decided about a request.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from bbj_pipeline.errors import NotFound, PipelineError, RejectedInput, Unavailable

__all__ = ["PROBLEM_TYPE", "install_handlers", "problem", "status_of"]

PROBLEM_TYPE = "application/problem+json"
RETRY_SECONDS = 5
"""When to come again if the one who failed did not say."""
MAX_MISTAKES = 10
MAX_WORDS = 300
_REMEDIES = {
    404: "see /docs for what there is",
    405: "use the method that the Allow header names",
    400: "send the JSON that /docs describes",
}


def problem(
    status: int,
    detail: str,
    remedy: str,
    *,
    headers: Mapping[str, str] | None = None,
    errors: Sequence[Mapping[str, str]] = (),
) -> JSONResponse:
    """Return the response of one failure."""
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "remedy": remedy,
    }
    if errors:
        body["errors"] = list(errors)
    return JSONResponse(body, status_code=status, headers=dict(headers or {}), media_type=PROBLEM_TYPE)


def status_of(error: PipelineError) -> int:
    """Return 404, 422 or 503: everything else that fails on purpose is an installation that cannot answer yet."""
    if isinstance(error, NotFound):
        return 404
    return 422 if isinstance(error, RejectedInput) else 503


def install_handlers(app: FastAPI) -> None:
    """Answer every failure of ``app`` with a problem."""

    @app.exception_handler(PipelineError)
    async def failed(_: Request, error: PipelineError) -> JSONResponse:
        status = status_of(error)
        wait = getattr(error, "retry_after", None) if isinstance(error, Unavailable) else None
        headers = {"Retry-After": str(math.ceil(wait or RETRY_SECONDS))} if status == 503 else {}
        return problem(status, error.what, error.remedy, headers=headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        mistakes = [_mistake(item) for item in error.errors()[:MAX_MISTAKES]]
        first = mistakes[0]
        return problem(
            422,
            f"the request is not understood ({first['where']}: {first['what']})",
            "correct what 'errors' lists; /docs shows the request with examples",
            errors=mistakes,
        )

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> JSONResponse:
        phrase = HTTPStatus(error.status_code).phrase.lower()
        remedy = _REMEDIES.get(error.status_code, "see /docs")
        return problem(error.status_code, phrase, remedy, headers=error.headers)

    @app.exception_handler(Exception)
    async def crashed(_: Request, __: Exception) -> JSONResponse:
        return problem(
            500, "the service failed in a way nobody foresaw", "report it with the time; the service's log has the cause"
        )


def _mistake(item: Mapping[str, Any]) -> dict[str, str]:
    """Return where and what; never what was sent, which may be long, secret, or no text at all."""
    if item["type"] == "json_invalid":
        return {"where": "body", "what": f"is no JSON ({item['ctx']['error']} at character {item['loc'][-1]})"[:MAX_WORDS]}
    where = ".".join(str(part) for part in item["loc"])
    return {"where": where.encode(errors="replace").decode()[:MAX_WORDS], "what": str(item["msg"])[:MAX_WORDS]}
