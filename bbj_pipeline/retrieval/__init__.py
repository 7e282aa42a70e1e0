"""Search over the published chunks: five stages, each visible in ``explain``. Runs without Dagster installed or imported.

The stages that are arithmetic are pure modules of their own (``bm25``, ``fusion``, ``generation``); SQL is loaded from
``sql/``. Nothing here writes to the database.
"""

from bbj_pipeline.retrieval.config import SearchConfig
from bbj_pipeline.retrieval.contract import Candidate, Groups, Reranker, Reranking, SearchHit, SearchResponse
from bbj_pipeline.retrieval.rendering import render_text
from bbj_pipeline.retrieval.request import SearchRequest
from bbj_pipeline.retrieval.search import Searcher

__all__ = [
    "Candidate",
    "Groups",
    "Reranker",
    "Reranking",
    "SearchConfig",
    "SearchHit",
    "SearchRequest",
    "SearchResponse",
    "Searcher",
    "render_text",
]
