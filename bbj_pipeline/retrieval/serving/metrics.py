"""Prometheus metrics of one service. Labels are closed lists: no question, key, address or id ever is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

__all__ = ["Metrics"]

SECONDS = (0.005, 0.01, 0.02, 0.04, 0.06, 0.1, 0.2, 0.5, 1, 2, 5, 10)


class Metrics:
    """Counters of one service in a registry of its own; ``pending`` tells the work that runs or waits."""

    def __init__(self, pending: Callable[[], int]) -> None:
        # else each counter has a second series, with the time it began
        disable_created_metrics()  # type: ignore[no-untyped-call]  # not annotated in the library
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self.requests = Counter(
            "bbj_requests", "Requests by route, method and status.", ["route", "method", "status"], registry=self._registry
        )
        self.seconds = Histogram(
            "bbj_request_seconds", "Time to the end of the answer.", ["route"], buckets=SECONDS, registry=self._registry
        )
        self.searches = Counter(
            "bbj_searches", "Answered searches by face, hinted generation and whether there was a hit.",
            ["face", "generation", "found"], registry=self._registry,
        )  # fmt: skip
        self.feedback = Counter("bbj_feedback", "Feedback by what it says.", ["useful"], registry=self._registry)
        self.reranks = Counter(
            "bbj_reranks", "Answered searches by what became of their reranking.", ["outcome"], registry=self._registry
        )
        self.rerank_seconds = Histogram(
            "bbj_rerank_seconds",
            "Time a reranker took, or had when it was not enough.",
            buckets=SECONDS,
            registry=self._registry,
        )
        Gauge("bbj_work_pending", "Work that runs or waits for a thread.", registry=self._registry).set_function(pending)

    def searched(self, face: str, answer: Mapping[str, Any]) -> None:
        """Count an answered search."""
        self.searches.labels(face, answer["generation"] or "none", "yes" if answer["hits"] else "no").inc()
        self.reranks.labels("reranked" if answer["reranked"] else answer["rerank_reason"]).inc()
        if "rerank_milliseconds" in answer:
            self.rerank_seconds.observe(answer["rerank_milliseconds"] / 1000)

    def exposition(self) -> bytes:
        """Return all of them in Prometheus's text format."""
        return generate_latest(self._registry)
