"""Document types from titles, headings and the shape of the blocks."""

from __future__ import annotations

import pytest

from bbj_pipeline.records import DOC_TYPES, Block, Topic
from bbj_pipeline.stages.doc_types import classify


def topic(title: str, *headings: str, code: str = "", text: str = "Some text.", **more: object) -> Topic:
    blocks = [Block("heading", heading, level=2) for heading in headings]
    blocks.append(Block("paragraph", text))
    if code:
        blocks.append(Block("code", code, language="bbj"))
    return Topic("flare", "a.htm", title, tuple(blocks), **more)  # type: ignore[arg-type]


CASES = [
    (topic("Migrating from PRINT (sysgui)'WINDOW'(...)"), "migration"),
    (topic("Converting character programs to BBj"), "migration"),
    (topic("What's New in BBj 23"), "version-note"),
    (topic("Error handling: best practices"), "best-practice"),
    (topic("OPEN Verb", "Syntax", "Description"), "language-reference"),
    (topic("POS() Function", "Syntax"), "language-reference"),
    (topic("OPEN Verb - Open a Channel"), "language-reference"),
    (topic("'WINDOW' Mnemonic - Create a Window", "Syntax", "Description"), "language-reference"),
    (topic("@(column,row) - Position the Cursor", "Syntax", "Description", "Example"), "language-reference"),
    (topic("READ", "Syntax"), "language-reference"),
    (topic("dwc-slider", "Properties", "Events", "Shadow Parts"), "api-reference"),
    (topic("BBjFileChooser(Upload)", "Properties", "Messages"), "api-reference"),
    (topic("drag-and-drop", "Moving a row"), "concept"),
    (topic("BBjSysGui::addWindow", "Description", "Syntax", "Parameters"), "api-reference"),
    (topic("BBjGrid", "Constructors", "Methods"), "api-reference"),
    (topic("Members", "open(int id)", "close()", "read(string key$)"), "api-reference"),
    (topic("Grid sample", "Code"), "example"),
    (topic("A program", code="x = 1\n" * 100), "example"),
    (topic("Understanding events", "Callbacks"), "concept"),
]


@pytest.mark.parametrize(("given", "expected"), CASES, ids=lambda item: getattr(item, "title", item))
def test_type_and_reason(given: Topic, expected: str) -> None:
    """Each signal gives its type, with a reason a person can read."""
    doc_type, reason = classify(given, "concept")
    assert doc_type == expected
    assert doc_type in DOC_TYPES
    assert reason


def test_a_source_of_one_type_keeps_it() -> None:
    """Every page of a class reference is an API reference, even about a class called Migration."""
    assert classify(topic("Migration tips"), "api-reference")[0] == "api-reference"


def test_prose_among_programs_is_no_example() -> None:
    """A text without code in a source of programs is explanation, or what its title says; a program stays an example."""
    assert classify(topic("Notes on the order entry"), "example")[0] == "concept"
    assert classify(topic("Migrating order entry to DWC"), "example")[0] == "migration"
    assert classify(topic("Migrating order entry to DWC", code="print 1"), "example") == ("example", "type of the source")
