"""The main job of the README as a process: seven kinds published, a question answered from each, and then nothing to do."""

from __future__ import annotations

import re
from pathlib import Path

from bbj_pipeline.settings import Settings
from bbj_pipeline_tests.cli.test_cli import call


def test_the_demo_answers_from_all_seven_kinds_and_then_does_nothing(settings: Settings) -> None:
    """``demo`` ends with an answer from every source kind; run again it parses 0, embeds 0 and writes 0 rows."""
    first = call("demo", settings=settings)
    assert first.returncode == 0, first.stdout + first.stderr
    assert re.fullmatch(r"7/7 sources answered in \d+\.\d s", first.stdout.splitlines()[-1])
    second = call("demo", settings=settings)
    assert second.returncode == 0, second.stdout + second.stderr
    reports = [line for line in second.stdout.splitlines() if "| chunks" in line]
    assert len(reports) == 8
    for line in reports:
        assert "unchanged" in line
        assert " 0 parsed," in line
        assert " 0 computed," in line
        assert "rows 0 inserted, 0 updated, 0 deleted," in line


def test_the_demo_does_not_mix_its_samples_with_a_configured_corpus(settings: Settings, tmp_path: Path) -> None:
    """Where another sources file is configured nothing is published; the error names it and the way out."""
    (tmp_path / "sources.yaml").write_text("pdf:\n  manuals: {path: manuals}\n", encoding="utf-8")
    refused = call("demo", settings=settings, BBJ_SOURCES_FILE=str(tmp_path / "sources.yaml"))
    assert refused.returncode != 0
    assert str(tmp_path / "sources.yaml") in refused.stderr
    assert "unset BBJ_SOURCES_FILE" in refused.stderr
