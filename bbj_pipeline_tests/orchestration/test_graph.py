"""The shape of what Dagster loads."""

from __future__ import annotations

import subprocess
import sys

import dagster as dg
import pytest

from bbj_pipeline.orchestration.build import build_definitions
from bbj_pipeline.orchestration.stage_names import STAGES
from bbj_pipeline.settings import SAMPLES_DIR, Settings
from bbj_pipeline.sources.config import load_sources
from bbj_pipeline.sources.registry import source_kinds

KINDS = ("bbj_source", "flare", "javadoc", "mdx", "pdf", "web_crawl", "wordpress")


@pytest.fixture(scope="module")
def definitions() -> dg.Definitions:
    return build_definitions(Settings(sources_file=SAMPLES_DIR / "sources.yaml"))


def test_seven_groups_of_six_stages(definitions: dg.Definitions) -> None:
    """The graph is the seven kinds of the design times its six stages, keyed [kind, stage] and grouped by kind."""
    assert tuple(source_kinds()) == KINDS
    specs = {spec.key: spec for spec in definitions.resolve_all_asset_specs()}
    assert set(specs) == {dg.AssetKey([kind, stage]) for kind in KINDS for stage in STAGES}
    assert len(specs) == 42
    assert all(spec.group_name == key.path[0] for key, spec in specs.items())


def test_stages_follow_one_another(definitions: dg.Definitions) -> None:
    """Each stage reads the stage before it; the table is made of chunks and embeddings."""
    for spec in definitions.resolve_all_asset_specs():
        kind, stage = spec.key.path
        position = STAGES.index(stage)
        expected = {STAGES[position - 1]} if position else set()
        if stage == "pgvector_table":
            expected.add("chunks")
        assert {tuple(dep.asset_key.path) for dep in spec.deps} == {(kind, name) for name in expected}


def test_partitions_are_the_configured_instances(definitions: dg.Definitions) -> None:
    """An instance is a partition of every stage of its kind, and nothing else is."""
    instances = load_sources(SAMPLES_DIR / "sources.yaml")
    for spec in definitions.resolve_all_asset_specs():
        assert spec.partitions_def is not None
        names = [item.ref.instance for item in instances if item.ref.kind == spec.key.path[0]]
        assert spec.partitions_def.get_partition_keys() == names


def test_checks_block_and_are_partitioned(definitions: dg.Definitions) -> None:
    """Every kind has its three blocking checks, per partition, on the stages before publishing."""
    found = {}
    for check in definitions.asset_checks or []:
        assert isinstance(check, dg.AssetChecksDefinition)
        for spec in check.check_specs:
            assert spec.blocking
            assert check.partitions_def is not None
            found[tuple(spec.asset_key.path)] = spec.name
    assert found == {
        (kind, stage): name
        for kind in KINDS
        for stage, name in {
            "parsed_topics": "rejects_bounded",
            "tagged_docs": "tag_coverage",
            "chunks": "chunk_sizes",
        }.items()
    }


def test_loading_the_definitions_imports_nothing_heavy() -> None:
    """A code server starts below 300 MB, without loading torch, transformers, Great Expectations or Matplotlib."""
    script = (
        "import resource, sys, bbj_pipeline.definitions\n"
        "heavy = {'torch', 'transformers', 'sentence_transformers', 'great_expectations', 'matplotlib'} & set(sys.modules)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    unit = 1 if sys.platform == "darwin" else 1024  # bytes a unit of ru_maxrss
    assert int(done.stdout) * unit < 300_000_000
