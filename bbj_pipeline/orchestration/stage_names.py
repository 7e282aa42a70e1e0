"""The six stages of every source's graph, in order, and the keys of their assets."""

from __future__ import annotations

from typing import Final

__all__ = ["CHUNKS", "EMBEDDINGS", "PARSED_TOPICS", "PGVECTOR_TABLE", "RAW_EXPORT", "STAGES", "TAGGED_DOCS"]

RAW_EXPORT: Final = "raw_export"
PARSED_TOPICS: Final = "parsed_topics"
TAGGED_DOCS: Final = "tagged_docs"
CHUNKS: Final = "chunks"
EMBEDDINGS: Final = "embeddings"
PGVECTOR_TABLE: Final = "pgvector_table"
STAGES: Final = (RAW_EXPORT, PARSED_TOPICS, TAGGED_DOCS, CHUNKS, EMBEDDINGS, PGVECTOR_TABLE)
