"""The override file: what a person says about generations has the last word, is checked, and is missed when it fits nothing."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.orchestration.steps.export import export_raw
from bbj_pipeline.orchestration.steps.transform import parse_raw, tag_topics
from bbj_pipeline.orchestration.steps.workplace import StepResult, Workplace
from bbj_pipeline.records import Block, TaggedDoc, Topic
from bbj_pipeline.sources.config import load_sources
from bbj_pipeline.stages.generations.overrides import Overrides, load_overrides, parse_overrides
from bbj_pipeline.stages.tagging import generations_at, tag
from bbj_pipeline.storage.stage_files import StageDraft, StageFile, StageStore
from bbj_pipeline.storage.stage_records import TAGGED
from bbj_pipeline.storage.stage_units import read_records

TERMINAL = Block("code", "print 'cs',@(5,5),\"Name\"", language="bbj")
BROWSER = Block("code", "BBjAPI().getWebManager()", language="bbj")


def said(text: str) -> Overrides:
    return parse_overrides(text, where="said.yaml")


def tagged(overrides: str, key: str = "guide/menus/a.md") -> TaggedDoc:
    blocks = (Block("heading", "One", level=2), TERMINAL, Block("heading", "Two", level=2), BROWSER)
    return tag(Topic("mdx", key, "Menus", blocks), overrides=said(overrides))


def test_set_add_and_remove() -> None:
    """``set`` replaces all, also those of sections; ``add`` and ``remove`` change the document and its sections."""
    assert tagged("").generations == ("character", "dwc")
    replaced = tagged("guide/menus/a.md: {set: [vpro5]}")
    assert replaced.generations == generations_at(replaced, 0, 2) == ("vpro5",)
    assert [(item.label, item.where) for item in replaced.evidence] == [("vpro5", "override")]
    added = tagged("guide/menus/a.md: {add: [all]}")
    assert added.generations == ("all", "character", "dwc")
    assert generations_at(added, 0, 2) == ("all", "character")
    removed = tagged("guide/menus/a.md: {remove: [dwc]}")
    assert removed.generations == generations_at(removed, 2, 4) == ("character",)
    assert {item.label for item in removed.evidence} == {"character"}
    both = tagged("guide/menus/a.md: {add: [bbj-gui], remove: [character, dwc]}")
    assert both.generations == ("bbj-gui",)
    assert tagged("guide/menus/a.md: {set: []}").generations == ()


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("guide/menus/a.md", True),
        ("guide/menus/*.md", True),
        ("guide/**", True),
        ("**/a.md", True),
        ("**/*.md", True),
        ("guide/*/?.md", True),
        ("guide/*.md", False),
        ("guide/menus/*.htm", False),
        ("menus/a.md", False),
        ("guide/menus/a_md", False),
    ],
)
def test_keys_and_globs(pattern: str, fits: bool) -> None:
    """A pattern is the key, or a glob whose ``*`` stays in its folder and whose ``**`` does not."""
    assert (tagged(f'"{pattern}": {{set: [vpro5]}}').generations == ("vpro5",)) is fits


def test_a_key_with_signs_of_globs_is_a_key() -> None:
    """Keys may hold ``[``, ``*`` or ``?``: they name the document that is called so."""
    assert tagged('"a[1]*.md": {set: [vpro5]}', key="a[1]*.md").generations == ("vpro5",)


def test_the_exact_key_comes_last() -> None:
    """What is said of one document stands over what is said of many, wherever it is written."""
    text = "guide/menus/a.md: {set: [all]}\nguide/**: {set: [vpro5]}"
    assert tagged(text).generations == ("all",)
    assert tagged(text, key="guide/b.md").generations == ("vpro5",)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a.md: {set: [swing]}", "unknown generation 'swing'"),
        ("a.md: {add: [unknown]}", "unknown generation 'unknown'"),
        ("a.md: {put: [dwc]}", "is not made of set, add, remove"),
        ("a.md: [dwc]", "is not made of set, add, remove"),
        ("a.md: {}", "is not made of set, add, remove"),
        ("a.md: {set: dwc}", "is not a list"),
        ("a.md: {set: [dwc], add: [all]}", "has set beside add or remove"),
        ("- a.md", "is not a mapping"),
        ("a.md: {set: [dwc", "is not valid YAML"),
        ("a.md: {set: [[dwc]]}", "unknown generation"),
    ],
)
def test_mistakes_name_file_entry_and_remedy(text: str, sentence: str) -> None:
    """A mistake is an error of one line that names the file and what to write instead."""
    with pytest.raises(ConfigurationError, match=r"said\.yaml") as caught:
        said(text)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.remedy


def test_a_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    """The error names the path and the option."""
    with pytest.raises(ConfigurationError, match="generation_overrides"):
        load_overrides(tmp_path / "none.yaml")


def committed(result: StepResult) -> StageFile:
    return result.output.commit() if isinstance(result.output, StageDraft) else result.output


def test_the_option_works_in_a_run_and_a_change_is_noticed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """``generation_overrides`` is relative to sources.yaml; what fits nothing is warned of; a changed file tags anew."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n\nNothing is said here.\n")
    (tmp_path / "said.yaml").write_text("a.md: {set: [vpro5]}\ngone/*.md: {add: [dwc]}\n")
    (tmp_path / "sources.yaml").write_text("mdx:\n  docs: {path: docs, generation_overrides: said.yaml}\n")
    (instance,) = load_sources(tmp_path / "sources.yaml")
    at = Workplace(instance, StageStore(str(tmp_path / "store")), "test")
    parsed = committed(parse_raw(at, committed(export_raw(at))))
    with caplog.at_level(logging.WARNING):
        file = committed(tag_topics(at, parsed))
    assert [record.getMessage() for record in caplog.records if "'gone/*.md'" in record.getMessage()]
    assert not any("'a.md'" in record.getMessage() for record in caplog.records)
    assert [doc.generations for doc in read_records(file, TAGGED) if isinstance(doc, TaggedDoc)] == [("vpro5",)]
    assert tag_topics(at, parsed).counts["reused"] == 1
    (tmp_path / "said.yaml").write_text("a.md: {set: [dwc]}\n")
    again = tag_topics(at, parsed)
    assert again.counts["computed"] == 1
    assert [d.generations for d in read_records(committed(again), TAGGED) if isinstance(d, TaggedDoc)] == [("dwc",)]
