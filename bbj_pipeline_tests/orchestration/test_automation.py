"""What runs by itself, evaluated tick by tick over real runs: changed content and changed code, and nothing twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest

from bbj_pipeline.orchestration.automation import react_to_content
from bbj_pipeline.orchestration.build import build_definitions
from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.orchestration.stage_names import STAGES
from bbj_pipeline.settings import Settings

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
    with Platform(configured) as platform, dg.DagsterInstance.ephemeral() as instance:
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


def small(versions: dict[str, str], fail: Callable[[], bool] = lambda: False) -> dg.Definitions:
    """Three stages with the project's condition, whose content is fixed and whose code versions are given."""
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

    return dg.Definitions([stage("raw_export"), stage("parsed_topics", "raw_export"), stage("chunks", "parsed_topics")])


def test_a_deploy_runs_the_changed_stage_and_what_is_below_it() -> None:
    """A new code version of one stage requests it and the stages below, for every instance, once; nothing above it."""
    versions = {"raw_export": "1", "parsed_topics": "1", "chunks": "1"}
    with dg.DagsterInstance.ephemeral() as instance:
        night = Night(Path(), small(versions), instance)
        night.tick()
        for partition in ("one", "two"):
            assert night.run(*versions, partition=partition).success
        assert night.tick() == {}
        night.definitions = small(versions | {"chunks": "2"})
        assert night.tick() == {"one": {"chunks"}, "two": {"chunks"}}
        assert night.tick() == {}
        night.definitions = small(versions | {"chunks": "2", "parsed_topics": "2"})
        assert night.tick() == {name: {"parsed_topics", "chunks"} for name in ("one", "two")}
        assert [night.tick() for _ in range(2)] == [{}] * 2


def test_a_failed_run_is_not_requested_over_and_over() -> None:
    """After a run that took a stage and failed in it the conditions stay quiet: the nightly run and the sensors try again."""
    failing = True
    versions = {"raw_export": "1", "parsed_topics": "1", "chunks": "1"}
    with dg.DagsterInstance.ephemeral() as instance:
        night = Night(Path(), small(versions, lambda: failing), instance)
        night.tick()
        assert not night.run(*versions).success
        assert [night.tick() for _ in range(3)] == [{}] * 3
        failing = False
        assert night.run(*versions).success
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
