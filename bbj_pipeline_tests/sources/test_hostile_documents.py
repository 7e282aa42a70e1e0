"""Every hostile document ends as a sound topic or a named reject, in bounded time and memory, and never as an exception."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from typing import Any

import pytest

from bbj_pipeline_tests.paths import ROOT
from bbj_pipeline_tests.sources.hostile import DOCUMENTS
from bbj_pipeline_tests.sources.hostile.markup import ENTITIES

MOST_SECONDS = 8.0
"""Processor time of one document: ten times what the dearest takes, a small part of what a quadratic one would."""
MOST_KILOBYTES = 1024**2
MARKUP_KINDS = ("flare", "web_crawl", "wordpress", "javadoc")
SAME_PARSER = frozenset(("200,000 attributes", "one line of 10 MB", "one word of 10 MB"))
"""Costly documents that test the markup parser and not the kind: read once, as Flare topics."""


@cache
def examined(kind: str) -> dict[str, dict[str, Any]]:
    """Parse all documents of a kind in a process with hard limits; return what it said of each, and of itself under ``""``."""
    shared = SAME_PARSER if kind in ("web_crawl", "wordpress", "javadoc") else frozenset()
    names = [name for name in DOCUMENTS[kind] if name not in shared]
    done = subprocess.run(
        [sys.executable, "-m", "bbj_pipeline_tests.sources.hostile.child", kind, *names],
        cwd=ROOT,
        capture_output=True,
        timeout=1_800,  # of a machine that does other things too; the process ends itself by processor time
        check=False,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    found = {line["name"]: line for line in lines if "begun" not in line}
    begun = [line["name"] for line in lines if "begun" in line]
    assert done.returncode == 0, (begun[-1:], done.stderr.decode()[-2000:])
    assert set(found) == {*names, ""}
    return found


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_nothing_hostile_breaks_a_parser(kind: str) -> None:
    """No exception leaves the parser, keys in are keys out, and blocks are valid whatever the document holds."""
    wrong = {name: line["problems"] for name, line in examined(kind).items() if line.get("problems")}
    assert not wrong


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_nothing_hostile_costs_much(kind: str) -> None:
    """Time and memory are bounded: no document takes them in proportion to the square of its size, or without end."""
    found = examined(kind)
    slow = {name: line["seconds"] for name, line in found.items() if name and line["seconds"] > MOST_SECONDS}
    assert not slow
    assert found[""]["peak_kilobytes"] < MOST_KILOBYTES


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        *((kind, name, "entity-declarations") for kind in MARKUP_KINDS for name in ENTITIES),
        *((kind, "more tags than memory", "too-large") for kind in MARKUP_KINDS),
        ("flare", "a snippet that declares entities", "entity-declarations"),
        ("flare", "a variable set that declares entities", "entity-declarations"),
        ("flare", "nested elements", "too-deep"),
        ("flare", "attributes without space", "too-many-attributes"),
        ("flare", "attributes by slashes", "too-many-attributes"),
        ("flare", "attributes behind a bracket in quotes", "too-many-attributes"),
        ("flare", "attributes behind an opening bracket", "too-many-attributes"),
        ("flare", "snippets that use each other twice", "too-large"),
        ("wordpress", "deep JSON", "not-json"),
        ("wordpress", "a number of 100,000 digits", "not-json"),
        ("javadoc", "deep JSON", "not-json"),
        ("javadoc", "a number of 100,000 digits", "not-json"),
        ("mdx", "yaml nests", "front-matter"),
        ("mdx", "yaml tags", "front-matter"),
        ("mdx", "front matter of 10 MB", "front-matter"),
        ("mdx", "only zero bytes", "binary"),
        ("bbj_source", "tokenised", "tokenised"),
        ("bbj_source", "zero bytes", "binary"),
        ("bbj_source", "control characters", "binary"),
        ("pdf", "a page tree that is its own child", "damaged"),
        ("pdf", "encrypted by nonsense", "damaged"),
        ("pdf", "no root", "damaged"),
        ("pdf", "empty", "damaged"),
        ("pdf", "10 MB of nothing", "damaged"),
    ],
)
def test_what_cannot_be_used_says_why(kind: str, name: str, code: str) -> None:
    """A document over a bound, or of another format, is a reject of its own code."""
    assert examined(kind)[name]["rejects"] == [code]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("flare", name) for name in ("huge spans", "one wide row over many narrow ones", "removed siblings with texts")),
        *(("flare", name) for name in ("excluded siblings", "200,000 attributes", "encoding hex", "encoding idna")),
        *(("flare", name) for name in ("encoding punycode", "encoding utf-7", "variables that use each other ten times")),
        *(
            ("wordpress", name)
            for name in ("link is 16", "title is 0", "categories is 10", "half a pair", "deep JSON in a field")
        ),
        *(("wordpress", name) for name in ("Word conditions without end", "zero bytes as names")),
        *(
            ("mdx", name)
            for name in ("yaml anchors", "yaml merges", "yaml numbers", "yaml half pairs", "yaml zero", "one line of 10 MB")
        ),
        *(("bbj_source", name) for name in ("a line number of 5,000 digits", "string without end", "quotes")),
        ("javadoc", "docs link and spaces"),
        *((kind, "accents without end") for kind in ("flare", "web_crawl", "mdx")),
        *(("pdf", name) for name in ("a sound one", "a page of no size", "a page box of the wrong type")),
        *(("pdf", name) for name in ("twenty thousand texts", "forms that draw themselves", "an outline in a circle")),
    ],
)
def test_what_can_be_used_is_kept(kind: str, name: str) -> None:
    """A trap beside sound text does not cost the text."""
    assert examined(kind)[name]["kept"]
