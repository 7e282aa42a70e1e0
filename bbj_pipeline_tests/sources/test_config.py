"""``sources.yaml`` is validated at load: each mistake is one line that names file, key and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.orchestration.build import build_definitions
from bbj_pipeline.settings import SAMPLES_DIR, Settings
from bbj_pipeline.sources.config import instances_by_kind, load_sources
from bbj_pipeline.sources.registry import source_kinds

FOLDER_KINDS = ("bbj_source", "flare", "javadoc", "mdx", "pdf")
"""Kinds that are read from the file system only."""


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
        ("mdx: {}\n---\nmdx: {}\n", "line 2 is not valid YAML (but found another document)"),
        ("mdx: \x00\n", "is not valid YAML"),
        ("mdx: 2024-13-01\n", "is not valid YAML (month must be in 1..12)"),
        ("mdx: !!timestamp yesterday\n", "is not valid YAML"),
        ("[" * 5000, "is not valid YAML"),
        ("mdx:\n  a: {path: a}\npdf:\n  a: {path: a}\nmdx:\n  b: {path: b}\n", "line 5: mdx stands twice, first in line 1"),
        ("mdx:\n  a: {path: a}\n  b: {path: b}\n  a: {path: c}\n", "line 4: a stands twice, first in line 2"),
        ("mdx:\n  a:\n    path: a\n    path: b\n", "line 4: path stands twice, first in line 3"),
        ("mdx:\n  '1': {path: a}\n  1: {path: b}\n", "line 3: 1 stands twice, first in line 2"),
        ("mdx:\n  1: {path: a}\n", "line 2: the key 1 is not a string: write it in quotes"),
        ("mdx:\n  on: {path: a}\n", "line 2: the key on is not a string: write it in quotes"),
        ("mdx:\n  ?\n  : {path: a}\n", "line 2: the key (empty) is not a string"),
        ("mdx:\n  ? [a]\n  : {path: a}\n", "line 2: the key a sequence is not a string"),
        ("word:\n  docs: {path: a}\n", "unknown kind 'word'"),
        ("mdx: {path: a}\n", "mdx/path is not a mapping"),
        ("mdx:\n", "mdx is not a mapping"),
        ("mdx:\n  My Docs: {path: a}\n", "mdx/My Docs is not a usable name"),
        ("mdx:\n  a...b: {path: a}\n", "mdx/a...b is not a usable name"),
        ('mdx:\n  "a\\nb": {path: a}\n', "mdx/a\\nb is not a usable name"),
        ('mdx:\n  docs: {"pa\\nth": a}\n', "mdx/docs: pa\\nth: Extra inputs are not permitted"),
        ("mdx:\n  docs: {paht: a}\n", "mdx/docs: paht: Extra inputs are not permitted: options of mdx are: path, public_url"),
        (
            "mdx:\n  docs: {path: a, max_reject_share: 2}\n",
            "mdx/docs: max_reject_share: Input should be less than or equal to 1: Share of documents that may be rejected",
        ),
        ("mdx:\n  docs: {path: a, default_generations: [docs]}\n", "mdx/docs: default_generations"),
        ("mdx:\n  docs: {path: a, timezone: Mars/Olympus}\n", "'Mars/Olympus' is no IANA time zone"),
        ("mdx:\n  docs: {path: a, timezone: ''}\n", "mdx/docs: timezone: '' is no IANA time zone"),
        ("mdx:\n  docs: {path: a, schedule: ''}\n", "mdx/docs: schedule: it is empty"),
        ("mdx:\n  docs: {path: a, schedule: ' '}\n", "mdx/docs: schedule: it is empty"),
        ("mdx:\n  docs: {path: ''}\n", "mdx/docs: path is empty: set it to"),
        ("mdx:\n  docs: {path: ' '}\n", "mdx/docs: path is empty: set it to"),
        ("wordpress:\n  kb: {replay: ''}\n", "wordpress/kb: replay is empty: set it to"),
        ('mdx:\n  docs: {path: "a\\0b"}\n', "mdx/docs: path 'a\\x00b' cannot be a path"),
        ("mdx:\n  docs: {path: ~no-such-user/x}\n", "mdx/docs: path '~no-such-user/x' cannot be a path"),
        *((f"{kind}:\n  docs: {{}}\n", f"{kind}/docs: path is missing: set it to") for kind in FOLDER_KINDS),
        ("mdx:\n  docs: {path: }\n", "mdx/docs: path is missing: set it to"),
        *(
            (f"{kind}:\n  docs: {{path: a, public_url: '{template}'}}\n", f"{kind}/docs: public_url: '{template}' has {found}")
            for kind in (*FOLDER_KINDS, "wordpress", "web_crawl")
            for template, found in (
                ("", "no {path}"),
                ("https://example.org/", "no {path}"),
                ("https://example.org/{key}", "no {path}"),
                ("https://example.org/{path}?v={version}", "a brace"),
                ("https://example.org/{path}}", "a brace"),
                ("https://example.org/{{path}", "a brace"),
            )
            if template or kind in FOLDER_KINDS  # a site's address is refused before: it is no URL
        ),
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


def test_what_yaml_offers_is_no_mistake(tmp_path: Path) -> None:
    """Anchors, merge keys with an option overridden, quoted numbers and the same instance name in two kinds are all allowed."""
    instances = load_sources(
        config(
            tmp_path,
            "mdx:\n  '1': &first {path: a, schedule: '@daily'}\n  b: {<<: *first, path: b}\n"
            "pdf:\n  b: {path: b, public_url: 'https://example.org/{path}'}\n",
        )
    )
    assert [str(item.ref) for item in instances] == ["mdx/1", "mdx/b", "pdf/b"]
    assert [item.options.path for item in instances] == [tmp_path / "a", tmp_path / "b", tmp_path / "b"]
    assert [item.options.schedule for item in instances] == ["@daily", "@daily", None]


def test_a_loop_of_links_is_named(tmp_path: Path) -> None:
    """A path that leads back to itself is a mistake of the file, not a traceback."""
    (tmp_path / "loop").symlink_to("loop")
    path = config(tmp_path, "mdx:\n  docs: {path: loop}\n")
    with pytest.raises(ConfigurationError, match="mdx/docs: path 'loop' cannot be a path"):
        load_sources(path)


def test_a_schedule_that_is_none_is_named(tmp_path: Path) -> None:
    """A wrong cron expression is refused when the definitions are loaded, with the instance it stands at."""
    path = config(tmp_path, "mdx:\n  docs: {path: a, schedule: every night}\n")
    with pytest.raises(ConfigurationError, match="no cron expression"):
        build_definitions(Settings(sources_file=path))
