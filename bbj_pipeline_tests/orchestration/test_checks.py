"""Checks in real Dagster runs: what blocks stops the run before anything after it, what warns lets it pass and says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest

from bbj_pipeline.orchestration.build import build_definitions
from bbj_pipeline.orchestration.checks import build_source_checks
from bbj_pipeline.orchestration.io import StageFileIOManager
from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.orchestration.steps.workplace import StepResult
from bbj_pipeline.records import Chunk, InstanceRef
from bbj_pipeline.settings import Settings
from bbj_pipeline.sources.config import load_sources
from bbj_pipeline.storage import stage_records
from bbj_pipeline.storage.stage_units import UnitWriter
from bbj_pipeline_tests.orchestration.test_quality import CHUNK, DOC

REF = InstanceRef("mdx", "dwc-guide")


def executed(settings: Settings, platform: Platform, stages: Sequence[str]) -> dg.ExecuteInProcessResult:
    """Run the first stages of the sample guide with their checks."""
    job = build_definitions(settings, platform=platform, max_retries=0).resolve_job_def("mdx_refresh")
    return job.execute_in_process(
        partition_key=REF.instance,
        asset_selection=[dg.AssetKey(["mdx", stage]) for stage in stages],
        raise_on_error=False,
        run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
    )


def test_an_unknown_share_over_its_floor_warns_and_goes_on(configured: Settings, exports: Path, platform: Platform) -> None:
    """With every document expected to carry a label, the one page without is named, and the stage after it is made."""
    config = exports / "sources.yaml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("path: mdx/dwc-guide", "path: mdx/dwc-guide\n    min_tag_coverage: 1"), encoding="utf-8")
    result = executed(configured, platform, ["raw_export", "parsed_topics", "tagged_docs", "chunks"])
    assert result.success
    found = {item.check_name: item for item in result.get_asset_check_evaluations()}
    warned = found["unknown_share"]
    assert (warned.passed, warned.blocking, warned.severity) == (False, False, dg.AssetCheckSeverity.WARN)
    assert "Remedy: add a cue" in (warned.description or "")
    assert "docs/05-deployment/contributing.md" in str(warned.metadata["unknown_documents"].value)
    assert {name for name, item in found.items() if not item.passed} == {"unknown_share"}
    assert platform.store.load(REF, "chunks").info.rows > 0


def test_too_many_rejects_block_the_next_stage(configured: Settings, exports: Path, platform: Platform) -> None:
    """When most pages are broken, tagging does not begin, and the check lists them with their reasons."""
    for page in (exports / "mdx" / "dwc-guide").rglob("*.md"):
        page.write_text("---\ntitle: [unclosed\n---\n", encoding="utf-8")
    result = executed(configured, platform, ["raw_export", "parsed_topics", "tagged_docs"])
    assert not result.success
    (blocked,) = [item for item in result.get_asset_check_evaluations() if not item.passed]
    assert (blocked.check_name, blocked.blocking, blocked.severity) == ("rejects_bounded", True, dg.AssetCheckSeverity.ERROR)
    assert "docs/index.md" in str(blocked.metadata["rejects"].value)
    assert platform.store.find(REF, "tagged_docs") is None


@pytest.mark.parametrize(
    ("name", "damaged"),
    [
        ("fences_balanced", replace(CHUNK, content=f"{CHUNK.content}\n```bbj\nPRINT 'BR'")),
        ("chunk_window", replace(CHUNK, tokens=5_000)),
        ("blocks_covered", replace(CHUNK, content="PRINT")),
    ],
)
def test_damaged_chunks_block_what_comes_after(configured: Settings, platform: Platform, name: str, damaged: Chunk) -> None:
    """A torn fence, a chunk over the window and a lost word each stop the run: what would embed the chunks is not called."""
    instances = [item for item in load_sources(configured.sources_file) if item.ref == REF]
    partitions = dg.StaticPartitionsDefinition([REF.instance])
    called: list[str] = []

    def written(stage: str, codec: stage_records.Codec[object], record: object) -> StepResult:
        draft = platform.store.draft(REF, stage, codec.schema)
        writer = UnitWriter(draft, codec)
        writer.add("a.md", "hash", [("a.md", record)])
        info = writer.finish(stage=stage, stage_version="1", input_version="1", complete=True, run_id="test")
        return StepResult(draft, info, {})

    @dg.asset(key=["mdx", "tagged_docs"], partitions_def=partitions, io_manager_key="stage_files")
    def tagged_docs() -> StepResult:
        return written("tagged_docs", stage_records.TAGGED, DOC)  # type: ignore[arg-type]

    @dg.asset(key=["mdx", "chunks"], deps=[tagged_docs], partitions_def=partitions, io_manager_key="stage_files")
    def chunks() -> StepResult:
        return written("chunks", stage_records.CHUNKS, damaged)  # type: ignore[arg-type]

    @dg.asset(key=["mdx", "embeddings"], deps=[chunks], partitions_def=partitions)
    def embeddings() -> None:
        called.append("embeddings")

    checks = [
        check
        for check in build_source_checks(source=instances[0].source, instances=instances, max_retries=0)
        if dg.AssetKey(["mdx", "parsed_topics"]) not in {spec.asset_key for spec in check.check_specs}
    ]
    result = dg.materialize(
        [tagged_docs, chunks, embeddings, *checks],
        partition_key=REF.instance,
        raise_on_error=False,
        resources={"platform": platform, "stage_files": StageFileIOManager(platform, max_retries=0)},
        run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
    )
    assert not result.success
    failed = {item.check_name for item in result.get_asset_check_evaluations() if not item.passed and item.blocking}
    assert failed == {name}
    assert called == []
