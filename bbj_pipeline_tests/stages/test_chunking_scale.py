"""Large documents: what is asked of the tokenizer grows as the document does, and so does the memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence

import pytest

from bbj_pipeline.models import load_tokenizer
from bbj_pipeline.records import Block, TaggedDoc
from bbj_pipeline.settings import Settings
from bbj_pipeline.stages.chunking import chunk
from bbj_pipeline_tests.stages.documents import make_doc

TOKENIZER = load_tokenizer(Settings())


class Counting:
    """The offline model's tokenizer, which says how many characters it was asked to count, in how many calls."""

    name, window = TOKENIZER.name, TOKENIZER.window

    def __init__(self) -> None:
        self.characters = 0
        self.calls = 0

    def count(self, texts: Sequence[str]) -> list[int]:
        self.characters += sum(map(len, texts))
        self.calls += 1
        return TOKENIZER.count(texts)


def table(rows: int) -> TaggedDoc:
    body = (
        (f"row{row}", f"what row {row} means, in some words", "a remark, to fill the cell of it", str(row))
        for row in range(rows)
    )
    return make_doc(Block("table", rows=(("Name", "Meaning", "Remark", "Value"), *body), header_rows=1), title="Rows")


def long_topic(sections: int) -> TaggedDoc:
    """A topic of sections of every kind of block, some 630 tokens each."""
    blocks = []
    for number in range(sections):
        sentence = f"In section {number} the window opens the channel and reads the record of the file, then it writes it back."
        blocks += [
            Block("heading", f"Section {number}", level=2 + number % 3),
            Block("paragraph", " ".join([sentence] * 12)),
            *(Block("list_item", f"Item {item} of section {number} says a little more.", level=1) for item in range(12)),
            Block("code", "\n".join(f"print {line}, {number}" for line in range(20)), language="bbj"),
        ]
    return make_doc(*blocks, title="Everything")


def listing(methods: int) -> TaggedDoc:
    """A program in one block, of methods that fit and a few that do not."""
    body = "\n".join(
        f"  method public void go{n}()\n"
        + "\n".join(f"    x{k} = {k}" for k in range(300 if n % 20 == 0 else 12))
        + "\n  methodend"
        for n in range(methods)
    )
    return make_doc(Block("code", f"class public All\n{body}\nclassend", language="bbj"), doc_type="example")


@pytest.mark.parametrize(("build", "size"), [(table, 4_000), (long_topic, 60), (listing, 150)])
def test_twice_the_document_is_twice_the_work(build: Callable[[int], TaggedDoc], size: int) -> None:
    """Characters that the tokenizer is asked for double with the document and are a few times its own; so do its calls."""
    small, large = Counting(), Counting()
    chunk(build(size), small)
    doc = build(2 * size)
    chunks = chunk(doc, large)
    assert large.characters < 2.1 * small.characters
    assert large.calls < 2.1 * small.calls
    assert large.characters < 8 * sum(len(block.text) for block in doc.topic.blocks)
    assert all(item.tokens <= TOKENIZER.window for item in chunks)


def test_memory_grows_as_the_table_does() -> None:
    """What a table takes while it is chunked is a few times its text, whatever its size."""
    peaks = []
    for size in (1_000, 2_000):
        doc = table(size)
        tracemalloc.start()
        chunk(doc, TOKENIZER)
        peaks.append(tracemalloc.get_traced_memory()[1] / len(doc.topic.blocks[0].text))
        tracemalloc.stop()
    assert max(peaks) < 60
    assert peaks[1] < 1.2 * peaks[0]


def test_a_table_of_800_kilobytes() -> None:
    """Ten thousand rows come whole and in order under their column names."""
    doc = table(10_000)
    assert len(doc.topic.blocks[0].text) > 700_000
    chunks = chunk(doc, TOKENIZER)
    rows = [
        line.split(" | ")[0].removeprefix("| ")
        for item in chunks
        for line in item.content.split("\n")
        if line.startswith("| row")
    ]
    assert rows == [f"row{row}" for row in range(10_000)]
    assert all(item.content.startswith("| Name | Meaning | Remark | Value |\n| --- |") for item in chunks)
    assert sum(384 <= item.tokens <= 512 for item in chunks) >= 0.9 * len(chunks)


def test_the_largest_topic() -> None:
    """A topic of over 76,000 tokens comes in chunks of which nine in ten have the size that its type aims at."""
    doc = long_topic(160)
    assert sum(TOKENIZER.count([block.text for block in doc.topic.blocks])) > 76_000
    chunks = chunk(doc, TOKENIZER)
    assert sum(384 <= item.tokens <= 512 for item in chunks) >= 0.9 * len(chunks)
    content = "\n".join(item.content for item in chunks)
    assert all(f"Item {item} of section {number} says" in content for item in range(12) for number in range(160))
