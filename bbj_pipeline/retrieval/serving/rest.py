"""The REST routes: each turns one request into one call of the service. Checks and errors belong to ``asked`` and
``problems``.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from starlette.responses import JSONResponse

from bbj_pipeline import __version__
from bbj_pipeline.retrieval.request import MAX_NEIGHBOURS
from bbj_pipeline.retrieval.serving.asgi import notes
from bbj_pipeline.retrieval.serving.asked import CHUNK_ID, FeedbackBody, SearchBody
from bbj_pipeline.retrieval.serving.metrics import Metrics
from bbj_pipeline.retrieval.serving.problems import PROBLEM_TYPE
from bbj_pipeline.retrieval.serving.service import Service
from bbj_pipeline.retrieval.serving.state import Health, Liveness, Readiness, Stats
from bbj_pipeline.retrieval.serving.told import Answer, ChunkDetail, FeedbackReceipt, Problem

__all__ = ["create_router"]

_MEANINGS = {
    400: "The body is not JSON.",
    401: "A key is asked for, and none that is valid was sent.",
    404: "No such chunk or source is served.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    421: "The service is not known under this host name.",
    422: "The request is not understood, or cannot be answered.",
    429: "This caller has used up his requests.",
    503: "Overloaded, or a part is missing; Retry-After says when to come again.",
}


def _problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    content = {PROBLEM_TYPE: {"schema": Problem.model_json_schema()}}
    return {status: {"description": _MEANINGS[status], "content": content} for status in statuses}


_ASKING = _problems(401, 421, 422, 429, 503)
_SENDING = _ASKING | _problems(400, 408, 413)
_NOT_READY: dict[int | str, dict[str, Any]] = {503: {"description": "Not ready; the parts say why."}}


def create_router(service: Service, metrics: Metrics, *, log_queries: bool) -> APIRouter:
    """Return the routes over ``service``."""
    router = APIRouter()

    @router.post(
        "/search",
        response_model=Answer,
        response_model_exclude_unset=True,
        responses=_SENDING | _problems(404),
        tags=["search"],
    )
    async def search(request: Request, body: SearchBody) -> dict[str, Any]:
        """Find the best passages for a question, the hinted generation first."""
        about = notes(request.scope)
        about["generation"] = body.generation
        if log_queries:
            about["query"] = body.query
        answer = await service.search(body)
        about["hits"] = len(answer["hits"])
        about["reranked"] = answer["reranked"]
        metrics.searched("rest", answer)
        return answer

    @router.get("/chunks/{chunk_id}", response_model=ChunkDetail, responses=_ASKING | _problems(404), tags=["search"])
    async def chunk(
        chunk_id: Annotated[str, Path(pattern=CHUNK_ID, description="The id of a hit.")],
        neighbours: Annotated[
            int, Query(ge=0, le=MAX_NEIGHBOURS, description="Chunks before and after it to return as well.")
        ] = 0,
    ) -> dict[str, Any]:
        """Open a chunk: its text, where it comes from, and what stands around it in its document."""
        return await service.chunk(chunk_id, neighbours=neighbours)

    @router.post(
        "/feedback", response_model=FeedbackReceipt, status_code=201, responses=_SENDING | _problems(404), tags=["search"]
    )
    async def feedback(body: FeedbackBody) -> FeedbackReceipt:
        """Say whether a hit, or the answer as a whole, was useful. The question and the comment are stored."""
        number = await service.feedback(body)
        metrics.feedback.labels("yes" if body.useful else "no").inc()
        return FeedbackReceipt(id=number)

    @router.get("/stats", response_model=Stats, responses=_ASKING, tags=["operation"])
    async def stats() -> dict[str, Any]:
        """Tell what is served: instances with their publications, chunks by generation and document type."""
        return await service.stats()

    @router.get("/health/live", response_model=Liveness, tags=["operation"])
    async def live() -> Liveness:
        """The process answers; a process that does not should be restarted."""
        return Liveness(version=__version__)

    @router.get(
        "/health/ready", response_model=Readiness, responses={503: {**_NOT_READY[503], "model": Readiness}}, tags=["operation"]
    )
    async def ready() -> Response:
        """Whether a search would be answered: database, schema, space, model and reranker apart."""
        readiness = await service.readiness()
        return JSONResponse(readiness.model_dump(), status_code=200 if readiness.ok else 503)

    @router.get("/health", response_model=Health, responses={503: {**_NOT_READY[503], "model": Health}}, tags=["operation"])
    async def health() -> Response:
        """Both: live and ready."""
        both = Health(live=Liveness(version=__version__), ready=await service.readiness())
        return JSONResponse(both.model_dump(), status_code=200 if both.ready.ok else 503)

    @router.get(
        "/metrics",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **_ASKING},
        tags=["operation"],
    )
    async def prometheus() -> Response:
        """Metrics in Prometheus's text format."""
        return Response(metrics.exposition(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return router
