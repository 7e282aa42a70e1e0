"""Search over the published chunks: five stages, each visible in ``explain``. Runs without Dagster installed or imported.

The stages that are arithmetic are pure modules of their own (``fusion``, ``generation``); SQL is loaded from ``sql/``. Nothing
here writes to the database.
"""

from bbj_pipeline.retrieval.contract import Candidate, Reranker, SearchHit, SearchResponse
from bbj_pipeline.retrieval.rendering import render_text
from bbj_pipeline.retrieval.search import SearchConfig, Searcher

__all__ = ["Candidate", "Reranker", "SearchConfig", "SearchHit", "SearchResponse", "Searcher", "render_text"]
