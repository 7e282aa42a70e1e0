"""``sources.yaml`` is validated at load: each mistake is one line that names file, key and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.orchestration.build import build_definitions
from bbj_pipeline.settings import SAMPLES_DIR, Settings
from bbj_pipeline.sources.config import instances_by_kind, load_sources
from bbj_pipeline.sources.registry import source_kinds


def config(folder: Path, text: str) -> Path:
    path = folder / "sources.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    """A relative path means the folder beside the file, wherever the command was started."""
    (instance,) = load_sources(config(tmp_path, "mdx:\n  guide: {path: docs/guide}\n"))
    assert instance.options.path == tmp_path / "docs" / "guide"
    assert str(instance.ref) == "mdx/guide"


def test_instances_are_sorted_and_every_kind_has_a_group() -> None:
    """The order of the file does not matter, and a kind without instances is an empty group."""
    instances = load_sources(SAMPLES_DIR / "sources.yaml")
    assert [item.ref for item in instances] == sorted(item.ref for item in instances)
    groups = instances_by_kind(instances[:1])
    assert set(groups) == set(source_kinds())
    assert sum(map(len, groups.values())) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no source kinds"),
        ("- mdx\n", "has no source kinds"),
        ("mdx: [", "line 1 is not valid YAML"),
        ("word:\n  docs: {path: a}\n", "unknown kind 'word'"),
        ("mdx: {path: a}\n", "mdx/path is not a mapping"),
        ("mdx:\n", "mdx is not a mapping"),
        ("mdx:\n  My Docs: {path: a}\n", "mdx/My Docs is not a usable name"),
        ("mdx:\n  docs: {paht: a}\n", "mdx/docs: paht: Extra inputs are not permitted"),
        (
            "mdx:\n  docs: {path: a, max_reject_share: 2}\n",
            "mdx/docs: max_reject_share: Input should be less than or equal to 1",
        ),
        ("mdx:\n  docs: {path: a, default_generations: [docs]}\n", "mdx/docs: default_generations"),
        ("mdx:\n  docs: {path: a, timezone: Mars/Olympus}\n", "'Mars/Olympus' is no IANA time zone"),
        ("wordpress:\n  kb: {}\n", "wordpress/kb"),
        ("wordpress:\n  kb: {url: 'https://example.org', path: a}\n", "wordpress/kb"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, message: str) -> None:
    """Each mistake names the file, the place and what was found there."""
    path = config(tmp_path, text)
    with pytest.raises(ConfigurationError) as raised:
        load_sources(path)
    assert message in str(raised.value)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_schedule_that_is_none_is_named(tmp_path: Path) -> None:
    """A wrong cron expression is refused when the definitions are loaded, with the instance it stands at."""
    path = config(tmp_path, "mdx:\n  docs: {path: a, schedule: every night}\n")
    with pytest.raises(ConfigurationError, match="no cron expression"):
        build_definitions(Settings(sources_file=path))
