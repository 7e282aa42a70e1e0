"""The command line as a person meets it: a process, its output, its exit code."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bbj_pipeline.settings import SAMPLES_DIR, Settings
from bbj_pipeline.sources.registry import source_kinds
from bbj_pipeline_tests.paths import ROOT

PROGRAM = Path(sys.executable).parent / "bbj-pipeline"
CLEAN = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
"""The environment of a fresh shell in this checkout."""
SAMPLE_PATHS = {
    "flare": "flare",
    "wordpress": "wordpress/kb",
    "web_crawl": "web_crawl/dwc-course",
    "mdx": "mdx/dwc-guide",
    "javadoc": "javadoc",
    "bbj_source": "bbj_source",
    "pdf": "pdf",
}


def call(*arguments: str, settings: Settings | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    if settings is not None:
        assert settings.database_url is not None
        environment |= {
            "BBJ_DATA_DIR": str(settings.data_dir),
            "BBJ_DATABASE_URL": settings.database_url.get_secret_value(),
        }
    return subprocess.run([str(PROGRAM), *arguments], capture_output=True, text=True, check=False, env={**CLEAN, **environment})


def lines(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    "command",
    [
        "",
        "run",
        "demo",
        "parse",
        "tag",
        "chunk",
        "search",
        "serve",
        "mcp",
        "gaps",
        "ui",
        "rejects",
        "rollback",
        "prune",
        "provenance",
        "status",
        "doctor",
        "migrate",
        "sql",
    ],
)
def test_help(command: str) -> None:
    """Every command explains itself and exits 0."""
    done = call(*filter(None, [command, "--help"]))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Usage: ")


@pytest.mark.parametrize(
    ("arguments", "environment", "expected"),
    [
        (("parse", "nosuch", "x"), {}, "unknown source kind 'nosuch': use one of: bbj_source, flare"),
        (("parse", "flare", "/no/such/folder"), {}, "export at /no/such/folder"),
        (("parse", "flare", ".", "--option", "colour=red"), {}, "colour: Extra inputs are not permitted"),
        (("parse", "flare", ".", "--option", "colour"), {}, "--option 'colour' has no value"),
        (("run", "--config", "/no/such.yaml"), {}, "cannot read /no/such.yaml"),
        (("run", "--source", "nosuch"), {}, "no instance 'nosuch'"),
        (("status",), {"BBJ_DATABASE_URL": "postgresql://nobody:secret@127.0.0.1:1/none"}, "127.0.0.1:1"),
        (("status",), {"BBJ_RRF_K": "many"}, "BBJ_RRF_K"),
        (("search", "x", "--generation", "nosuch"), {}, "nosuch"),
    ],
)
def test_a_mistake_gives_one_clear_line(
    arguments: tuple[str, ...], environment: dict[str, str], expected: str, tmp_path: Path
) -> None:
    """A user's mistake exits non-zero, names what was found, and shows neither a traceback nor a secret."""
    done = call(*arguments, BBJ_DATA_DIR=str(tmp_path), **environment)
    assert done.returncode != 0
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stderr + done.stdout


@pytest.mark.parametrize("kind", sorted(SAMPLE_PATHS))
def test_parse_tag_and_chunk_print_the_documented_shapes(kind: str, tmp_path: Path) -> None:
    """The three inspection commands print JSON lines of the documented shape for every kind, without a database."""
    assert set(SAMPLE_PATHS) == set(source_kinds())
    path = str(SAMPLES_DIR / SAMPLE_PATHS[kind])
    environment = {"BBJ_DATA_DIR": str(tmp_path / "unused")}
    topics = lines(call("parse", kind, path, **environment))
    good = [topic for topic in topics if "reject" not in topic]
    assert good
    for topic in good:
        assert {"kind", "key", "title", "url", "section_path", "blocks", "metadata"} <= set(topic)
        assert all({"type", "text"} <= set(block) for block in topic["blocks"])
    for topic in topics:
        if "reject" in topic:
            assert set(topic["reject"]) == {"code", "reason"}
    tagged = lines(call("tag", kind, path, **environment))
    assert {line["key"] for line in tagged} == {topic["key"] for topic in good}
    for line in tagged:
        assert {"generations", "evidence", "doc_type", "doc_type_reason"} <= set(line)
        assert {item["label"] for item in line["evidence"]} >= set(line["generations"])
    chunks = lines(call("chunk", kind, path, **environment))
    for chunk in chunks:
        assert {"kind", "key", "ordinal", "contextual_header", "content", "tokens", "doc_type", "generations"} <= set(chunk)
        assert 0 < chunk["tokens"] <= 512
    assert {chunk["key"] for chunk in chunks} == {line["key"] for line in tagged}
    assert not (tmp_path / "unused").exists()


def test_run_search_and_status(settings: Settings) -> None:
    """``run --json`` reports in the documented shape, ``status`` shows the publication, ``search --json`` finds it."""
    (report,) = lines(call("run", "--source", "javadoc", "--json", settings=settings))
    assert set(report) >= {"kind", "instance", "status", "documents", "chunks", "embeddings", "rows", "seconds", "error"}
    assert (report["status"], report["error"]) == ("published", None)
    assert set(report["documents"]) == {"parsed", "reused", "rejected", "deleted"}
    assert set(report["embeddings"]) == {"computed", "reused"}
    assert set(report["rows"]) == {"inserted", "updated", "deleted", "unchanged"}
    (reject,) = lines(call("rejects", "javadoc/bbj-api", "--json", settings=settings))
    assert (reject["key"], reject["code"]) == ("com.basiscomponents.json", "no-classes")
    (status,) = lines(call("status", "--json", settings=settings))
    assert (status["kind"], status["run_id"]) == ("javadoc", report["run_id"])
    found = lines(call("search", "addWindow", "--kind", "javadoc", "--limit", "3", "--json", settings=settings))[0]
    assert found["query"] == "addWindow"
    assert [hit["rank"] for hit in found["hits"]] == [1, 2, 3]
    best = found["hits"][0]
    assert set(best) >= {
        "rank", "score", "kind", "instance", "key", "title", "heading_path", "contextual_header", "content", "url",
        "generations", "doc_type",
    }  # fmt: skip
    assert any("addWindow" in hit["content"] for hit in found["hits"])
    assert call("search", "addWindow", settings=settings).stdout.count("javadoc/bbj-api") == 5


def test_a_failed_instance_is_an_exit_code(settings: Settings, tmp_path: Path) -> None:
    """``run`` exits 1 when an instance failed, so that a script or a cron job sees it."""
    (tmp_path / "sources.yaml").write_text("pdf:\n  manuals: {path: nowhere}\n", encoding="utf-8")
    done = call("run", "--config", str(tmp_path / "sources.yaml"), "--json", settings=settings)
    assert done.returncode == 1
    (report,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert report["status"] == "failed"
    assert f"no export at {tmp_path / 'nowhere'}" in report["error"]


def test_an_interrupt_stops_the_whole_command(settings: Settings) -> None:
    """Ctrl-C during one instance ends the command with 130 instead of going on with the next instance."""
    assert settings.database_url is not None
    environment = {
        **CLEAN,
        "BBJ_DATA_DIR": str(settings.data_dir),
        "BBJ_DATABASE_URL": settings.database_url.get_secret_value(),
    }
    with subprocess.Popen(
        [str(PROGRAM), "run"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        # Tests may run in a shell's background, whose processes ignore SIGINT; a command in the foreground does not.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=120)
    assert "published" in first
    assert process.returncode == 130, errors
    assert errors.rstrip().endswith("stopped")
    assert len(rest.splitlines()) < 7
    assert "up to date" not in rest
    assert all("interrupted; what is served stays as it was" in line for line in rest.splitlines() if "error:" in line)


def test_the_database_can_be_asked_by_hand(settings: Settings) -> None:
    """``sql`` is psql on the configured database, with its arguments and its exit code, and never shows a password."""
    call("migrate", settings=settings)
    asked = call("sql", "-At", "-c", "select count(*) from embedding_spaces", settings=settings)
    assert (asked.returncode, asked.stdout.strip().isdigit()) == (0, True), asked.stderr
    wrong = call("sql", "-c", "select from nothing_of_this_name", settings=settings)
    assert wrong.returncode == 1
    assert "nothing_of_this_name" in wrong.stderr


def test_doctor_finds_what_is_wrong(settings: Settings, tmp_path: Path) -> None:
    """``doctor`` passes over a sound installation and names each missing export with its remedy."""
    sound = call("doctor", settings=settings)
    assert sound.returncode == 0, sound.stdout + sound.stderr
    misspelt = call("doctor", settings=settings, BBJ_RATE_LIMT="3")
    assert misspelt.returncode == 1
    assert "WRONG  settings: BBJ_RATE_LIMT in the environment: no such setting" in misspelt.stdout
    (tmp_path / "sources.yaml").write_text("pdf:\n  manuals: {path: nowhere}\n", encoding="utf-8")
    wrong = call("doctor", settings=settings, BBJ_SOURCES_FILE=str(tmp_path / "sources.yaml"))
    assert wrong.returncode == 1
    assert "WRONG  pdf/manuals: no export at" in wrong.stdout
