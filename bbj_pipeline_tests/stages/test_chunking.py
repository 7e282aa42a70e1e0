"""The chunking rules of each document type, on small documents."""

from __future__ import annotations

from itertools import pairwise

import pytest

from bbj_pipeline.models import load_tokenizer
from bbj_pipeline.records import Block
from bbj_pipeline.settings import Settings
from bbj_pipeline.stages.chunking import chunk
from bbj_pipeline_tests.fakes import WordTokenizer
from bbj_pipeline_tests.stages.documents import make_doc, words_of


def heading(text: str, level: int) -> Block:
    return Block("heading", text, level=level)


def paragraph(count: int, start: int = 0) -> Block:
    """``count`` words in sentences of eight."""
    words = [f"w{start + number}x" for number in range(count)]
    sentences = [" ".join(words[at : at + 8]) + "." for at in range(0, count, 8)]
    return Block("paragraph", " ".join("A " + sentence for sentence in sentences))


def test_a_short_topic_is_one_chunk_with_its_place_as_header() -> None:
    """A topic that fits stays whole; its header is the section path and the title, without the repeated h1."""
    doc = make_doc(
        heading("Windows", 1),
        Block("paragraph", "A window is opened by addWindow."),
        heading("Closing", 2),
        Block("list_item", "Call destroy.", level=1),
        Block("list_item", "Release the variable.", level=2),
        title="Windows",
        section_path=("Guide", "User interface"),
    )
    (only,) = chunk(doc, WordTokenizer())
    assert only.contextual_header == "Guide > User interface > Windows"
    assert only.content == (
        "# Windows\n\nA window is opened by addWindow.\n\n## Closing\n\n- Call destroy.\n  - Release the variable."
    )


def test_each_block_type_is_markdown() -> None:
    """Code, tables and notes are written as Markdown that a reader's viewer shows: fences, rows, quotes."""
    doc = make_doc(
        Block("code", 'PRINT "```"', language="bbj", title="Printing"),
        Block("table", rows=(("Verb", "Does"), ("A|B", "one\ntwo")), header_rows=1),
        Block("note", "Take care.\nReally.", title="Caution"),
    )
    (only,) = chunk(doc, WordTokenizer())
    assert only.content == (
        '**Printing**\n\n````bbj\nPRINT "```"\n````\n\n'
        "| Verb | Does |\n| --- | --- |\n| A\\|B | one<br>two |\n\n"
        "> **Caution** Take care.\n> Really."
    )


def test_a_member_of_an_api_reference_is_one_chunk() -> None:
    """Level-3 sections are never merged, however small; the grouping heading "Methods" is not in their header."""
    doc = make_doc(
        Block("paragraph", "Opens windows."),
        heading("Methods", 2),
        heading("addWindow", 3),
        Block("code", "addWindow(int x, int y)", language="bbj"),
        Block("paragraph", "Creates a window."),
        heading("getWindow", 3),
        Block("code", "getWindow(int id)", language="bbj"),
        doc_type="api-reference",
        title="BBjSysGui",
        metadata={
            "signatures": ["addWindow(int x, int y)", "getWindow(int id)"],
            "member_urls": {"addWindow": "https://example.org/addwindow.htm"},
        },
        url="https://example.org/bbjsysgui.htm",
        section_path=("com.example.sysgui",),
    )
    top, add, get = chunk(doc, WordTokenizer())
    assert top.contextual_header == "BBjSysGui"
    assert add.contextual_header == "BBjSysGui > addWindow"
    assert add.content == "```bbj\naddWindow(int x, int y)\n```\n\nCreates a window."
    assert add.metadata == {"signatures": ["addWindow(int x, int y)"]}
    assert add.url == "https://example.org/addwindow.htm"
    assert get.contextual_header == "BBjSysGui > getWindow"
    assert get.url == "https://example.org/bbjsysgui.htm"


def test_a_member_has_its_own_version_and_validity() -> None:
    """Version and deprecation of a method are its own; overloads have the earliest version, or the class's if one says none."""
    doc = make_doc(
        *(
            block
            for signature in ("open()", "open(int x)", "hide()", "show()", "show(int x)", "old()")
            for block in (heading(signature.partition("(")[0], 3), Block("code", signature, language="bbj"), paragraph(8))
        ),
        doc_type="api-reference",
        title="BBjWindow",
        metadata={
            "since_version": "6.00",
            "signatures": ["open()", "open(int x)", "hide()", "show()", "show(int x)", "old()"],
            "member_since": {"open()": "12.00", "open(int x)": "9.0", "hide()": "14.00", "show(int x)": "20.0"},
            "deprecated_members": {"old()": "22.00", "show()": None},
        },
    )
    versions = {part.heading_path[-1]: part.metadata["since_version"] for part in chunk(doc, WordTokenizer())}
    assert versions == {"open": "9.0", "hide": "14.00", "show": "6.00", "old": "6.00"}
    valid = {part.heading_path[-1]: part.metadata.get("still_valid") for part in chunk(doc, WordTokenizer())}
    assert valid == {"open": None, "hide": None, "show": None, "old": False}
    assert chunk(doc, WordTokenizer())[-1].metadata["deprecated_in"] == "22.00"


def test_a_long_member_repeats_its_signature_in_the_header() -> None:
    """Parts of a long method after the first still say which method they describe."""
    doc = make_doc(
        heading("setText", 3),
        Block("code", "setText(string text!)", language="bbj"),
        paragraph(700),
        doc_type="api-reference",
        title="BBjControl",
    )
    first, *rest = chunk(doc, WordTokenizer())
    assert first.contextual_header == "BBjControl > setText"
    assert rest
    assert {part.contextual_header for part in rest} == {"BBjControl > setText > setText(string text!)"}


def test_sections_of_a_reference_that_are_no_members_are_packed() -> None:
    """A small section with a name in words is text like other text; one named like a method or constant stands alone."""
    doc = make_doc(
        heading("Messages", 2),
        heading("Async messages", 3),
        paragraph(20),
        heading("Parameters", 3),
        paragraph(20, 50),
        heading("ON_CLOSE", 3),
        paragraph(20, 100),
        heading("void open(int x)", 3),
        paragraph(20, 150),
        doc_type="api-reference",
        title="BBjWindow",
    )
    headers = [part.contextual_header for part in chunk(doc, WordTokenizer())]
    assert headers == [f"BBjWindow > Messages{member}" for member in ("", " > ON_CLOSE", " > void open(int x)")]


def test_overloads_are_one_method() -> None:
    """Sections that repeat a member's heading are its overloads: one chunk, each signature and each description once."""
    doc = make_doc(
        heading("addButton", 3),
        Block("code", "addButton()", language="bbj"),
        Block("paragraph", "Adds a button."),
        heading("addButton", 3),
        Block("code", "addButton(string text!)", language="bbj"),
        Block("paragraph", "Adds a button."),
        doc_type="api-reference",
        title="BBjWindow",
    )
    (only,) = chunk(doc, WordTokenizer())
    assert only.content == "Adds a button.\n\n```bbj\naddButton()\naddButton(string text!)\n```"


def bbj_class(methods: int, lines: int) -> str:
    body = "\n\n".join(
        f"  method public void step{number}()\n"
        + "\n".join(f"    a{number}_{line} = {line}" for line in range(lines))
        + "\n  methodend"
        for number in range(methods)
    )
    return f"class public Steps\n\n{body}\n\nclassend"


def test_code_is_split_between_functions_only() -> None:
    """A program over the window is cut where methods end; no method is cut, and each part names its class in the header."""
    doc = make_doc(Block("code", bbj_class(12, 20), language="bbj"), doc_type="example", title="steps.bbj")
    chunks = chunk(doc, WordTokenizer(200))
    assert len(chunks) > 3
    for number in range(12):
        holders = [part for part in chunks if f"a{number}_0 =" in part.content]
        assert len(holders) == 1
        assert all(f"a{number}_{line} =" in holders[0].content for line in range(20))
    assert all(part.contextual_header == "steps.bbj > Steps" for part in chunks[1:])


def test_a_function_over_the_window_is_cut_between_lines() -> None:
    """The last resort keeps lines whole and says in the header which method the part belongs to."""
    doc = make_doc(Block("code", bbj_class(1, 100), language="bbj"), doc_type="example", title="steps.bbj")
    chunks = chunk(doc, WordTokenizer(100))
    lines = [line for part in chunks for line in part.content.split("\n") if " = " in line]
    assert lines == [f"    a0_{line} = {line}" for line in range(100)]
    assert chunks[2].contextual_header == "steps.bbj > Steps > step0"


def test_a_large_table_repeats_its_header_rows() -> None:
    """Every part of a split table can be read alone, and every row is in exactly one part."""
    rows = (("Name", "Meaning"), *((f"row{number}", "some words that say what it means") for number in range(90)))
    chunks = chunk(make_doc(Block("table", rows=rows, header_rows=1)), WordTokenizer(200))
    assert len(chunks) > 3
    assert all(part.content.startswith("| Name | Meaning |\n| --- | --- |\n| row") for part in chunks)
    assert [line.split(" | ")[0][2:] for part in chunks for line in part.content.split("\n")[2:]] == [
        f"row{number}" for number in range(90)
    ]


def test_a_word_over_the_window_is_cut_hard() -> None:
    """A single word of thousands of tokens is split, not refused and not truncated."""
    tokenizer = load_tokenizer(Settings())
    word = "".join(f"{number}." for number in range(3000))
    chunks = chunk(make_doc(Block("paragraph", word)), tokenizer)
    assert max(part.tokens for part in chunks) <= 512
    text = "".join(part.content for part in chunks)
    assert all(f"{number}." in text for number in (0, 1, 2998))
    assert sum(len(part.content) for part in chunks) >= len(word)


def test_long_prose_overlaps_at_sentence_boundaries() -> None:
    """Parts of one section share whole sentences where sentences are short enough."""
    chunks = chunk(make_doc(heading("Long", 1), paragraph(2000)), WordTokenizer(512))
    assert len(chunks) >= 4
    for before, after in pairwise(chunks):
        shared = [word for word in words_of(after.content) if word in set(words_of(before.content))]
        assert 0.10 <= after.overlap / after.tokens <= 0.15
        assert after.content.startswith("A w")
        assert after.overlap == len(shared) + len(shared) // 8


def test_sizes_follow_the_document_type() -> None:
    """Prose of 3,000 words comes in parts that lie in the target range of each type."""
    targets = {
        "api-reference": (200, 400),
        "language-reference": (300, 500),
        "concept": (400, 600),
        "best-practice": (400, 600),
    }
    for doc_type, (low, high) in targets.items():
        chunks = chunk(make_doc(paragraph(3000), doc_type=doc_type), WordTokenizer(1000))
        assert all(low <= part.tokens <= high for part in chunks), doc_type


def test_a_migration_keeps_both_patterns_together() -> None:
    """Legacy and modern code of one section are one chunk, even beyond the target of prose."""
    code = "\n".join(f"line{number} = {number}" for number in range(110))
    doc = make_doc(
        heading("Windows", 2),
        Block("paragraph", "Before:"),
        Block("code", code, language="bbj"),
        Block("paragraph", "After:"),
        Block("code", code.replace("line", "modern"), language="bbj"),
        heading("Other", 2),
        paragraph(500),
        doc_type="migration",
    )
    first = chunk(doc, WordTokenizer(1000))[0]
    assert "line109 =" in first.content
    assert "modern109 =" in first.content


def test_tiny_sections_are_merged_below_their_common_heading() -> None:
    """Neighbours far below the target share a chunk, with their headings in its content."""
    doc = make_doc(
        heading("Guide", 1),
        heading("One", 2),
        paragraph(60),
        heading("Two", 2),
        paragraph(60, 100),
        heading("Three", 2),
        paragraph(450, 200),
    )
    first, second = chunk(doc, WordTokenizer(512))
    assert first.heading_path == ("Guide",)
    assert "## One\n" in first.content
    assert "## Two\n" in first.content
    assert second.heading_path == ("Guide", "Three")


def test_a_header_is_bounded() -> None:
    """A deep place does not eat the window: outer parts go first, the title and the last heading stay."""
    long_part = " ".join(f"part{number}" for number in range(30))
    doc = make_doc(
        heading("Short", 1),
        heading(long_part, 2),
        heading("Details", 3),
        paragraph(10),
        heading("More", 3),
        paragraph(600, 50),
        section_path=("Manual", long_part.replace("part", "area")),
        title="Windows",
    )
    tokenizer = WordTokenizer(300)
    headers = {part.contextual_header for part in chunk(doc, tokenizer)}
    assert all(len(header.split()) <= 48 for header in headers)
    assert any(header.endswith("> More") and header.startswith("Windows >") for header in headers)


def test_an_edit_changes_only_its_own_chunks() -> None:
    """After one section is edited, the chunks of the others are equal to what they were, and keep their ids."""
    sections = [(heading(f"Section {number}", 2), paragraph(400, number * 1000)) for number in range(4)]
    blocks = [block for pair in sections for block in pair]
    before = chunk(make_doc(*blocks), WordTokenizer(512))
    blocks[3] = paragraph(390, 7000)
    after = chunk(make_doc(*blocks), WordTokenizer(512))
    assert len(before) == len(after) == 4
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False, True, True]


@pytest.mark.parametrize("name", ["since_version", "superseded_by", "last_updated"])
def test_search_metadata_is_carried_and_bulk_is_not(name: str) -> None:
    """A chunk has what search filters and shows; the lists of a whole class stay with the document."""
    metadata = {name: "x", "keywords": [str(number) for number in range(100)], "signatures": ["f()"] * 600, "related": ["y"]}
    (only,) = chunk(make_doc(Block("paragraph", "Text."), metadata=metadata), WordTokenizer())
    assert only.metadata[name] == "x"
    assert len(only.metadata["keywords"]) == 24
    assert set(only.metadata) - {"section_path"} == {name, "keywords", "related"}
