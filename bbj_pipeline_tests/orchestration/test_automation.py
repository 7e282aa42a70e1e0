"""What runs by itself, evaluated tick by tick over real runs: changed content and changed code, and nothing twice."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import dagster as dg
import pytest

from bbj_pipeline.orchestration.automation import react_to_content
from bbj_pipeline.orchestration.build import build_definitions
from bbj_pipeline.orchestration.graph import build_source_assets
from bbj_pipeline.orchestration.io import StageFileIOManager
from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.orchestration.stage_names import STAGES
from bbj_pipeline.settings import SAMPLES_DIR, Settings
from bbj_pipeline.sources.config import instances_by_kind, load_sources
from bbj_pipeline.sources.mdx.source import MdxSource
from bbj_pipeline.sources.registry import source_kinds
from bbj_pipeline.stages.chunking import CHUNKER_VERSION
from bbj_pipeline.stages.embedding import EMBED_VERSION
from bbj_pipeline.stages.modernisation import FACTS_VERSION
from bbj_pipeline.stages.tagging import TAGGER_VERSION
from bbj_pipeline.storage.rows import ROW_VERSION
from bbj_pipeline_tests.fakes import CountingEmbedder

DOWNSTREAM = set(STAGES[1:])
PAGE = "# Windows\n\nA window is opened with `BBjAPI().openSysGui()` and holds controls, {word}.\n"


@dataclass
class Night:
    """The definitions of one Markdown instance, an instance of Dagster, and the cursor of the automation sensor."""

    folder: Path
    definitions: dg.Definitions
    instance: dg.DagsterInstance
    kind: str = "mdx"
    cursor: object = None

    def tick(self) -> dict[str, set[str]]:
        """Evaluate once; return the requested stages by partition."""
        result = dg.evaluate_automation_conditions(self.definitions, self.instance, cursor=self.cursor)  # type: ignore[arg-type]
        self.cursor = result.cursor
        requested: dict[str, set[str]] = {}
        for stage in STAGES:
            for partition in result.get_requested_partitions(dg.AssetKey([self.kind, stage])):
                requested.setdefault(str(partition), set()).add(stage)
        return requested

    def run(self, *stages: str, partition: str = "one") -> dg.ExecuteInProcessResult:
        """Materialise stages of a partition, as a run of its own."""
        return self.definitions.resolve_implicit_global_asset_job_def().execute_in_process(
            asset_selection=[dg.AssetKey([self.kind, stage]) for stage in stages],
            partition_key=partition,
            instance=self.instance,
            raise_on_error=False,
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
        )

    def refresh(self, partition: str = "one") -> None:
        """Run the nightly job of a partition."""
        self.definitions.resolve_job_def(f"{self.kind}_refresh").execute_in_process(
            partition_key=partition,
            instance=self.instance,
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
        )

    def write(self, word: str, partition: str = "one") -> None:
        (self.folder / partition).mkdir(exist_ok=True)
        (self.folder / partition / "windows.md").write_text(PAGE.format(word=word), encoding="utf-8")


@pytest.fixture
def night(settings: Settings, tmp_path: Path) -> Iterator[Night]:
    (tmp_path / "sources.yaml").write_text("mdx:\n  one: {path: one}\n  two: {path: two}\n", encoding="utf-8")
    configured = settings.model_copy(update={"sources_file": tmp_path / "sources.yaml"})
    with Platform(configured, embedder=CountingEmbedder()) as platform, dg.DagsterInstance.ephemeral() as instance:
        found = Night(tmp_path, build_definitions(configured, platform=platform, max_retries=0), instance)
        found.write("first")
        found.write("first", "two")
        yield found


def test_an_export_alone_runs_what_is_below_it_once(night: Night) -> None:
    """A first or a changed export requests the five stages below it, of its partition, once; an unchanged one nothing."""
    assert night.tick() == {}
    assert night.run("raw_export").success
    assert night.tick() == {"one": DOWNSTREAM}
    assert night.run(*DOWNSTREAM).success
    assert [night.tick() for _ in range(3)] == [{}] * 3

    night.run("raw_export")
    assert night.tick() == {}, "the export holds what it held"

    night.write("second")
    night.run("raw_export")
    assert night.tick() == {"one": DOWNSTREAM}
    assert night.tick() == {}, "requested once, although it has not run yet"
    result = night.run(*DOWNSTREAM)
    counts = {
        event.asset_key.path[-1]: event.materialization.metadata
        for event in result.get_asset_materialization_events()
        if event.asset_key
    }
    assert counts["parsed_topics"]["computed"].value == 1
    assert [night.tick() for _ in range(2)] == [{}] * 2


def test_a_nightly_run_leaves_nothing_to_request(night: Night) -> None:
    """A whole refresh, of new content too, is not followed by any request; nor is an export that a refresh overtakes."""
    night.tick()
    for word in ("first", "second"):
        night.write(word)
        night.refresh()
        assert [night.tick() for _ in range(2)] == [{}] * 2
    night.write("third")
    night.run("raw_export")
    night.refresh()
    assert [night.tick() for _ in range(2)] == [{}] * 2


def test_a_stage_run_by_hand_requests_nothing_while_its_content_stays(night: Night) -> None:
    """Parsing again by hand gives the same topics, so nothing below it runs."""
    night.tick()
    night.refresh()
    night.refresh("two")
    assert night.tick() == {}
    night.run("parsed_topics")
    assert night.tick() == {}


def staged(versions: dict[str, str], fail: Callable[[], bool] = lambda: False) -> dg.Definitions:
    """The six stages with the project's condition, whose content is fixed and whose code versions are given."""
    partitions = dg.StaticPartitionsDefinition(["one", "two"])

    def stage(name: str, *above: str) -> dg.AssetsDefinition:
        @dg.asset(
            key=["mdx", name],
            deps=[dg.AssetKey(["mdx", upstream]) for upstream in above],
            partitions_def=partitions,
            code_version=versions[name],
            automation_condition=react_to_content() if above else None,
        )
        def made() -> dg.MaterializeResult:  # type: ignore[type-arg]
            if name == "chunks" and fail():
                raise dg.Failure("not now", allow_retries=False)
            return dg.MaterializeResult(data_version=dg.DataVersion(f"{name} of {versions[name]}"))

        return made

    above = {name: [earlier] for earlier, name in itertools.pairwise(STAGES)}
    above["pgvector_table"].append("chunks")
    return dg.Definitions([stage(name, *above.get(name, [])) for name in STAGES])


VERSIONS = dict.fromkeys(STAGES, "1")
DEPLOYS = {
    "parser": ["raw_export", "parsed_topics"],  # the exporter and the parser of a kind have one version
    "tagger": ["tagged_docs"],
    "chunker": ["chunks"],
    "embedder": ["embeddings"],
    "rows": ["pgvector_table"],
}


def test_a_deploy_runs_the_changed_stages_and_what_is_below_them() -> None:
    """A new version of the parser, tagger, chunker, embedding or row code requests its stage and those below it, of every
    instance, once and in one run each; nothing above it, and never an export."""
    with dg.DagsterInstance.ephemeral() as instance:
        night = Night(Path(), staged(VERSIONS), instance)
        night.tick()
        for partition in ("one", "two"):
            assert night.run(*STAGES, partition=partition).success
        assert night.tick() == {}
        versions = dict(VERSIONS)
        for changed in DEPLOYS.values():
            versions |= dict.fromkeys(changed, "2")
            night.definitions = staged(versions)
            below = set(STAGES[STAGES.index(changed[-1]) :])
            assert night.tick() == {"one": below, "two": below}
            assert night.tick() == {}, "requested once, although it has not run yet"
            for partition in ("one", "two"):
                assert night.run(*sorted(below, key=STAGES.index), partition=partition).success
            assert [night.tick() for _ in range(2)] == [{}] * 2


def test_two_changes_of_one_deploy_are_one_run() -> None:
    """A deploy that changes the tagger and the rows requests the stages from the tagger down, once."""
    with dg.DagsterInstance.ephemeral() as instance:
        night = Night(Path(), staged(VERSIONS), instance)
        night.tick()
        assert night.run(*STAGES).success
        night.tick()
        night.definitions = staged(VERSIONS | {"tagged_docs": "2", "pgvector_table": "2"})
        assert night.tick() == {"one": set(STAGES[2:])}
        assert night.tick() == {}


def test_the_stages_carry_the_versions_of_their_code() -> None:
    """The code version of each stage is that of the code it runs, so that raising one is what Dagster sees of a deploy."""
    instances = instances_by_kind(load_sources(SAMPLES_DIR / "sources.yaml"))
    for kind, source in source_kinds().items():
        assets = build_source_assets(source=source, instances=instances[kind], max_retries=0)
        versions = {key.path[1]: asset.code_versions_by_key[key] for asset in assets for key in asset.keys}
        assert versions == {
            "raw_export": source.parser_version,
            "parsed_topics": source.parser_version,
            "tagged_docs": f"{TAGGER_VERSION}.{FACTS_VERSION}",
            "chunks": CHUNKER_VERSION,
            "embeddings": EMBED_VERSION,
            "pgvector_table": str(ROW_VERSION),
        }


class NextParser(MdxSource):
    """The parser after a deploy: other code of the same results."""

    parser_version = "the next"


def test_a_new_parser_parses_all_again_and_equal_topics_cost_nothing_more(night: Night, settings: Settings) -> None:
    """After a deploy of a parser one tick requests what is below the export; every document is parsed again, and nothing is
    tagged, cut, embedded or written where its topics are what they were."""
    night.tick()
    night.refresh()
    night.refresh("two")
    assert night.tick() == {}
    parser = NextParser()
    instances = [replace(item, source=parser) for item in load_sources(night.folder / "sources.yaml")]
    with Platform(settings, embedder=CountingEmbedder()) as platform:
        night.definitions = dg.Definitions(
            build_source_assets(source=parser, instances=instances, max_retries=0),
            resources={"platform": platform, "stage_files": StageFileIOManager(platform, max_retries=0)},
            executor=dg.in_process_executor,
        )
        assert night.tick() == {"one": DOWNSTREAM, "two": DOWNSTREAM}
        result = night.run(*DOWNSTREAM)
        metadata = {
            event.asset_key.path[-1]: event.materialization.metadata
            for event in result.get_asset_materialization_events()
            if event.asset_key
        }
        computed = {stage: metadata[stage]["computed"].value for stage in STAGES[1:5]}
        assert computed == {"parsed_topics": 1, "tagged_docs": 0, "chunks": 0, "embeddings": 0}
        assert metadata["pgvector_table"]["status"].value == "unchanged"
        assert night.run(*DOWNSTREAM, partition="two").success
        assert [night.tick() for _ in range(2)] == [{}] * 2


def test_a_failed_run_is_not_requested_over_and_over() -> None:
    """After a run that took a stage and failed in it the conditions stay quiet: the nightly run and the sensors try again."""
    failing = True
    with dg.DagsterInstance.ephemeral() as instance:
        night = Night(Path(), staged(VERSIONS, lambda: failing), instance)
        night.tick()
        assert not night.run(*STAGES).success
        assert [night.tick() for _ in range(3)] == [{}] * 3
        failing = False
        assert night.run(*STAGES).success
        assert night.tick() == {}


def test_the_sensor_is_on(settings: Settings) -> None:
    """The one automation sensor evaluates all assets as soon as a daemon runs, and starts runs as the other triggers do."""
    repository = build_definitions(settings).get_repository_def()
    sensors = [item for item in repository.sensor_defs if isinstance(item, dg.AutomationConditionSensorDefinition)]
    assert [(item.name, item.default_status) for item in sensors] == [("automation_sensor", dg.DefaultSensorStatus.RUNNING)]
    reports = {"evaluation", "health_report", "modernisation_links", "near_duplicates"}
    assert {key.path[1] for key in repository.asset_graph.materializable_asset_keys} == {*STAGES, *reports}
    conditions = {
        key: repository.asset_graph.get(key).automation_condition for key in repository.asset_graph.get_all_asset_keys()
    }
    assert {key.path[1] for key, condition in conditions.items() if condition} == DOWNSTREAM | reports
