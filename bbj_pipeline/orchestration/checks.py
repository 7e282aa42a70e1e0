"""The data-quality checks of every source as Dagster asset checks: partitioned, and before publishing.

What is expected stands in ``quality`` and ``chunk_quality``. A blocking check that fails ends the run, and the served rows stay
as they were; any other is a warning. All checks of a stage are judged at once, and remembered for the state of the files they
were made from, so that checking an unchanged instance costs nothing.
"""

# Annotations stay real here (no `from __future__ import annotations`): Dagster reads the types of context and resources.

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import dagster as dg

from bbj_pipeline.orchestration.chunk_quality import judge_chunks, judge_coverage, judge_drift, uncovered
from bbj_pipeline.orchestration.failures import classified
from bbj_pipeline.orchestration.graph import partitions_of
from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.orchestration.quality import QUALITY_VERSION, TAGGED_FLOORS, Finding, judge_rejects, judge_tags, judge_vectors
from bbj_pipeline.orchestration.stage_names import CHUNKS, EMBEDDINGS, PARSED_TOPICS, TAGGED_DOCS
from bbj_pipeline.records import InstanceRef, content_hash
from bbj_pipeline.sources.config import ConfiguredInstance
from bbj_pipeline.sources.contract import Source
from bbj_pipeline.storage.corpus import published_generations
from bbj_pipeline.storage.stage_files import StageFile, StageStore

__all__ = ["BLOCKING", "CHECKS", "build_source_checks"]

CHECKS = {
    PARSED_TOPICS: {"rejects_bounded": "At most max_reject_share of the documents are rejected."},
    TAGGED_DOCS: {
        "labels_valid": "Every label is a generation of the closed list, with evidence.",
        "unknown_share": "Enough documents carry a generation.",
    },
    CHUNKS: {
        "chunk_window": "Every chunk has text, and fits the embedding model's window.",
        "fences_balanced": "No code fence is torn.",
        "blocks_covered": "The chunks of every document cover all its blocks.",
        "headers_present": "Every chunk has a contextual header.",
        "sizes_by_type": "Few chunks are over the target of their document type, few are tiny.",
        "prose_overlap": "Chunks that go on from the one before repeat 10 to 15 % of it.",
        "duplicate_share": "Few chunks have the very text of another.",
        "label_drift": "The generations are distributed as in what is published.",
    },
    EMBEDDINGS: {"vectors_usable": "Every chunk has a vector that is finite and not zero."},
}
"""The checks by stage, with what they say in the UI."""

BLOCKING = frozenset({"rejects_bounded", "labels_valid", "chunk_window", "fences_balanced", "blocks_covered"})
"""Where publishing would do harm: a broken export, a label search does not know, text the model or a reader would not get."""

_COVERED = "covered_units"


def build_source_checks(
    *, source: Source[Any], instances: Sequence[ConfiguredInstance], max_retries: int
) -> list[dg.AssetChecksDefinition]:
    """Build the checks of one source kind: one definition a stage, one check for each thing that can be wrong.

    What is unavailable meanwhile is tried ``max_retries`` times more, as in the stages.
    """
    kind = source.kind
    options = {item.ref.instance: item.options for item in instances}
    partitions = partitions_of(instances)

    def stage_checks(stage: str) -> Callable[..., dg.AssetChecksDefinition]:
        specs = [
            dg.AssetCheckSpec(name, asset=[kind, stage], description=text, blocking=name in BLOCKING, partitions_def=partitions)
            for name, text in CHECKS[stage].items()
        ]
        return dg.multi_asset_check(name=f"{kind}__{stage}_checks", specs=specs)

    def judging(context: dg.AssetCheckExecutionContext, stage: str) -> AbstractContextManager[None]:
        where = f"{kind}/{context.partition_key}, checks of {stage}"
        return classified(max_retries, where=where, attempt=context.op_execution_context.retry_number)

    @stage_checks(PARSED_TOPICS)
    def parsed_topics_checks(
        context: dg.AssetCheckExecutionContext, platform: dg.ResourceParam[Platform]
    ) -> Iterator[dg.AssetCheckResult]:
        ref = InstanceRef(kind, context.partition_key)
        limit = options[ref.instance].max_reject_share
        with judging(context, PARSED_TOPICS):
            findings = _judged(platform.store, ref, PARSED_TOPICS, [limit], lambda file: judge_rejects(file, limit=limit))
        yield from _results(ref, PARSED_TOPICS, findings)

    @stage_checks(TAGGED_DOCS)
    def tagged_docs_checks(
        context: dg.AssetCheckExecutionContext, platform: dg.ResourceParam[Platform]
    ) -> Iterator[dg.AssetCheckResult]:
        ref = InstanceRef(kind, context.partition_key)
        floor = options[ref.instance].min_tag_coverage
        wanted = TAGGED_FLOORS.get(kind, 0.5) if floor is None else floor
        with judging(context, TAGGED_DOCS):
            findings = _judged(platform.store, ref, TAGGED_DOCS, [wanted], lambda file: judge_tags(file, floor=wanted))
        yield from _results(ref, TAGGED_DOCS, findings)

    @stage_checks(CHUNKS)
    def chunks_checks(
        context: dg.AssetCheckExecutionContext, platform: dg.ResourceParam[Platform]
    ) -> Iterator[dg.AssetCheckResult]:
        ref = InstanceRef(kind, context.partition_key)
        with judging(context, CHUNKS):
            window = platform.tokenizer.window
            published = published_generations(platform.database, ref)

            def judge_all(file: StageFile) -> dict[str, Finding]:
                covered = _coverage(platform.store, ref, file)
                return judge_chunks(file, window=window) | covered | judge_drift(file, published)

            state = [window, sorted([list(labels), number] for labels, number in published.items())]
            findings = _judged(platform.store, ref, CHUNKS, state, judge_all)
        yield from _results(ref, CHUNKS, findings)

    @stage_checks(EMBEDDINGS)
    def embeddings_checks(
        context: dg.AssetCheckExecutionContext, platform: dg.ResourceParam[Platform]
    ) -> Iterator[dg.AssetCheckResult]:
        ref = InstanceRef(kind, context.partition_key)
        with judging(context, EMBEDDINGS):
            findings = _judged(platform.store, ref, EMBEDDINGS, [], judge_vectors)
        yield from _results(ref, EMBEDDINGS, findings)

    return [parsed_topics_checks, tagged_docs_checks, chunks_checks, embeddings_checks]


def _judged(
    store: StageStore, ref: InstanceRef, stage: str, state: Sequence[Any], judge: Callable[[StageFile], dict[str, Finding]]
) -> dict[str, Finding]:
    """Return the findings of a stage's checks: judged now, or recalled from this very state of the file and its limits."""
    file = store.load(ref, stage)
    token = content_hash([QUALITY_VERSION, file.info.data_version, *state])
    kept = store.recall(ref, f"{stage}_checks", token)
    if kept is not None:
        return {name: Finding(**finding) for name, finding in kept.items()}
    findings = judge(file)
    store.remember(ref, f"{stage}_checks", token, {name: dataclasses.asdict(finding) for name, finding in findings.items()})
    return findings


def _results(ref: InstanceRef, stage: str, findings: Mapping[str, Finding]) -> Iterator[dg.AssetCheckResult]:
    for name in CHECKS[stage]:
        finding = findings[name]
        texts = {key: dg.MetadataValue.md(text) for key, text in finding.texts.items()}
        yield dg.AssetCheckResult(
            asset_key=[ref.kind, stage],
            check_name=name,
            passed=finding.passed,
            severity=dg.AssetCheckSeverity.ERROR if name in BLOCKING else dg.AssetCheckSeverity.WARN,
            description=finding.description,
            metadata={**finding.numbers, **texts},
        )


def _coverage(store: StageStore, ref: InstanceRef, chunks: StageFile) -> dict[str, Finding]:
    """Judge the coverage of the documents that changed; the others were found covered before."""
    known = frozenset(store.recall(ref, _COVERED, QUALITY_VERSION) or ())
    missing, covered, documents = uncovered(store.load(ref, TAGGED_DOCS), chunks, known)
    current = {unit for table in chunks.row_groups(["unit_hash"]) for unit in table.column("unit_hash").to_pylist()}
    store.remember(ref, _COVERED, QUALITY_VERSION, sorted((known & current) | set(covered)))
    return judge_coverage(missing, documents)
