"""Publishes exports through the real steps with vectors of no meaning, for tests of what is computed across sources."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bbj_pipeline.orchestration.steps.embed import embed_chunks
from bbj_pipeline.orchestration.steps.export import export_raw
from bbj_pipeline.orchestration.steps.publish import publish_chunks
from bbj_pipeline.orchestration.steps.transform import chunk_docs, parse_raw, tag_topics
from bbj_pipeline.orchestration.steps.workplace import StepResult, Workplace
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.sources.config import ConfiguredInstance, build_options
from bbj_pipeline.sources.registry import get_source
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.stage_files import StageDraft, StageFile, StageStore
from bbj_pipeline_tests.fakes import CountingEmbedder, MemoryCache, WordTokenizer


def publish_export(database: Database, store: Path, kind: str, instance: str, options: Mapping[str, Any]) -> None:
    """Take one export from its raw documents to the served table."""
    source = get_source(kind)
    built = build_options(source, options, base=store, where=f"{kind}/{instance}")
    at = Workplace(ConfiguredInstance(InstanceRef(kind, instance), source, built), StageStore(str(store)), "test")
    embedder = CountingEmbedder()
    chunks = committed(
        chunk_docs(at, committed(tag_topics(at, committed(parse_raw(at, committed(export_raw(at)))))), WordTokenizer())
    )
    embeddings = committed(embed_chunks(at, chunks, embedder, MemoryCache(), batch=64))
    publish_chunks(at, chunks, embeddings, database, embedder)


def committed(result: StepResult) -> StageFile:
    return result.output.commit() if isinstance(result.output, StageDraft) else result.output
