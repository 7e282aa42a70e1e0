"""What operators launch: rollback, the hold it leaves, approved deletions, pruning; through Dagster, as in the UI."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from bbj_pipeline.orchestration.build import build_definitions
from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.orchestration.refresh import refresh
from bbj_pipeline.orchestration.stage_names import RAW_EXPORT
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.settings import Settings
from bbj_pipeline.sources.config import load_sources
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.publications import status
from bbj_pipeline.storage.stage_files import MANIFESTS
from bbj_pipeline_tests.orchestration.conftest import Refresh
from bbj_pipeline_tests.orchestration.test_refresh import served

GUIDE = "mdx/dwc-guide"


def launch(
    settings: Settings, platform: Platform, instance: dg.DagsterInstance, job: str, op: str, config: dict[str, Any]
) -> dg.ExecuteInProcessResult:
    """Launch a job with a config, as the UI's launchpad does."""
    definitions = build_definitions(settings, platform=platform, max_retries=0)
    return definitions.resolve_job_def(job).execute_in_process(
        instance=instance, raise_on_error=False, run_config={"ops": {op: {"config": config}}}
    )


def table_metadata(instance: dg.DagsterInstance, kind: str) -> dict[str, Any]:
    event = instance.get_latest_materialization_event(dg.AssetKey([kind, "pgvector_table"]))
    assert event is not None
    assert event.asset_materialization is not None
    return {name: value.value for name, value in event.asset_materialization.metadata.items()}


def check(instance: dg.DagsterInstance, kind: str, name: str) -> Any:
    key = dg.AssetCheckKey(dg.AssetKey([kind, "pgvector_table"]), name)
    event = instance.event_log_storage.get_asset_check_execution_history(key, limit=1)[0].event
    assert event is not None
    assert event.dagster_event is not None
    return event.dagster_event.asset_check_evaluation_data


def test_a_rollback_serves_the_earlier_state_and_holds_the_later(
    run: Refresh,
    exports: Path,
    database: Database,
    configured: Settings,
    platform: Platform,
    dagster_instance: dg.DagsterInstance,
) -> None:
    """The job brings the earlier rows back and shows the diff; the next refresh is held with a warning; an edit publishes;
    lifting a hold publishes as well."""
    run(GUIDE)
    before = served(database, GUIDE)
    page = sorted((exports / "mdx" / "dwc-guide").rglob("*.md"))[0]
    original = page.read_text(encoding="utf-8")
    page.write_text(original + "\nA sentence that nobody wanted.\n", encoding="utf-8")
    (exports / "mdx" / "dwc-guide" / "extra.md").write_text("# Extra\n\nOne more page about windows.\n", encoding="utf-8")
    run(GUIDE)
    diff = table_metadata(dagster_instance, "mdx")["diff"]
    assert "**1 documents added**, 1 chunks" in diff
    assert "| `extra.md` | 1 | 0 | 0 |" in diff
    assert "**1 documents changed**" in diff
    assert f"`{page.relative_to(exports / 'mdx' / 'dwc-guide').as_posix()}`" in diff

    done = launch(configured, platform, dagster_instance, "rollback", "rollback_instance", {"instance": GUIDE})
    assert done.success
    assert served(database, GUIDE) == before
    shown = table_metadata(dagster_instance, "mdx")
    assert shown["status"] == "rolled back"
    assert "| `extra.md` | 0 | 0 | 1 |" in shown["diff"]

    report = run(GUIDE)[GUIDE]
    assert (report.status, report.rows["inserted"], report.error) == ("held", 0, None)
    assert served(database, GUIDE) == before
    held = check(dagster_instance, "mdx", "nothing_held")
    assert (held.passed, held.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert f"held back by rollback to #{shown['rolled_back_to']}; new content or approval publishes again" in held.description

    page.write_text(original + "\nA better sentence.\n", encoding="utf-8")
    assert run(GUIDE)[GUIDE].status == "published"
    assert check(dagster_instance, "mdx", "nothing_held").passed
    latest = served(database, GUIDE)
    assert launch(configured, platform, dagster_instance, "rollback", "rollback_instance", {"instance": GUIDE}).success
    assert run(GUIDE)[GUIDE].status == "held"
    assert launch(configured, platform, dagster_instance, "lift_hold", "lift_instance_hold", {"instance": GUIDE}).success
    assert run(GUIDE)[GUIDE].status == "published"
    assert served(database, GUIDE) == latest


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"instance": "nonsense"}, "'nonsense' names no instance: write KIND/INSTANCE"),
        ({"instance": "../../etc"}, "names no instance"),
        ({"instance": GUIDE, "to": 77}, f"{GUIDE} has no publication #77"),
    ],
)
def test_a_wrong_config_is_a_failure_with_a_remedy(
    run: Refresh,
    configured: Settings,
    platform: Platform,
    dagster_instance: dg.DagsterInstance,
    config: dict[str, Any],
    said: str,
) -> None:
    """An operator's mistake fails the run in one line, and is not retried."""
    if "to" in config:
        run(GUIDE)
    done = launch(configured, platform, dagster_instance, "rollback", "rollback_instance", config)
    assert not done.success
    failure = next(event.step_failure_data for event in done.all_events if event.is_step_failure)
    assert failure.user_failure_data is not None
    assert said in (failure.user_failure_data.description or "")


def test_approved_deletions_are_of_one_run(
    run: Refresh,
    exports: Path,
    database: Database,
    configured: Settings,
    platform: Platform,
    dagster_instance: dg.DagsterInstance,
) -> None:
    """What the guard withholds is deleted by the run that is told to, and the next mass deletion waits again."""
    folder = exports / "mdx" / "dwc-guide"
    for n in range(40):
        (folder / f"page-{n:02}.md").write_text(f"# Page {n}\n\nPage {n} of the DWC.\n", encoding="utf-8")
    run(GUIDE)
    for n in range(15):
        (folder / f"page-{n:02}.md").unlink()
    assert run(GUIDE)[GUIDE].withheld == 15
    ref = InstanceRef.parse(GUIDE)
    definitions = build_definitions(configured, platform=platform, max_retries=0)
    (approved,) = refresh(definitions, dagster_instance, [ref], log_level="CRITICAL", approve_deletions=[ref])
    assert (approved.status, approved.withheld, approved.documents["deleted"]) == ("published", 0, 15)
    for n in range(15, 30):
        (folder / f"page-{n:02}.md").unlink()
    assert run(GUIDE)[GUIDE].withheld == 15


def test_a_removed_instance_is_pruned_when_it_is_named(
    run: Refresh,
    exports: Path,
    database: Database,
    configured: Settings,
    platform: Platform,
    dagster_instance: dg.DagsterInstance,
) -> None:
    """Pruning without a name leaves a removed instance served and says so; with its name it takes rows and stage files;
    an instance that is configured is refused."""
    run(GUIDE, "javadoc/bbj-api")
    refused = launch(configured, platform, dagster_instance, "prune", "prune_storage", {"instances": [GUIDE]})
    assert not refused.success
    config = exports / "sources.yaml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("mdx:\n  dwc-guide:", "mdx:\n  renamed:"), encoding="utf-8")
    assert InstanceRef.parse(GUIDE) not in [item.ref for item in load_sources(config)]
    plain = launch(configured, platform, dagster_instance, "prune", "prune_storage", {})
    assert plain.success
    assert {row.instance for row in status(database)} == {"dwc-guide", "bbj-api"}
    named = launch(configured, platform, dagster_instance, "prune", "prune_storage", {"instances": [GUIDE]})
    assert named.success
    assert {row.instance for row in status(database)} == {"bbj-api"}
    assert platform.store.find(InstanceRef.parse(GUIDE), RAW_EXPORT) is None
    assert served(database, GUIDE) == {}


def test_the_store_and_the_graph_name_the_manifests_alike() -> None:
    """What pruning reads as manifests is what the first stage writes."""
    assert MANIFESTS == RAW_EXPORT


def test_the_launchpad_writes_the_config(settings: Settings) -> None:
    """Choosing an instance fills in a valid config; a prune as it stands only lists; a refresh approves nothing."""
    definitions = build_definitions(settings)
    instances = {str(item.ref) for item in load_sources(settings.sources_file)}
    for job, op, others in (("rollback", "rollback_instance", {"to": None}), ("lift_hold", "lift_instance_hold", {})):
        resolved = definitions.resolve_job_def(job)
        assert resolved.partitions_def is not None
        assert set(resolved.partitions_def.get_partition_keys()) == instances
        config = resolved.get_run_config_for_partition_key(GUIDE)
        assert config == {"ops": {op: {"config": {"instance": GUIDE, **others}}}}
        assert dg.validate_run_config(resolved, config)
    ready = {"prune": ("prune_storage", "dry_run", True), "mdx_refresh": ("mdx__pgvector_table", "approve_deletions", False)}
    for job, (op, name, value) in ready.items():
        resolved = definitions.resolve_job_def(job)
        assert dg.validate_run_config(resolved)["ops"][op]["config"][name] is value
        assert resolved.description
