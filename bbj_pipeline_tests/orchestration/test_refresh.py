"""Real runs over the sample exports: real Dagster, real PostgreSQL, the real offline model."""

from __future__ import annotations

import shutil
from pathlib import Path

import dagster as dg

from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.orchestration.stage_names import STAGES
from bbj_pipeline.storage.database import Database
from bbj_pipeline_tests.orchestration.conftest import Refresh


def served(database: Database, instance: str) -> dict[str, str]:
    """The served rows of an instance: content by id."""
    with database.connection() as connection:
        rows = connection.execute("select id, content from doc_chunks where source = %s", (instance,)).fetchall()
    return dict(rows)


def test_every_instance_is_published_and_a_second_run_does_nothing(
    run: Refresh, database: Database, dagster_instance: dg.DagsterInstance
) -> None:
    """All sample instances are published; an unchanged refresh parses 0, embeds 0, writes 0 and keeps all data versions."""
    first = run()
    assert {name: report.error for name, report in first.items() if report.error} == {}
    assert {report.status for report in first.values()} == {"published"}
    for name, report in first.items():
        assert report.chunks == report.rows["inserted"] == len(served(database, name)) > 0
    before = data_versions(dagster_instance)
    second = run()
    for report in second.values():
        assert report.status == "unchanged"
        assert report.documents["parsed"] == report.documents["deleted"] == 0
        assert report.embeddings["computed"] == 0
        assert report.rows["inserted"] == report.rows["updated"] == report.rows["deleted"] == 0
    assert {name: report.documents["parsed"] for name, report in first.items()} == {
        name: report.documents["reused"] for name, report in second.items()
    }
    assert data_versions(dagster_instance) == before


def data_versions(instance: dg.DagsterInstance) -> dict[tuple[str, str], str]:
    """The data version of the latest materialisation of every asset partition."""
    found = {}
    for key in instance.get_asset_keys():
        for record in instance.fetch_materializations(key, limit=1000).records:
            materialization = record.event_log_entry.asset_materialization
            assert materialization is not None
            tags = materialization.tags or {}
            place = ("/".join(key.path), record.partition_key or "")
            found.setdefault(place, tags["dagster/data_version"])
    return found


def test_one_changed_topic_costs_one_topic(run: Refresh, exports: Path, database: Database) -> None:
    """After an edit of one topic only it is parsed, and only its changed chunks are embedded and written."""
    before = run("mdx/dwc-guide")["mdx/dwc-guide"]
    old = served(database, "mdx/dwc-guide")
    page = sorted((exports / "mdx" / "dwc-guide").rglob("*.md"))[0]
    page.write_text(page.read_text(encoding="utf-8") + "\nOne more sentence about windows.\n", encoding="utf-8")
    after = run("mdx/dwc-guide")["mdx/dwc-guide"]
    assert after.status == "published"
    assert after.documents == {
        "parsed": 1,
        "reused": before.documents["parsed"] - 1,
        "rejected": before.documents["rejected"],
        "deleted": 0,
    }
    new = served(database, "mdx/dwc-guide")
    changed = sum(old.get(chunk_id) != content for chunk_id, content in new.items())
    assert changed >= 1
    assert after.rows["inserted"] + after.rows["updated"] == changed
    assert after.embeddings["computed"] == changed


def test_a_removed_topic_is_deleted(run: Refresh, exports: Path, database: Database) -> None:
    """A topic that is gone from a complete export is gone from the served table, and nothing else is."""
    run("mdx/dwc-guide")
    old = served(database, "mdx/dwc-guide")
    page = sorted((exports / "mdx" / "dwc-guide").rglob("*.md"))[-1]
    page.unlink()
    report = run("mdx/dwc-guide")["mdx/dwc-guide"]
    assert report.documents["deleted"] == 1
    assert report.rows["deleted"] == len(old) - len(served(database, "mdx/dwc-guide")) > 0


def test_a_missing_folder_and_a_broken_topic_damage_nothing(run: Refresh, exports: Path, database: Database) -> None:
    """One instance without its folder fails with the path and the remedy and stays served; a broken topic is a reject
    beside its published siblings; the other instances publish."""
    run()
    before = served(database, "flare/bbj-docs")
    shutil.move(exports / "flare", exports / "moved-away")
    broken = sorted((exports / "mdx" / "dwc-guide").rglob("*.md"))[0]
    broken.write_text("---\ntitle: [unclosed\n---\n\n# Broken\n", encoding="utf-8")
    reports = run()
    flare, mdx = reports["flare/bbj-docs"], reports["mdx/dwc-guide"]
    assert flare.status == "failed"
    assert flare.error is not None
    assert str(exports / "flare") in flare.error
    assert "sources.yaml" in flare.error
    assert served(database, "flare/bbj-docs") == before
    assert mdx.status == "published"
    assert mdx.documents["rejected"] == 1
    assert {report.status for name, report in reports.items() if name not in ("flare/bbj-docs", "mdx/dwc-guide")} == {
        "unchanged"
    }


def test_a_failed_check_stands_before_publishing(run: Refresh, exports: Path, database: Database) -> None:
    """When too many documents are rejected, the check fails with its remedy and the served rows stay as they were."""
    run("mdx/dwc-guide")
    before = served(database, "mdx/dwc-guide")
    for page in (exports / "mdx" / "dwc-guide").rglob("*.md"):
        page.write_text("---\ntitle: [unclosed\n---\n", encoding="utf-8")
    report = run("mdx/dwc-guide")["mdx/dwc-guide"]
    assert report.status == "failed"
    assert report.error is not None
    assert "rejects_bounded" in report.error
    assert "max_reject_share" in report.error
    assert served(database, "mdx/dwc-guide") == before


def test_materialisations_say_what_was_done(run: Refresh, dagster_instance: dg.DagsterInstance, platform: Platform) -> None:
    """Every stage's materialisation carries its counts and seconds, and a file stage its row count and a preview table."""
    run("javadoc/bbj-api")
    for stage in STAGES:
        event = dagster_instance.get_latest_materialization_event(dg.AssetKey(["javadoc", stage]))
        assert event is not None
        assert event.asset_materialization is not None
        metadata = event.asset_materialization.metadata
        assert metadata["seconds"].value >= 0
        if stage != "pgvector_table":
            preview = metadata["preview"].value
            assert isinstance(preview, str)
            assert preview.startswith("| key |")
            assert metadata["dagster/row_count"].value > 0
        else:
            assert metadata["inserted"].value > 0
            assert metadata["status"].value == "published"
