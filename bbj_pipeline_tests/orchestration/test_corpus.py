"""The reports over all sources, computed from published tables by the real steps and by a real Dagster run."""

from __future__ import annotations

import datetime
from pathlib import Path

import dagster as dg
import pytest
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, SimpleDocTemplate

from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.orchestration.build import build_definitions
from bbj_pipeline.orchestration.corpus import make_reports
from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.orchestration.steps.corpus import report_duplicates, report_health, report_links
from bbj_pipeline.records import DocumentId
from bbj_pipeline.settings import SAMPLES_DIR, Settings
from bbj_pipeline.storage.corpus import DocumentCopy, corpus_reader, document_links, read_report
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.spaces import active_space
from bbj_pipeline_tests import paths
from bbj_pipeline_tests.orchestration.corpora import publish_export

NOW = datetime.datetime(2026, 6, 30, tzinfo=datetime.UTC)
GUIDE = ("mdx", "dwc-guide", {"path": str(SAMPLES_DIR / "mdx" / "dwc-guide"), "public_url": "https://guide.example.org/{path}"})
HELP = ("flare", "bbj-docs", {"path": str(SAMPLES_DIR / "flare"), "public_url": "https://help.example.org/{path}"})


def page_copies(database: Database) -> list[DocumentCopy]:
    with corpus_reader(database) as reader:
        return reader.document_copies()


def test_a_built_site_is_found_as_its_sources_page_by_page(database: Database, settings: Settings, tmp_path: Path) -> None:
    """Every page of the real site that has a Markdown source is a copy of that source, the Markdown is preferred, and the
    pages of another course in the same corpus are drawn into nothing."""
    for kind, instance, folder in (
        ("mdx", "strategy", "mdx/bbj-ai-strategy"),
        ("web_crawl", "strategy", "web_crawl/bbj-ai-strategy-site"),
        ("mdx", "course", "mdx/bbj-beginner-course"),
    ):
        publish_export(database, tmp_path / instance / kind, kind, instance, {"path": str(paths.CORPORA / folder)})
    report_duplicates(settings, database, "test")
    sources = (paths.CORPORA / "mdx" / "bbj-ai-strategy").rglob("*.md*")
    expected = set()
    for source in sources:
        key = source.relative_to(paths.CORPORA / "mdx" / "bbj-ai-strategy").as_posix()
        route = "/".join(part.lstrip("0123456789-") for part in key.split("/")).rsplit(".", 1)[0].removesuffix("/index")
        expected.add((f"{route}.html", key))
    assert len(expected) == 8
    assert {(item.document.key, item.representative.key) for item in page_copies(database)} == expected
    assert {(item.document.kind, item.representative.kind) for item in page_copies(database)} == {("web_crawl", "mdx")}
    with corpus_reader(database) as reader:
        rows = {row.id: row for row in reader.rows()}
        copies = reader.copies()
    assert copies
    for copy in copies:
        member, kept = rows[copy.member], rows[copy.representative]
        assert (member.kind, kept.kind, member.title) == ("web_crawl", "mdx", kept.title)


def test_topics_printed_as_sections_of_a_manual_are_copies_of_the_topics(
    database: Database, settings: Settings, tmp_path: Path
) -> None:
    """A PDF of three Flare topics, a section each, is found section by section; its own introduction is not."""
    styles = getSampleStyleSheet()
    # Long enough to be a chunk of its own: a short one would be merged with the section after it.
    preface = " ".join(f"Reader {n} of this print keeps copy {n * 7} at desk {n * 11}." for n in range(40))
    story = [Paragraph("Introduction", styles["Heading1"]), Paragraph(preface, styles["BodyText"])]
    (tmp_path / "flare").mkdir()
    for number in range(3):
        sentences = [f"Sentence {n} of topic {number} tells of window number {n * (number + 3)} alone." for n in range(40)]
        paragraphs = [" ".join(sentences[start : start + 8]) for start in range(0, 40, 8)]
        body = "".join(f"<p>{text}</p>" for text in paragraphs)
        topic = f"<html><head><title>Topic {number}</title></head><body><h1>Topic {number}</h1>{body}</body></html>"
        (tmp_path / "flare" / f"topic{number}.htm").write_text(topic, encoding="utf-8")
        story += [
            Paragraph(f"Topic {number}", styles["Heading1"]),
            *(Paragraph(text, styles["BodyText"]) for text in paragraphs),
        ]
    (tmp_path / "pdf").mkdir()
    SimpleDocTemplate(str(tmp_path / "pdf" / "manual.pdf"), title="The Printed Manual").build(story)
    for kind in ("flare", "pdf"):
        publish_export(database, tmp_path / "store", kind, "print", {"path": str(tmp_path / kind)})
    report_duplicates(settings, database, "test")
    found = {(item.document.key, item.section.split(" > ")[-1], item.representative.key) for item in page_copies(database)}
    assert found == {("manual.pdf", f"Topic {number}", f"topic{number}.htm") for number in range(3)}


def test_references_that_fill_in_one_form_are_no_copies(database: Database, settings: Settings, tmp_path: Path) -> None:
    """Pages of two components, and of two verbs, in the same words are not copies of each other; two guides are."""
    folder = tmp_path / "pages"
    folder.mkdir()
    for title, heading in (
        ("dwc-radio", "Properties"),
        ("dwc-switch", "Properties"),
        ("READX Verb", "Syntax"),
        ("FINDX Verb", "Syntax"),
        ("First guide", "Overview"),
        ("Second guide", "Overview"),
    ):
        words = " ".join(f"word{number} of the {heading.lower()}" for number in range(60))
        name = title.lower().replace(" ", "-")
        (folder / f"{name}.md").write_text(f"---\ntitle: {title}\n---\n\n## {heading}\n\n{words}.\n", encoding="utf-8")
    publish_export(database, tmp_path / "store", "mdx", "forms", {"path": str(folder)})
    report_duplicates(settings, database, "test")
    assert [(item.document.key, item.representative.key) for item in page_copies(database)] == [
        ("second-guide.md", "first-guide.md")
    ]
    with corpus_reader(database) as reader:
        keys = {row.id: row.doc_key for row in reader.rows()}
        assert {keys[copy.member] for copy in reader.copies()} == {"second-guide.md"}


def test_the_samples_graph_leads_from_a_terminal_to_the_browser(database: Database, settings: Settings, tmp_path: Path) -> None:
    """Curated links and a page's own "Superseded" lead from the cursor mnemonic over the window to the browser's guide."""
    for kind, instance, options in (GUIDE, HELP):
        publish_export(database, tmp_path, kind, instance, options)
    report = report_links(settings, database, "test")
    cursor = DocumentId("flare", "bbj-docs", "mnemonic/character/cursor_position_mnemonic.htm")
    with database.snapshot(timeout=5) as connection:
        space = active_space(connection)
        assert space is not None
        found = document_links(connection, space, [cursor])[cursor]
    links = [link for link in found if link.relation == "superseded_by"]
    assert [(link.id.key.rsplit("/", 1)[-1], link.distance) for link in links] == [
        ("window_mn_create_window.htm", 1),
        ("bbjsysgui_addwindow.htm", 2),
        ("01-create-a-window.mdx", 3),
    ]
    assert links[2].url == "https://guide.example.org/docs/windows/create-a-window"
    assert "(curated): Positions on a terminal became positions in a window." in report.markdown


def test_curated_links_without_their_instance_are_refused(database: Database, settings: Settings, tmp_path: Path) -> None:
    """When only the guide is published, the error says that the help is configured and how to publish it; nothing is stored."""
    publish_export(database, tmp_path, *GUIDE)
    with pytest.raises(ConfigurationError, match="flare/bbj-docs is configured and not published yet"):
        report_links(settings, database, "test")
    assert read_report(database, "links") is None


def test_health_of_a_published_export(database: Database, settings: Settings, tmp_path: Path) -> None:
    """A broken link, a page without a label and an undated page are found in what was published from files."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "index.md").write_text("# Start\n\nRead [windows](windows.md) and [the lost page](lost.md).\n", encoding="utf-8")
    (folder / "windows.md").write_text(
        "---\nlast_updated: 2024-01-01\n---\n# Windows\n\n```bbj\nweb! = BBjAPI().getWebManager()\n```\n", encoding="utf-8"
    )
    publish_export(database, tmp_path / "store", "mdx", "small", {"path": str(folder)})
    report = report_health(settings, database, "test", NOW)
    assert report.health is not None
    found = {(item.category, item.document.key, item.detail) for item in report.health.findings}
    assert found == {
        ("broken_links", "index.md", "“the lost page” to lost.md"),
        ("undated", "index.md", "no date in the source"),
        ("untagged", "index.md", "no cue of a generation in 1 chunk"),
        ("stale", "windows.md", "changed 2024-01-01, 911 days ago, score 0.97"),
    }
    stored = read_report(database, "health")
    assert stored is not None
    assert stored.markdown == report.markdown


def test_the_reports_run_in_dagster(
    database: Database, configured: Settings, platform: Platform, dagster_instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    """The job makes all three, shows the Markdown and a plot in the UI, and a wrong curated link stops it with its remedy."""
    for kind, instance, options in (GUIDE, HELP):
        publish_export(database, tmp_path / "store", kind, instance, options)
    definitions = build_definitions(configured, platform=platform, max_retries=0, now=lambda: NOW)
    assert make_reports(definitions, dagster_instance, log_level="CRITICAL") is None
    (record,) = dagster_instance.fetch_materializations(dg.AssetKey(["corpus", "health_report"]), limit=1).records
    assert record.asset_materialization is not None
    shown = record.asset_materialization.metadata
    assert str(shown["plot"].value).startswith("![share of documents with a finding](data:image/png;base64,iVBOR")
    assert str(shown["report"].value).startswith("# Corpus health")
    assert shown["documents"].value == 26
    links = configured.sources_file.parent / "links.yaml"
    links.write_text("links:\n  - {from: pdf/manuals/x.pdf, related: flare/bbj-docs/nowhere.htm}\n", encoding="utf-8")
    failure = make_reports(definitions, dagster_instance, log_level="CRITICAL")
    assert failure is not None
    assert "pdf/manuals is configured and not published yet" in failure
    assert "correct or remove these links" in failure
