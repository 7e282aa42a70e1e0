"""An installation that only searches and serves: what it has, and what the commands that need more say there."""

from __future__ import annotations

import subprocess
import sys

from bbj_pipeline.settings import Settings
from bbj_pipeline_tests.paths import ROOT
from bbj_pipeline_tests.retrieval.serving.servers import ABSENT, DECLARED, SERVING, WITHOUT_ORCHESTRATION, environment


def test_the_requirements_are_a_part_of_the_declared_ones() -> None:
    """Each is declared and pinned; neither Dagster nor the model of its tables is among them."""
    assert SERVING <= DECLARED
    pinned = {line.partition("==")[0] for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()}
    assert {name.lower().replace("_", "-") for name in pinned} >= SERVING
    assert {"dagster", "dagster_webserver", "dagster_postgres", "great_expectations", "pyarrow", "psycopg2"} <= ABSENT


def test_a_command_that_needs_more_says_so(sample_settings: Settings) -> None:
    """``run`` ends in one line that names the missing package, without a traceback."""
    command = [sys.executable, "-c", WITHOUT_ORCHESTRATION, "run"]
    done = subprocess.run(command, env=environment(sample_settings), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "is not installed: install the whole project" in done.stderr
    assert done.stderr.count("\n") == 1
