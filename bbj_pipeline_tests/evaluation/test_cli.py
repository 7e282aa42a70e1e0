"""The command ``eval`` as it is called."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import ir_measures
import pytest

from bbj_pipeline_tests.evaluation.conftest import Published
from bbj_pipeline_tests.paths import ROOT


def _eval(published: Published, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    settings = published.settings
    assert settings.database_url is not None
    variables = {
        "BBJ_DATA_DIR": str(settings.data_dir),
        "BBJ_DATABASE_URL": settings.database_url.get_secret_value(),
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-c", "from bbj_pipeline.cli import main; main()", "eval", *arguments]
    return subprocess.run(command, env={**os.environ, **variables, **environment}, capture_output=True, text=True, check=False)


def test_json_and_run_file_agree(published: Published, tmp_path: Path) -> None:
    """The means of the JSON are those that ir-measures computes from the files of ``--run-file``."""
    run_file = tmp_path / "run.txt"
    done = _eval(published, "--json", "--run-file", str(run_file))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    qrels = list(ir_measures.read_trec_qrels(str(run_file) + ".qrels"))
    means = ir_measures.calc_aggregate([ir_measures.nDCG @ 10, ir_measures.RR], qrels, ir_measures.read_trec_run(str(run_file)))
    assert found["overall"]["nDCG@10"]["mean"] == pytest.approx(means[ir_measures.nDCG @ 10])
    assert found["overall"]["MRR"]["mean"] == pytest.approx(means[ir_measures.RR])


def test_a_missing_judged_file_is_one_line(published: Published, tmp_path: Path) -> None:
    """A file that is not there ends the command with what and the remedy."""
    done = _eval(published, "--judged", str(tmp_path / "none.jsonl"))
    assert done.returncode == 1
    assert done.stderr.startswith("error: the judged queries")
    assert done.stderr.count("\n") == 1
