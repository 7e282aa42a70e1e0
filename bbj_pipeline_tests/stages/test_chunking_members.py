"""The largest class of BBj's own reference: every method can be found by its name and its types."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict

import pytest

from bbj_pipeline.models import load_tokenizer
from bbj_pipeline.records import Block, Chunk
from bbj_pipeline.settings import Settings
from bbj_pipeline.stages.chunking import chunk
from bbj_pipeline_tests.fakes import WordTokenizer
from bbj_pipeline_tests.paths import CORPORA
from bbj_pipeline_tests.stages.documents import make_doc, tagged_folder

PACKAGE = "com.basis.bbj.proxies.sysgui"


@pytest.fixture(scope="module")
def window_chunks() -> tuple[Chunk, ...]:
    (doc,) = [doc for doc in tagged_folder("javadoc", CORPORA / "javadoc/bbj") if doc.topic.key == f"{PACKAGE}.BBjWindow"]
    return chunk(doc, load_tokenizer(Settings()))


@pytest.fixture(scope="module")
def methods() -> list[dict]:
    package = json.loads((CORPORA / f"javadoc/bbj/{PACKAGE}.json").read_bytes())
    return next(record for record in package["classes"] if record["name"] == "BBjWindow")["methods"]


def test_each_of_654_methods_is_found_by_name_and_types(methods: list[dict], window_chunks: tuple[Chunk, ...]) -> None:
    """Some line of a chunk of the method's name has that name and, in order, each parameter's type and name."""
    assert len(methods) == 654
    lines: dict[str, list[str]] = defaultdict(list)
    for item in window_chunks:
        if item.heading_path:
            lines[re.split(r"\W", item.heading_path[-1])[0]] += [item.contextual_header, *item.content.split("\n")]
    for method in methods:
        words = [word for each in method["params"] for word in (each.get("type", "").rsplit(".", 1)[-1], each["name"]) if word]
        pattern = re.compile(r"\b" + method["name"] + r"\(" + "".join(rf".*?{re.escape(word)}" for word in words))
        assert any(pattern.search(line) for line in lines[method["name"]]), method


def test_a_set_of_60_overloads_says_what_it_does_in_each_part(methods: list[dict], window_chunks: tuple[Chunk, ...]) -> None:
    """Every part has the description that the overloads share, in its content or its header, and none is a crumb."""
    assert Counter(method["name"] for method in methods)["addInputESpinner"] == 60
    parts = [item for item in window_chunks if item.heading_path[-1:] == ("addInputESpinner",)]
    signatures = [line for item in parts for line in item.content.split("\n") if line.startswith("addInputESpinner(")]
    assert len(signatures) == len(set(signatures)) == 60
    assert len(parts) > 3
    for item in parts:
        assert "creates a BBjInputESpinner on the BBjWindow" in item.embedding_text
        assert 150 <= item.tokens <= 512
    assert all(
        item.contextual_header.startswith("BBjWindow > addInputESpinner > In BBj 7.00 and higher,") for item in parts[1:]
    )


def test_a_chunk_is_about_one_method(window_chunks: tuple[Chunk, ...]) -> None:
    """No chunk below a method's heading shows the signature of a method of another name."""
    for item in window_chunks:
        names = {re.split(r"\(", line)[0] for line in item.content.split("\n") if re.match(r"\w+\([^)]*\)$", line)}
        assert len(names) <= 1
        assert not names or item.heading_path[-1].startswith(names.pop())


def test_overloads_that_stand_apart_are_one_passage() -> None:
    """A class that lists its methods by their parameters has each name in one passage; a constructor is no overload of one."""

    def listed(name: str, signature: str) -> tuple[Block, Block]:
        return Block("heading", name, level=3), Block("code", signature, language="bbj")

    doc = make_doc(
        Block("heading", "Constructors", level=2),
        *listed("Record", "Record()"),
        Block("heading", "Methods", level=2),
        *listed("getInt", "getInt(int p_field)"),
        *listed("getText", "getText(int p_field)"),
        *listed("getInt", "getInt(String p_name)"),
        *listed("Record", "Record(String p_name)"),
        *listed("getText", "getText(String p_name)"),
        doc_type="api-reference",
        title="Record",
    )
    assert [
        (item.heading_path[-1], re.findall(r"^\w+\(.*", item.content, re.MULTILINE)) for item in chunk(doc, WordTokenizer(64))
    ] == [
        ("Record", ["Record()"]),
        ("getInt", ["getInt(int p_field)", "getInt(String p_name)"]),
        ("getText", ["getText(int p_field)", "getText(String p_name)"]),
        ("Record", ["Record(String p_name)"]),
    ]
