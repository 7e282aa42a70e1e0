"""Everything the faces can do, once a process: one searcher, one model, one pool of connections, bounded threads.

Knows neither HTTP nor MCP. Questions and answers are the models of ``asked`` and ``told``; failures are the project's errors.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from bbj_pipeline.errors import ConfigurationError, NotFound, PipelineError, SchemaError
from bbj_pipeline.retrieval.search import Searcher
from bbj_pipeline.retrieval.serving.asked import FeedbackBody, Question
from bbj_pipeline.retrieval.serving.state import Part, Readiness
from bbj_pipeline.retrieval.serving.workers import Workers
from bbj_pipeline.settings import Settings
from bbj_pipeline.stages.contract import Embedder
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.feedback import Feedback, add_feedback, add_gap
from bbj_pipeline.storage.publications import status as published
from bbj_pipeline.storage.served import count_served, fetch_served_chunk, missing_migrations, served_space
from bbj_pipeline.storage.spaces import Space

__all__ = ["Service"]

READ_SECONDS = 10.0
"""Time-out of a statement that reads a chunk or counts."""
_PROVENANCE = (
    "raw_key", "raw_sha256", "text_hash", "last_updated", "publication_id", "run_id", "published_at", "code_versions",
)  # fmt: skip
log = logging.getLogger(__name__)


class Service:
    """The searcher and what it needs, behind coroutines. ``close`` waits for running work; the database is the caller's."""

    def __init__(self, database: Database, embedder: Embedder, searcher: Searcher, settings: Settings) -> None:
        self._database = database
        self._embedder = embedder
        self._searcher = searcher
        self._settings = settings
        self.workers = Workers(
            threads=settings.serve_threads, queue=settings.serve_queue, seconds=settings.request_seconds, name="bbj-serve"
        )
        # Readiness is asked for when the service is busy, too: it does not queue behind searches.
        self._checks = Workers(threads=1, queue=16, seconds=settings.request_seconds, name="bbj-health")

    def warm(self) -> None:
        """Load the models, so that the first question is as fast as the next; raises ``ModelError`` when one is missing."""
        self._embedder.embed_query("warm")
        if self._searcher.reranker is not None:
            self._searcher.reranker.warm()

    def close(self) -> None:
        """Wait for running work and end the threads."""
        self.workers.close()
        self._checks.close()

    async def search(self, question: Question) -> dict[str, Any]:
        """Return the answer as JSON data; see ``Searcher.search`` for the errors."""
        return await self.workers.run(lambda: self._search(question))

    async def chunk(self, identity: str, *, neighbours: int) -> dict[str, Any]:
        """Return a chunk with provenance and neighbours; raise ``NotFound`` when it is not served."""
        return await self.workers.run(lambda: self._chunk(identity, neighbours))

    async def stats(self) -> dict[str, Any]:
        """Return what is served, by instance, generation and document type."""
        return await self.workers.run(self._stats)

    async def feedback(self, body: FeedbackBody) -> int:
        """Store feedback and return its number; raise ``NotFound`` when its chunk is not served."""
        return await self.workers.run(lambda: self._feedback(body))

    async def readiness(self) -> Readiness:
        """Tell, part by part, whether a search would be answered."""
        return await self._checks.run(self._readiness)

    def _search(self, question: Question) -> dict[str, Any]:
        answer = self._searcher.search(question.query, **question.options).to_json()
        if self._settings.log_queries:
            self._note_gap(answer)
        return answer

    def _note_gap(self, answer: dict[str, Any]) -> None:
        """Count a question with a weak answer for the writers; whoever asked gets his answer even when that fails."""
        hits = answer["hits"]
        strength = answer["confidence"]
        if hits and strength >= self._settings.gap_floor:
            return
        try:
            add_gap(self._database, answer["query"], answer["generation"], hits=len(hits), strength=strength)
        except PipelineError as error:
            log.warning("a question without a good answer was not recorded: %s", error)

    def _chunk(self, identity: str, neighbours: int) -> dict[str, Any]:
        with self._database.snapshot(timeout=READ_SECONDS) as connection:
            chunk = fetch_served_chunk(connection, identity, neighbours=neighbours)
        if chunk is None:
            raise NotFound(
                f"no chunk {identity} is served", remedy="take the id from a fresh search; the document may have changed"
            )
        return {**chunk, "provenance": {name: chunk.pop(name) for name in _PROVENANCE}}

    def _stats(self) -> dict[str, Any]:
        with self._database.snapshot(timeout=READ_SECONDS) as connection:
            space = served_space(connection)
            counts = count_served(connection, space)
        rows = [row for row in published(self._database) if row.space_id == space.id]
        return {
            "fingerprint": space.fingerprint,
            "dimension": space.dimension,
            "chunks": counts.chunks,
            "instances": {
                f"{row.kind}/{row.instance}": {
                    "chunks": counts.instances[f"{row.kind}/{row.instance}"],
                    "publication_id": row.publication_id,
                    "run_id": row.run_id,
                    "published_at": row.published_at,
                    "complete": row.complete,
                }
                for row in rows
            },
            "generations": dict(counts.generations),
            "doc_types": dict(counts.doc_types),
        }

    def _feedback(self, body: FeedbackBody) -> int:
        number = add_feedback(self._database, Feedback(**body.model_dump()))
        if number is None:
            raise NotFound(f"no chunk {body.chunk_id} is served", remedy="take the id from the answer, or leave it out")
        return number

    def _readiness(self) -> Readiness:
        found: dict[str, Space] = {}

        def database() -> str:
            with self._database.direct_connection() as connection:
                connection.execute("select 1")
            return "answers"

        def schema() -> str:
            with self._database.direct_connection() as connection:
                missing = missing_migrations(connection)
            if missing:
                raise SchemaError(f"the migration {missing[0]} has not run", remedy="run 'bbj-pipeline migrate'")
            return "is current"

        def space() -> str:
            with self._database.direct_connection() as connection:
                found["space"] = served_space(connection)
            return found["space"].fingerprint

        def model() -> str:
            mine = self._embedder.fingerprint
            served = found.get("space")
            if served is not None and served.fingerprint != mine:
                raise ConfigurationError(
                    f"what is served was embedded as {served.fingerprint!r}, questions would be as {mine!r}",
                    remedy="set BBJ_EMBEDDING_MODEL to the served model, or publish every instance with the new one",
                )
            return mine

        def reranker() -> str:
            return "off" if self._searcher.reranker is None else self._searcher.reranker.name

        checks = (database, schema, space, model, reranker)
        parts = {check.__name__: _part(check) for check in checks}
        return Readiness(ok=all(part.ok for part in parts.values()), **parts)


def _part(check: Callable[[], str]) -> Part:
    try:
        return Part(ok=True, what=check())
    except PipelineError as error:
        return Part(ok=False, what=error.what, remedy=error.remedy)
