"""The factory of the asset graphs: one call a source kind gives its six stages, partitioned by configured instance.

An asset's body hands its inputs to a step and reports what the step says; loops and rules live in the steps and stages.
"""

# Annotations stay real here (no `from __future__ import annotations`): Dagster reads the types of context and resources.

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from bbj_pipeline.orchestration.automation import react_to_content
from bbj_pipeline.orchestration.dead_runs import mark_process
from bbj_pipeline.orchestration.failures import classified
from bbj_pipeline.orchestration.freshness import freshness_policy
from bbj_pipeline.orchestration.marked_export import WAITING, Waiting, export_when_complete
from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.orchestration.pools import EMBEDDER_POOL, HEAVY, PGVECTOR_WRITE_POOL, export_pool
from bbj_pipeline.orchestration.presentation import numbers, served_metadata
from bbj_pipeline.orchestration.publication_report import (
    PublishConfig,
    held_result,
    publication_metadata,
    withheld_result,
)
from bbj_pipeline.orchestration.stage_names import CHUNKS, EMBEDDINGS, PARSED_TOPICS, PGVECTOR_TABLE, RAW_EXPORT, TAGGED_DOCS
from bbj_pipeline.orchestration.steps.embed import embed_chunks
from bbj_pipeline.orchestration.steps.publish import publish_chunks
from bbj_pipeline.orchestration.steps.transform import chunk_docs, parse_raw, tag_topics
from bbj_pipeline.orchestration.steps.workplace import StepResult, Workplace
from bbj_pipeline.sources.config import ConfiguredInstance
from bbj_pipeline.sources.contract import Source
from bbj_pipeline.stages.chunking import CHUNKER_VERSION
from bbj_pipeline.stages.embedding import EMBED_VERSION
from bbj_pipeline.stages.modernisation import FACTS_VERSION
from bbj_pipeline.stages.tagging import TAGGER_VERSION
from bbj_pipeline.storage.embedding_cache import DatabaseEmbeddingCache
from bbj_pipeline.storage.rows import ROW_VERSION
from bbj_pipeline.storage.stage_files import StageFile

__all__ = ["build_source_assets", "partitions_of"]

_DESCRIPTIONS = {
    RAW_EXPORT: "Raw documents as the source gives them: bytes by their hash, and a manifest of keys.",
    PARSED_TOPICS: "Topics as trees of typed blocks, and a named reject for every document that could not be used.",
    TAGGED_DOCS: "Topics with their BBj generations, the evidence of each label, and their document type.",
    CHUNKS: "Retrievable passages with contextual headers, sized by document type in the embedding model's tokens.",
    EMBEDDINGS: "One unit vector a chunk; each distinct text is computed once.",
    PGVECTOR_TABLE: "The served rows of doc_chunks; readers see the publication before or this one, never a mix.",
}


def partitions_of(instances: Sequence[ConfiguredInstance]) -> dg.StaticPartitionsDefinition:
    """Return the partitions of a kind: the names of its configured instances."""
    return dg.StaticPartitionsDefinition([item.ref.instance for item in instances])


def build_source_assets(
    *, source: Source[Any], instances: Sequence[ConfiguredInstance], max_retries: int
) -> list[dg.AssetsDefinition]:
    """Build the six assets ``[kind, stage]`` of one source kind; what is unavailable is tried ``max_retries`` times more."""
    kind = source.kind
    by_name = {item.ref.instance: item for item in instances}
    partitions = partitions_of(instances)

    def at(context: dg.AssetExecutionContext, platform: Platform) -> Workplace:
        mark_process(context.instance, context.run)
        return Workplace(by_name[context.partition_key], platform.store, context.run_id)

    def output(context: dg.AssetExecutionContext, step: Callable[[], StepResult]) -> dg.Output[StepResult]:
        """Run a step; its data version says whether anything after it has to run."""
        started = time.perf_counter()
        with classified(max_retries, where=_where(context), attempt=context.retry_number):
            result = step()
        return _output(result, started)

    def stage(
        name: str,
        *,
        code_version: str,
        kinds: set[str],
        upstream: Sequence[str] = (),
        check_specs: Sequence[dg.AssetCheckSpec] = (),
        pool: str | None = None,
        freshness: dg.FreshnessPolicy | None = None,
        output_required: bool = True,
    ) -> Callable[..., Any]:
        return dg.asset(
            key=[kind, name],
            ins={upstream_name: dg.AssetIn(key=[kind, upstream_name]) for upstream_name in upstream},
            group_name=kind,
            description=f"{source.title}. {_DESCRIPTIONS[name]}",
            kinds=kinds,
            partitions_def=partitions,
            io_manager_key="stage_files",
            code_version=code_version,
            check_specs=list(check_specs),
            pool=pool,
            op_tags=HEAVY.get(name),
            automation_condition=react_to_content() if upstream else None,
            freshness_policy=freshness,
            output_required=output_required,
        )

    @stage(RAW_EXPORT, code_version=source.parser_version, kinds={"python"}, pool=export_pool(kind), output_required=False)
    def raw_export(context: dg.AssetExecutionContext, platform: dg.ResourceParam[Platform]) -> Iterator[dg.Output[StepResult]]:
        started = time.perf_counter()
        with classified(max_retries, where=_where(context), attempt=context.retry_number):
            outcome = export_when_complete(at(context, platform), context.instance)
        if isinstance(outcome, Waiting):  # no result: the stages after it are skipped, and what is served ages
            context.log.warning(outcome.reason)
            context.instance.add_run_tags(context.run_id, {WAITING: outcome.reason})
        else:
            yield _output(outcome.step, started, outcome.metadata)

    @stage(PARSED_TOPICS, code_version=source.parser_version, kinds={"parquet"}, upstream=[RAW_EXPORT])
    def parsed_topics(
        context: dg.AssetExecutionContext, platform: dg.ResourceParam[Platform], raw_export: StageFile
    ) -> dg.Output[StepResult]:
        return output(context, lambda: parse_raw(at(context, platform), raw_export))

    @stage(TAGGED_DOCS, code_version=f"{TAGGER_VERSION}.{FACTS_VERSION}", kinds={"parquet"}, upstream=[PARSED_TOPICS])
    def tagged_docs(
        context: dg.AssetExecutionContext, platform: dg.ResourceParam[Platform], parsed_topics: StageFile
    ) -> dg.Output[StepResult]:
        return output(context, lambda: tag_topics(at(context, platform), parsed_topics))

    @stage(CHUNKS, code_version=CHUNKER_VERSION, kinds={"parquet"}, upstream=[TAGGED_DOCS])
    def chunks(
        context: dg.AssetExecutionContext, platform: dg.ResourceParam[Platform], tagged_docs: StageFile
    ) -> dg.Output[StepResult]:
        return output(context, lambda: chunk_docs(at(context, platform), tagged_docs, platform.tokenizer))

    @stage(EMBEDDINGS, code_version=EMBED_VERSION, kinds={"pytorch"}, upstream=[CHUNKS], pool=EMBEDDER_POOL)
    def embeddings(
        context: dg.AssetExecutionContext, platform: dg.ResourceParam[Platform], chunks: StageFile
    ) -> dg.Output[StepResult]:
        return output(
            context,
            lambda: embed_chunks(
                at(context, platform),
                chunks,
                platform.embedder,
                DatabaseEmbeddingCache(platform.database),
                batch=platform.settings.embedding_batch,
                listener=platform.listener,
            ),
        )

    nothing_withheld = dg.AssetCheckSpec(
        "nothing_withheld",
        asset=dg.AssetKey([kind, PGVECTOR_TABLE]),
        description="No deletion waits: the export was complete, and not too much of it had vanished.",
        partitions_def=partitions,
    )

    nothing_held = dg.AssetCheckSpec(
        "nothing_held",
        asset=dg.AssetKey([kind, PGVECTOR_TABLE]),
        description="What the sources say is what is served: no content is held back since a rollback.",
        partitions_def=partitions,
    )

    @stage(
        PGVECTOR_TABLE,
        code_version=str(ROW_VERSION),
        kinds={"postgres"},
        upstream=[CHUNKS, EMBEDDINGS],
        check_specs=[nothing_withheld, nothing_held],
        pool=PGVECTOR_WRITE_POOL,
        freshness=freshness_policy(instances),
    )
    def pgvector_table(
        context: dg.AssetExecutionContext,
        config: PublishConfig,
        platform: dg.ResourceParam[Platform],
        chunks: StageFile,
        embeddings: StageFile,
    ) -> dg.MaterializeResult:  # type: ignore[type-arg]  # Dagster wants the bare class here
        started = time.perf_counter()
        ref = by_name[context.partition_key].ref
        with classified(max_retries, where=_where(context), attempt=context.retry_number):
            outcome = publish_chunks(
                at(context, platform),
                chunks,
                embeddings,
                platform.database,
                platform.embedder,
                approve_deletions=config.approve_deletions,
            )
            served = served_metadata(context, platform, chunks, started, changed=outcome.status == "published")
        return dg.MaterializeResult(
            data_version=dg.DataVersion(embeddings.info.data_version),
            metadata=_metadata(outcome.counts, started) | publication_metadata(outcome) | served,
            check_results=[withheld_result(outcome, ref, complete=embeddings.info.complete), held_result(outcome)],
        )

    return [raw_export, parsed_topics, tagged_docs, chunks, embeddings, pgvector_table]


def _output(result: StepResult, started: float, metadata: Mapping[str, str] | None = None) -> dg.Output[StepResult]:
    version = dg.DataVersion(result.info.data_version)
    return dg.Output(result, data_version=version, metadata=_metadata(result.counts, started) | dict(metadata or {}))


def _where(context: dg.AssetExecutionContext) -> str:
    kind, stage = context.asset_key.path
    return f"{kind}/{context.partition_key}, {stage}"


def _metadata(counts: Mapping[str, int], started: float) -> dict[str, Any]:
    return numbers(counts, time.perf_counter() - started)
