"""The shape of what Dagster loads."""

from __future__ import annotations

import subprocess
import sys

import dagster as dg
import pytest

from bbj_pipeline.orchestration.build import build_definitions
from bbj_pipeline.orchestration.corpus import CORPUS_GROUP
from bbj_pipeline.orchestration.stage_names import STAGES
from bbj_pipeline.settings import SAMPLES_DIR, Settings
from bbj_pipeline.sources.config import load_sources
from bbj_pipeline.sources.registry import source_kinds

KINDS = ("bbj_source", "flare", "javadoc", "mdx", "pdf", "web_crawl", "wordpress")


@pytest.fixture(scope="module")
def definitions() -> dg.Definitions:
    return build_definitions(Settings(sources_file=SAMPLES_DIR / "sources.yaml"))


def sources_of(definitions: dg.Definitions) -> list[dg.AssetSpec]:
    """The assets of the seven kinds, without the reports over all of them."""
    return [spec for spec in definitions.resolve_all_asset_specs() if spec.key.path[0] != CORPUS_GROUP]


def test_seven_groups_of_six_stages(definitions: dg.Definitions) -> None:
    """The graph is the seven kinds of the design times its six stages, keyed [kind, stage] and grouped by kind."""
    assert tuple(source_kinds()) == KINDS
    specs = {spec.key: spec for spec in sources_of(definitions)}
    assert set(specs) == {dg.AssetKey([kind, stage]) for kind in KINDS for stage in STAGES}
    assert len(specs) == 42
    assert all(spec.group_name == key.path[0] for key, spec in specs.items())


def test_stages_follow_one_another(definitions: dg.Definitions) -> None:
    """Each stage reads the stage before it; the table is made of chunks and embeddings."""
    for spec in sources_of(definitions):
        kind, stage = spec.key.path
        position = STAGES.index(stage)
        expected = {STAGES[position - 1]} if position else set()
        if stage == "pgvector_table":
            expected.add("chunks")
        assert {tuple(dep.asset_key.path) for dep in spec.deps} == {(kind, name) for name in expected}


def test_partitions_are_the_configured_instances(definitions: dg.Definitions) -> None:
    """An instance is a partition of every stage of its kind, and nothing else is."""
    instances = load_sources(SAMPLES_DIR / "sources.yaml")
    for spec in sources_of(definitions):
        assert spec.partitions_def is not None
        names = [item.ref.instance for item in instances if item.ref.kind == spec.key.path[0]]
        assert spec.partitions_def.get_partition_keys() == names


def test_reports_read_the_tables_of_all_kinds(definitions: dg.Definitions) -> None:
    """The reports are one group without partitions, made of the seven tables, in a job of their own."""
    specs = {spec.key.path[1]: spec for spec in definitions.resolve_all_asset_specs() if spec.key.path[0] == CORPUS_GROUP}
    assert set(specs) == {"modernisation_links", "near_duplicates", "health_report", "evaluation"}
    for spec in specs.values():
        assert (spec.group_name, spec.partitions_def) == (CORPUS_GROUP, None)
        read = {tuple(dep.asset_key.path) for dep in spec.deps if dep.asset_key.path[0] != CORPUS_GROUP}
        assert read == {(kind, "pgvector_table") for kind in KINDS}
    selected = definitions.resolve_job_def("corpus_reports").asset_layer.executable_asset_keys
    assert {key.path[1] for key in selected} == set(specs) - {"evaluation"}
    evaluated = definitions.resolve_job_def("corpus_evaluation").asset_layer.executable_asset_keys
    assert {key.path[1] for key in evaluated} == {"evaluation"}


def test_checks_are_partitioned_and_block_where_publishing_would_do_harm(definitions: dg.Definitions) -> None:
    """Every kind has its checks, per partition, before publishing; what would serve damaged text blocks, the rest warns."""
    found = {}
    for check in definitions.asset_checks or []:
        assert isinstance(check, dg.AssetChecksDefinition)
        for spec in check.check_specs:
            assert spec.partitions_def is not None
            if spec.name == "fresh":
                assert not spec.blocking
                assert spec.asset_key.path[1] == "pgvector_table"
                continue
            found[(*spec.asset_key.path, spec.name)] = spec.blocking
    assert found == {
        (kind, stage, name): blocking
        for kind in KINDS
        for stage, name, blocking in (
            ("parsed_topics", "rejects_bounded", True),
            ("tagged_docs", "labels_valid", True),
            ("tagged_docs", "unknown_share", False),
            ("chunks", "chunk_window", True),
            ("chunks", "fences_balanced", True),
            ("chunks", "blocks_covered", True),
            ("chunks", "headers_present", False),
            ("chunks", "sizes_by_type", False),
            ("chunks", "prose_overlap", False),
            ("chunks", "duplicate_share", False),
            ("chunks", "label_drift", False),
            ("embeddings", "vectors_usable", False),
        )
    }


def test_loading_the_definitions_imports_nothing_heavy() -> None:
    """A code server starts below 300 MB, without loading torch, transformers, Great Expectations or Matplotlib."""
    script = (
        "import sys, psutil, bbj_pipeline.definitions\n"
        "banned = 'torch transformers sentence_transformers great_expectations matplotlib pandas rensa'.split()\n"
        "heavy = set(banned) & set(sys.modules)\n"
        # not ru_maxrss: a child's starts at what its parent had
        "print(psutil.Process().memory_info().rss)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 300_000_000
