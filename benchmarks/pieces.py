"""Chunks to measure with: the configured exports through the real steps, in a temporary store, without database or Dagster."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import islice

from bbj_pipeline.models import load_tokenizer
from bbj_pipeline.orchestration.steps.export import export_raw
from bbj_pipeline.orchestration.steps.transform import chunk_docs, parse_raw, tag_topics
from bbj_pipeline.orchestration.steps.workplace import StepResult, Workplace
from bbj_pipeline.records import Chunk
from bbj_pipeline.settings import Settings
from bbj_pipeline.sources.config import load_sources
from bbj_pipeline.storage import stage_records
from bbj_pipeline.storage.stage_files import StageDraft, StageFile, StageStore
from bbj_pipeline.storage.stage_units import read_records

__all__ = ["chunks_of_sources"]


def chunks_of_sources(settings: Settings, most: int) -> list[Chunk]:
    """Return up to ``most`` chunks of the configured instances, about evenly from each while they last."""
    instances = load_sources(settings.sources_file)
    with tempfile.TemporaryDirectory() as folder:
        store = StageStore(folder)
        streams = []
        for instance in instances:
            at = Workplace(instance, store, "benchmark")
            tagged = _file(tag_topics(at, _file(parse_raw(at, _file(export_raw(at))))))
            streams.append(_chunks(_file(chunk_docs(at, tagged, load_tokenizer(settings)))))
        found: list[Chunk] = []
        while streams and len(found) < most:
            share = max(1, (most - len(found)) // len(streams))
            parts = [(stream, list(islice(stream, share))) for stream in streams]
            found += [chunk for _, part in parts for chunk in part]
            streams = [stream for stream, part in parts if len(part) == share]
        return found[:most]


def _chunks(file: StageFile) -> Iterator[Chunk]:
    return (item for item in read_records(file, stage_records.CHUNKS) if isinstance(item, Chunk))


def _file(result: StepResult) -> StageFile:
    return result.output.commit() if isinstance(result.output, StageDraft) else result.output
