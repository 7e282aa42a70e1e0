"""The operator's commands as a person meets them, over real runs: provenance, rollback, status, prune."""

from __future__ import annotations

import hashlib
from pathlib import Path

import dagster as dg
import pytest

from bbj_pipeline.orchestration.build import build_definitions
from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.orchestration.refresh import InstanceReport, refresh
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.settings import Settings
from bbj_pipeline_tests.cli.test_cli import call, lines

PAGE = "# Channels\n\nA channel of the DWC is a number.\n"


@pytest.fixture
def exports(tmp_path: Path) -> Path:
    """Three small exports of our own, of three kinds."""
    files = {
        "guide/channels.md": PAGE,
        "guide/files.md": "# Files\n\nOPEN takes a channel of the DWC.\n",
        "programs/hello.bbj": 'REM Greets in the DWC\nPRINT "HELLO"\n',
        "site/index.html": "<html><body><main><h1>Start</h1><p>Begin with the DWC here.</p></main></body></html>",
        "sources.yaml": (
            'mdx:\n  guide: {path: guide, public_url: "https://guide.example.org/{path}"}\n'
            'bbj_source:\n  programs: {path: programs}\n'
            'web_crawl:\n  site: {path: site, public_url: "https://site.example.org/{path}"}\n'
        ),
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def publish(settings: Settings, exports: Path, *names: str) -> dict[str, InstanceReport]:
    """Run instances through Dagster as ``bbj-pipeline run`` does."""
    configured = settings.model_copy(update={"sources_file": exports / "sources.yaml"})
    refs = [InstanceRef.parse(name) for name in names]
    with Platform(configured) as platform, dg.DagsterInstance.ephemeral() as instance:
        definitions = build_definitions(configured, platform=platform, max_retries=0)
        reports = {f"{r.kind}/{r.instance}": r for r in refresh(definitions, instance, refs, log_level="CRITICAL")}
    assert {name: report.error for name, report in reports.items() if report.error} == {}
    return reports


def test_three_chunks_of_three_kinds_say_where_they_come_from(settings: Settings, exports: Path, tmp_path: Path) -> None:
    """``provenance`` names document, hash, URL, versions, run and publication; the raw bytes are the exported file's; the
    view says the same; damaged bytes and unknown chunks are refused."""
    reports = publish(settings, exports, "mdx/guide", "bbj_source/programs", "web_crawl/site")
    expected = {
        "mdx/guide": ("channels.md", exports / "guide" / "channels.md", "https://guide.example.org/channels"),
        "bbj_source/programs": ("hello.bbj", exports / "programs" / "hello.bbj", "none"),
        "web_crawl/site": ("index.html", exports / "site" / "index.html", "https://site.example.org/"),
    }
    with Platform(settings) as platform:
        for name, (raw_key, file, url) in expected.items():
            with platform.database.connection() as connection:
                row = connection.execute(
                    "select chunk_id, raw_sha256, run_id, publication_id, parser_version, tagger_version, chunker_version,"
                    " embedder_version, embedding_fingerprint from chunk_provenance"
                    " where kind || '/' || instance = %s and raw_key = %s order by chunk_id",
                    (name, raw_key),
                ).fetchone()
            assert row is not None
            assert row[1] == hashlib.sha256(file.read_bytes()).hexdigest()
            assert row[2] == reports[name].run_id
            copy = tmp_path / "raw"
            done = call("provenance", row[0], "--raw", str(copy), settings=settings)
            assert done.returncode == 0, done.stderr
            assert copy.read_bytes() == file.read_bytes()
            shown = {line[:17].strip(): line[17:] for line in done.stderr.splitlines()}
            assert (shown["instance"], shown["raw document"], shown["raw SHA-256"]) == (name, raw_key, row[1])
            assert shown["source url"].startswith(url)
            assert shown["Dagster run"] == reports[name].run_id
            assert shown["publication"].startswith(f"{row[3]} of ")
            assert [shown["parser"], shown["tagger"], shown["chunker"]] == list(row[4:7])
            assert shown["embedder"] == f"{row[8]} (code {row[7]})"
            assert "SHA-256 verified" in shown["raw bytes"]
        blob = Path(platform.store.blobs.locate(row[1]))
        blob.write_bytes(b"x" * blob.stat().st_size)
        damaged = call("provenance", row[0], settings=settings)
        assert (damaged.returncode, "were damaged: run it again" in damaged.stderr) == (1, True)
        gone = call("provenance", row[0], settings=settings)
        assert (gone.returncode, "are not at" in gone.stderr) == (1, True)
    unknown = call("provenance", "0" * 32, settings=settings)
    assert (unknown.returncode, unknown.stderr.startswith("error: no chunk '000")) == (1, True)


def test_rolling_back_and_forth_from_the_command_line(settings: Settings, exports: Path) -> None:
    """``rollback`` serves the earlier text, ``status`` says so and lists what is kept, ``--lift`` ends the hold, ``prune``
    removes a removed instance and nothing else."""
    publish(settings, exports, "mdx/guide", "bbj_source/programs")
    page = exports / "guide" / "channels.md"
    page.write_text(PAGE.replace("number", "mistake"), encoding="utf-8")
    publish(settings, exports, "mdx/guide")
    environment = {"BBJ_SOURCES_FILE": str(exports / "sources.yaml")}

    done = call("rollback", "mdx/guide", settings=settings)
    assert done.returncode == 0, done.stderr
    assert "0 chunks inserted, 1 updated, 0 deleted" in done.stdout
    (row,) = [row for row in lines(call("status", "--json", settings=settings, **environment)) if row["kind"] == "mdx"]
    assert (row["held"], row["configured"], row["switch_waits"]) == (1, True, None)
    kept = lines(call("status", "--publications", "mdx/guide", "--json", settings=settings))
    assert [item["is_current"] for item in kept] == [True, False, False]
    assert kept[0]["rolled_back_to"] == kept[2]["publication"]
    changed = kept[1]["diff"]["changed"]
    assert (changed["documents"], changed["first"][0]["doc_key"], changed["first"][0]["updated"]) == (1, "channels.md", 1)
    text = call("status", settings=settings, **environment).stdout
    assert "what was rolled away is held until the source changes" in text
    assert publish(settings, exports, "mdx/guide")["mdx/guide"].status == "held"

    lifted = call("rollback", "mdx/guide", "--lift", settings=settings)
    assert "the next run publishes its content again" in lifted.stdout
    assert publish(settings, exports, "mdx/guide")["mdx/guide"].status == "published"

    refused = call("prune", "--instance", "bbj_source/programs", settings=settings, **environment)
    assert (refused.returncode, "is still configured" in refused.stderr) == (1, True)
    config = exports / "sources.yaml"
    config.write_text(config.read_text(encoding="utf-8").replace("  programs:", "  others:"), encoding="utf-8")
    assert (
        "no longer configured: bbj-pipeline prune --instance bbj_source/programs"
        in call("status", settings=settings, **environment).stdout
    )
    dry = call("prune", "--dry-run", settings=settings, **environment).stdout
    assert "still served though no longer configured: bbj_source/programs" in dry
    pruned = call("prune", "--instance", "bbj_source/programs", settings=settings, **environment)
    assert "removed instance bbj_source/programs, table: 1 chunks" in pruned.stdout, pruned.stderr
    assert [row["kind"] for row in lines(call("status", "--json", settings=settings, **environment))] == ["mdx"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("rollback", "mdx"), "'mdx' names no instance: write KIND/INSTANCE"),
        (("rollback", "mdx/guide", "--lift", "--to", "1"), "--lift and --to exclude each other"),
        (("run", "--source", "mdx", "--approve-deletions", "pdf/manuals"), "none of the instances of this run"),
        (("prune", "--instance", "mdx/../.."), "names no instance"),
    ],
)
def test_mistakes_end_in_one_line(settings: Settings, arguments: tuple[str, ...], expected: str) -> None:
    """A wrong argument of an operator's command changes nothing and names the remedy."""
    done = call(*arguments, settings=settings)
    assert done.returncode == 1
    assert expected in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
