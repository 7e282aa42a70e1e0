"""The layers are enforced: the linters pass on the project and fail on a copy in which someone crosses a boundary."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bbj_pipeline_tests.paths import ROOT

BIN = Path(sys.executable).parent


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package and its lint configuration."""
    ignored = shutil.ignore_patterns("__pycache__", "samples")
    shutil.copytree(ROOT / "bbj_pipeline", tmp_path / "bbj_pipeline", ignore=ignored)
    shutil.copyfile(ROOT / "pyproject.toml", tmp_path / "pyproject.toml")
    return tmp_path


def lint(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    # The copy must be found before the installed package, which the interpreter's own path would name first.
    environment = {"PYTHONPATH": str(folder), "PATH": str(BIN), "RUFF_NO_CACHE": "true"}
    return subprocess.run(
        [str(BIN / command[0]), *command[1:]], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def append(folder: Path, module: str, line: str) -> None:
    path = folder / "bbj_pipeline" / module
    path.write_text(path.read_text(encoding="utf-8") + f"\n{line}\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("sources/contract.py", "import dagster"),
        ("stages/contract.py", "import psycopg"),
        ("sources/contract.py", "import bbj_pipeline.storage.blobs"),
        ("orchestration/stage_names.py", "import bbj_pipeline.retrieval"),
        ("retrieval/contract.py", "import bbj_pipeline.orchestration.stage_names"),
    ],
)
def test_a_crossed_boundary_breaks_a_contract(copy: Path, module: str, line: str) -> None:
    """import-linter refuses an import that runs upwards, Dagster in the sources, and a database driver in the stages."""
    assert lint(copy, "lint-imports", "--no-cache").returncode == 0
    append(copy, module, line)
    broken = lint(copy, "lint-imports", "--no-cache")
    assert broken.returncode == 1
    assert "BROKEN" in broken.stdout


@pytest.mark.parametrize(
    ("module", "line", "message"),
    [
        ("sources/contract.py", "import dagster", "Dagster is known in orchestration"),
        ("retrieval/contract.py", "import psycopg", "storage is the only place"),
        ("models/__init__.py", "import os\nprint(os.environ)", "settings is the only reader"),
    ],
)
def test_a_banned_import_is_named(copy: Path, module: str, line: str, message: str) -> None:
    """ruff names the rule when Dagster, a database driver or the environment is used outside its layer."""
    append(copy, module, line)
    broken = lint(copy, "ruff", "check", "--select", "TID251", "bbj_pipeline")
    assert broken.returncode == 1
    assert message in broken.stdout


def test_retrieval_leaves_dagster_unloaded() -> None:
    """Searching never loads Dagster: the module serves where it is not installed."""
    script = "import sys, bbj_pipeline.retrieval, bbj_pipeline.cli.search; sys.exit('dagster' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
