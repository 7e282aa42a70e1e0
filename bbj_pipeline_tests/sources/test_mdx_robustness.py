"""The mdx source never raises for bad input, and every key that goes in comes out."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bbj_pipeline.records import RawDocument, Reject, Topic
from bbj_pipeline.settings import SAMPLES_DIR
from bbj_pipeline.sources.mdx import SOURCE, MdxOptions

SAMPLES = sorted((SAMPLES_DIR / "mdx").rglob("*.md*"))
QUICK = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
MARKS = [
    "`",
    "```",
    ":::",
    ":::tip\n",
    "<",
    ">",
    "</Tabs>",
    "<Tabs>",
    "{",
    "}",
    "|",
    "\n---\n",
    "[",
    "](",
    "*",
    "\0",
    "\r",
    "\t",
    "> ",
    "- ",
]


def results(content: bytes, key: str = "docs/a.mdx") -> list[Topic | Reject]:
    raw = RawDocument(key=key, content=content, dependencies=("docs/_x.mdx",))

    def read(asked: str) -> bytes:
        if asked != "docs/_x.mdx":
            raise KeyError(asked)
        return content

    return list(SOURCE.parse(raw, MdxOptions(), read))


def check(content: bytes, key: str = "docs/a.mdx") -> None:
    found = results(content, key)
    assert [result.key for result in found] == [key]
    assert found == results(content, key)
    for result in found:
        if isinstance(result, Topic):
            assert result.blocks
            assert result.title
            assert all("\0" not in block.text and block.text.encode("utf-8") for block in result.blocks)


@QUICK
@given(st.binary(max_size=2000), st.sampled_from(["docs/a.md", "docs/a.mdx"]))
def test_any_bytes_are_one_topic_or_one_reject(content: bytes, key: str) -> None:
    """Random bytes never raise and give exactly one result, the same each time."""
    check(content, key)


@QUICK
@given(st.sampled_from(SAMPLES), st.lists(st.tuples(st.floats(0, 1), st.sampled_from(MARKS), st.integers(0, 40)), max_size=6))
def test_mutated_samples_are_one_topic_or_one_reject(sample: Path, edits: list[tuple[float, str, int]]) -> None:
    """Marks put into real documents, and pieces cut out of them, never raise."""
    text = sample.read_text(encoding="utf-8")
    for place, mark, cut in edits:
        at = int(place * len(text))
        text = text[:at] + mark + text[at + cut :]
    check(text.encode(), f"docs/{sample.name}")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 10_000 + "]" * 10_000,
        "> " * 10_000 + "x",
        "".join("  " * depth + "- x\n" for depth in range(400)),
        "<div>\n" * 5_000 + "x",
        "<A " * 10_000,
        "<A>" * 10_000,
        "{" * 10_000,
        "<A b={" * 10_000,
        "`" * 10_001 + "x",
        "*a **b " * 5_000,
        ":::tip\n" * 5_000,
        "import {\n" + "a,\n" * 5_000,
        "---\na: " + "[" * 2_000 + "\n---\nx",
        "---\na: &a [x, x]\n" + "".join(f"b{n}: &b{n} [*a, *a]\n" for n in range(50)) + "---\nx",
        "| a |\n| - |\n" + "| b |\n" * 5_000,
        "a" * 200_000,
        "A" * 200_000 + " data:image/png;base64," + "A" * 200_000,
        "[^1]: " * 2_000,
        "import X from './_x.mdx';\n\n" + "<X/>\n\n" * 200,
    ],
    ids=lambda text: text[:12].replace("\n", " "),
)
def test_hostile_shapes_cost_seconds_at_most(text: str) -> None:
    """Deep nesting, endless lines, unclosed tags and partials that include themselves end, and end soon."""
    started = time.perf_counter()
    found = results(text.encode())
    assert len(found) == 1
    assert time.perf_counter() - started < 20


def test_deep_nesting_is_a_named_reject_and_not_a_loss() -> None:
    """What nests deeper than can be read is refused as a whole: nothing is left out silently."""
    (found,) = results(("> " * 300 + "deep\n").encode())
    assert isinstance(found, Reject)
    assert found.code == "too-deep"


def test_surrogates_and_nul_do_not_reach_a_record() -> None:
    """Encoded lone surrogates and NUL bytes are cleaned at the boundary, and no word is glued by it."""
    check(b"a\0b \xed\xa0\x80 c\n" * 20)
    (found,) = results(b"# T\n\nfoo\0bar\n\n```\na\0b\n```\n")
    assert isinstance(found, Topic)
    assert [block.text for block in found.blocks] == ["T", "foo bar", "a b"]
