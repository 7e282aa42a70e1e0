"""The README says what is true: its settings, commands and options are those of the code."""

from __future__ import annotations

import re

from bbj_pipeline.cli import _COMMANDS
from bbj_pipeline.settings import Settings
from bbj_pipeline.sources.contract import SourceOptions
from bbj_pipeline.sources.registry import source_kinds
from bbj_pipeline_tests.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_setting_is_documented_and_no_other() -> None:
    """The configuration table names exactly the environment variables that the settings read."""
    table = README.split("## Configuration")[1].split("\n### ")[0]
    named = set(re.findall(r"`(BBJ_[A-Z_]+)`", table)) - {"BBJ_DAGSTER_URL"}
    assert named == {"BBJ_" + name.upper() for name in Settings.model_fields}


def test_every_command_it_shows_exists() -> None:
    """Each ``bbj-pipeline COMMAND`` of the README is a command."""
    shown = set(re.findall(r"bbj-pipeline ([a-z]+)", README))
    assert shown <= set(_COMMANDS)
    assert shown >= {"run", "search", "ui", "parse", "tag", "chunk", "status", "doctor"}


def test_the_options_of_every_kind_are_documented() -> None:
    """The sources table has a row a kind that names the options the kind adds to the common ones, or ends in an ellipsis."""
    for kind, source in source_kinds().items():
        row = next(line for line in README.splitlines() if line.startswith(f"| `{kind}`"))
        own = set(source.options_type.model_fields) - set(SourceOptions.model_fields) - {"url", "replay"}
        named = set(re.findall(r"`([a-z_]+)`", row)) - {kind, "url", "path", "replay"}
        assert named <= own
        assert named == own or row.rstrip(" |").endswith("…"), (kind, own - named)


def test_every_common_option_is_documented() -> None:
    """The options every kind has are named in the README."""
    for name in SourceOptions.model_fields:
        assert f"`{name}`" in README, name


def test_its_files_exist() -> None:
    """Every relative link of the README and of the documents leads to a file."""
    for document in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (document.parent / target).exists(), (document.name, target)
