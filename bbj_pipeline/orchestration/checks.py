"""The data-quality checks of every source as Dagster asset checks: partitioned, blocking, and before publishing.

What is expected stands in ``quality``. A finding is remembered for the state of the file it was made from, so that checking an
unchanged instance costs nothing. A failed check ends the run, and the served rows stay as they were.
"""

# Annotations stay real here (no `from __future__ import annotations`): Dagster reads the types of context and resources.

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import dagster as dg

from bbj_pipeline.orchestration.failures import classified
from bbj_pipeline.orchestration.graph import partitions_of
from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.orchestration.quality import QUALITY_VERSION, Finding, judge_chunks, judge_rejects, judge_tags
from bbj_pipeline.orchestration.stage_names import CHUNKS, PARSED_TOPICS, TAGGED_DOCS
from bbj_pipeline.records import InstanceRef, content_hash
from bbj_pipeline.sources.config import ConfiguredInstance
from bbj_pipeline.sources.contract import Source
from bbj_pipeline.storage.stage_files import StageFile, StageStore

__all__ = ["build_source_checks"]

_CheckDecorator = Callable[[Callable[..., dg.AssetCheckResult]], dg.AssetChecksDefinition]


def build_source_checks(*, source: Source[Any], instances: Sequence[ConfiguredInstance]) -> list[dg.AssetChecksDefinition]:
    """Build the three blocking checks of one source kind."""
    kind = source.kind
    options = {item.ref.instance: item.options for item in instances}
    partitions = partitions_of(instances)

    def check(stage: str, name: str, description: str) -> _CheckDecorator:
        return dg.asset_check(asset=[kind, stage], name=name, description=description, blocking=True, partitions_def=partitions)

    @check(PARSED_TOPICS, "rejects_bounded", "At most max_reject_share of the documents are rejected.")
    def rejects_bounded(context: dg.AssetCheckExecutionContext, platform: dg.ResourceParam[Platform]) -> dg.AssetCheckResult:
        limit = options[context.partition_key].max_reject_share
        return _checked(platform.store, _at(context), "rejects_bounded", limit, lambda file: judge_rejects(file, limit=limit))

    @check(TAGGED_DOCS, "tag_coverage", "Every label is a generation with evidence; enough documents carry one.")
    def tag_coverage(context: dg.AssetCheckExecutionContext, platform: dg.ResourceParam[Platform]) -> dg.AssetCheckResult:
        floor = options[context.partition_key].min_tag_coverage
        return _checked(platform.store, _at(context), "tag_coverage", floor, lambda file: judge_tags(file, floor=floor))

    @check(CHUNKS, "chunk_sizes", "Every chunk fits the embedding model's window, has a header and balanced fences.")
    def chunk_sizes(context: dg.AssetCheckExecutionContext, platform: dg.ResourceParam[Platform]) -> dg.AssetCheckResult:
        window = platform.tokenizer.window
        return _checked(platform.store, _at(context), "chunk_sizes", window, lambda file: judge_chunks(file, window=window))

    return [rejects_bounded, tag_coverage, chunk_sizes]


def _at(context: dg.AssetCheckExecutionContext) -> tuple[InstanceRef, str]:
    kind, stage = context.check_specs[0].asset_key.path
    return InstanceRef(kind, context.partition_key), stage


def _checked(
    store: StageStore, at: tuple[InstanceRef, str], name: str, limit: float, judge: Callable[[StageFile], Finding]
) -> dg.AssetCheckResult:
    """Judge a stage file, or recall the finding made from this very state of it under this limit."""
    ref, stage = at
    with classified():
        file = store.load(ref, stage)
        token = content_hash([QUALITY_VERSION, file.info.data_version, limit])
        kept = store.recall(ref, name, token)
        finding = judge(file) if kept is None else Finding(**kept)
        if kept is None:
            store.remember(ref, name, token, dataclasses.asdict(finding))
    texts = {key: dg.MetadataValue.md(text) for key, text in finding.texts.items()}
    return dg.AssetCheckResult(passed=finding.passed, description=finding.description, metadata={**finding.numbers, **texts})
