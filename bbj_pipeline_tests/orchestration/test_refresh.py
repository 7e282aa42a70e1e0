"""Real runs over the sample exports: real Dagster, real PostgreSQL, the real offline model."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import dagster as dg

from bbj_pipeline.cli.run import render
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


def test_a_failed_check_that_does_not_block_is_a_warning(run: Refresh, exports: Path) -> None:
    """The report of a published instance names the failed check with its remedy, also when nothing changed since."""
    config = exports / "sources.yaml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("path: mdx/dwc-guide", "path: mdx/dwc-guide\n    min_tag_coverage: 1"), encoding="utf-8")
    first, again = (run("mdx/dwc-guide")["mdx/dwc-guide"] for _ in range(2))
    assert (first.status, again.status) == ("published", "unchanged")
    (warning,) = first.warnings
    assert warning.startswith("tagged_docs: unknown_share: BROKEN: at least 100% of the documents carry a label")
    assert "Remedy: add a cue" in warning
    assert again.warnings == first.warnings
    assert f"\n    warning: {warning}" in render(first)


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


def test_two_files_with_one_key_cost_the_second_file_only(run: Refresh, exports: Path, database: Database) -> None:
    """The same class in two JavaDoc files is one document and one reject that names both files; when the first file goes,
    the second takes its place."""
    config = exports / "sources.yaml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("path: javadoc", "path: javadoc\n    max_reject_share: 1"), encoding="utf-8")
    first = exports / "javadoc" / "com.basis.bbj.proxies.json"
    shutil.copyfile(first, exports / "javadoc" / "zz_copy.json")
    report = run("javadoc/bbj-api")["javadoc/bbj-api"]
    assert (report.status, report.error) == ("published", None)
    rows = served(database, "javadoc/bbj-api")
    assert report.documents["rejected"] > 1
    first.unlink()
    again = run("javadoc/bbj-api")["javadoc/bbj-api"]
    assert again.documents["rejected"] == 1
    assert served(database, "javadoc/bbj-api") == rows


def test_only_what_depends_on_an_option_runs_again(run: Refresh, exports: Path) -> None:
    """A limit of a check parses nothing again; a hint for the tagger tags again; a public URL parses again and is served."""
    config = exports / "sources.yaml"
    text = config.read_text(encoding="utf-8")
    before = run("mdx/dwc-guide")["mdx/dwc-guide"]
    config.write_text(text.replace("path: mdx/dwc-guide", "path: mdx/dwc-guide\n    min_tag_coverage: 0.1"), encoding="utf-8")
    limit = run("mdx/dwc-guide")["mdx/dwc-guide"]
    assert (limit.status, limit.documents["parsed"]) == ("unchanged", 0)
    config.write_text(text.replace("guide.example.org", "other.example.org"), encoding="utf-8")
    moved = run("mdx/dwc-guide")["mdx/dwc-guide"]
    assert moved.documents["parsed"] == before.documents["parsed"]
    assert moved.rows["updated"] == before.chunks
    assert moved.embeddings["computed"] == 0


def test_an_emptied_export_is_a_failure_and_deletes_nothing(run: Refresh, exports: Path, database: Database) -> None:
    """An export folder that lost everything (a mount that is gone, a wrong path) fails with a remedy; the rows stay served."""
    run("mdx/dwc-guide")
    before = served(database, "mdx/dwc-guide")
    shutil.rmtree(exports / "mdx" / "dwc-guide")
    (exports / "mdx" / "dwc-guide").mkdir()
    report = run("mdx/dwc-guide")["mdx/dwc-guide"]
    assert report.status == "failed"
    assert "holds no document of this kind" in (report.error or "")
    assert served(database, "mdx/dwc-guide") == before


def test_too_many_vanished_documents_stay_served(
    run: Refresh, exports: Path, database: Database, dagster_instance: dg.DagsterInstance
) -> None:
    """When more than ten documents and more than a tenth are gone, nothing is deleted and a check lists what waits."""
    run("flare/bbj-docs")
    before = served(database, "flare/bbj-docs")
    topics = sorted((exports / "flare").rglob("*.htm"))
    for topic in topics[:12]:
        topic.unlink()
    report = run("flare/bbj-docs")["flare/bbj-docs"]
    assert (report.status, report.withheld, report.documents["deleted"]) == ("published", 12, 0)
    assert served(database, "flare/bbj-docs") == before
    key = dg.AssetCheckKey(dg.AssetKey(["flare", "pgvector_table"]), "nothing_withheld")
    event = dagster_instance.event_log_storage.get_asset_check_execution_history(key, limit=1)[0].event
    assert event is not None
    assert event.dagster_event is not None
    evaluation = event.dagster_event.asset_check_evaluation_data
    assert not evaluation.passed
    assert "12 documents are gone from the export and stay served" in (evaluation.description or "")


def test_a_broken_document_is_served_as_it_was_until_it_is_gone(run: Refresh, exports: Path, database: Database) -> None:
    """A topic that becomes unreadable keeps its served rows; a draft is withdrawn; a deleted file is deleted."""
    run("mdx/dwc-guide")
    before = served(database, "mdx/dwc-guide")
    broken, drafted = sorted((exports / "mdx" / "dwc-guide").rglob("*.md"))[:2]
    broken.write_text("---\ntitle: [unclosed\n---\n\n# Broken\n", encoding="utf-8")
    report = run("mdx/dwc-guide")["mdx/dwc-guide"]
    assert (report.documents["rejected"], report.documents["deleted"]) == (1, 0)
    assert served(database, "mdx/dwc-guide") == before
    assert run("mdx/dwc-guide")["mdx/dwc-guide"].status == "unchanged"
    drafted.write_text("---\ndraft: true\n---\n\n# Not yet\n", encoding="utf-8")
    assert run("mdx/dwc-guide")["mdx/dwc-guide"].documents["deleted"] == 1
    broken.unlink()
    assert run("mdx/dwc-guide")["mdx/dwc-guide"].documents["deleted"] == 1


def documents(database: Database, instance: str) -> set[str]:
    with database.connection() as connection:
        rows = connection.execute("select distinct doc_key from doc_chunks where source = %s", (instance,)).fetchall()
    return {key for (key,) in rows}


def test_a_damaged_blob_is_repaired_and_never_served_as_a_reject(
    run: Refresh, exports: Path, database: Database, platform: Platform
) -> None:
    """Damaged stored bytes fail the run with a remedy instead of losing the document; the run after that is whole."""
    run("mdx/dwc-guide")
    before = documents(database, "mdx/dwc-guide")
    page = sorted((exports / "mdx" / "dwc-guide").rglob("*.md"))[0]
    name = hashlib.sha256(page.read_bytes()).hexdigest()
    # The same length, so that the export does not notice.
    blob = Path(platform.store.blobs.locate(name))
    blob.write_bytes(b"x" * blob.stat().st_size)
    config = exports / "sources.yaml"
    text = config.read_text(encoding="utf-8").replace("guide.example.org", "other.example.org")
    config.write_text(text, encoding="utf-8")
    failed = run("mdx/dwc-guide")["mdx/dwc-guide"]
    assert failed.status == "failed"
    assert "run it again" in (failed.error or "")
    again = run("mdx/dwc-guide")["mdx/dwc-guide"]
    assert (again.status, again.documents["rejected"]) == ("published", 0)
    assert documents(database, "mdx/dwc-guide") == before


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
