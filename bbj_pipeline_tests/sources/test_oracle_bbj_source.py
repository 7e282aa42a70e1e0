"""Declarations of every program of ours, read from the sources by hand: kind, name, first and last line, what they stand in.

Between them the programs show each peculiarity of BBj source: line numbers, labels alone or before a statement, continuation
lines, comments in all forms, classes and interfaces in any case, functions, callpoints, strings and mnemonics that hide code.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bbj_pipeline.records import RawDocument, Reject, Topic
from bbj_pipeline.settings import SAMPLES_DIR
from bbj_pipeline.sources.bbj_source.declarations import declarations
from bbj_pipeline.sources.bbj_source.source import SOURCE, BbjSourceOptions
from bbj_pipeline.sources.bbj_source.text import SourceText, decode
from bbj_pipeline_tests.paths import ROOT

FOLDERS = (ROOT / "benchmarks" / "programs", SAMPLES_DIR / "bbj_source")
NOTHING = """
    character/clock.bbj character/continued.bbj character/long_line.bbj character/umlaute.src character/window_mnemonic.bbj
    config/config.bbx dwc/toast.bbj legacy/dos_ending.src legacy/listing.txt legacy/menu.src
    legacy/no_keywords.src legacy/ORDERS_TOKENISED.bbj
    notes/files.txt report/invoice.prc vpro5/read_control.src
"""
"""Programs that declare nothing: control runs through them, or jumps by line number without GOSUB."""
DECLARED = {
    "barista/ITEMS.cdf": "callpoint ITEMS.BSHO 1-4; callpoint ITEMS.PRICE.AVAL 6-8; callpoint ITEMS.ADIS 10-10;"
    " callpoint ITEMS.<CUSTOM> 11-12",
    "barista/ORDHDR.cdf": "callpoint ORDHDR.ASHO 1-7; callpoint ORDHDR.CUSTOMER_ID.AVAL 9-16; callpoint ORDHDR.BWRI 18-22;"
    " callpoint ORDHDR.<CUSTOM> 24-34; subroutine read_customer 26-30 in ORDHDR.<CUSTOM>;"
    " subroutine open_tables 32-34 in ORDHDR.<CUSTOM>",
    "character/order_entry.src": "subroutine MAIN 9-15; subroutine ASK_CUSTOMER 16-23; subroutine ASK_ITEM 24-28;"
    " subroutine WRITE_ORDER 29-40",
    "config/setup.bbx": "subroutine set_up 2-7",
    "dwc/bui_title.bbj": "subroutine closed 6-7",
    "dwc/order_page.bbj": "subroutine theme 23-28; subroutine ask_browser 34-36; subroutine onSave 38-40;"
    " subroutine onClose 42-43",
    "dwc/web_component.bbj": "class Rating 2-9; method setValue 6-8 in Rating",
    "gui/OrderForm.bbj": "class OrderForm 17-63; method OrderForm 27-29 in OrderForm; method open 35-43 in OrderForm;"
    " method onSave 49-56 in OrderForm; method onClose 58-61 in OrderForm",
    "gui/custom_event.bbj": "subroutine changed 7-9",
    "gui/hello_window.bbj": "subroutine handleClose 10-11",
    "gui/list_box.bbj": "subroutine selected 13-17; subroutine leave 19-20",
    "gui/missing_ends.bbj": "class Draft 2-6; method one 3-4 in Draft; method two 5-6 in Draft",
    "gui/nested_blocks.bbj": "subroutine main 2-17; label first 15-15 in main; label second 16-17 in main;"
    " subroutine other 18-20",
    "gui/two_classes.bbj": "class Account 4-13; method deposit 7-9 in Account; method balance 10-12 in Account;"
    " class SavingsAccount 15-20; method addInterest 17-19 in SavingsAccount; interface Bearing 22-24;"
    " method addInterest 23-23 in Bearing",
    "legacy/inventory.src": "subroutine 500 15-18",
    "legacy/std_routines.src": "subroutine STD_INPUT 2-5; subroutine STD_YESNO 6-10; subroutine STD_ERROR 11-13",
    "lib/date_functions.bbl": "function fnisodate$ 3-3; function fnage 5-8",
    "lib/functions.bbl": "function fnpad$ 5-5; function fncentre$ 8-14; function fncents 17-23",
    "lib/math.bbl": "function fnmax 2-2; function FNMIN 3-3; function FNgcd 4-9",
    "lib/strings.bbj": "class Text 3-18; method trim 6-8 in Text; method digits 11-16 in Text; interface Formatter 20-23;"
    " method format 21-21 in Formatter; method pattern 22-22 in Formatter",
    "report/layout.bbjt": "subroutine body 5-7",
    "report/totals.aon": "label loop 4-6; subroutine done 7-8",
    "test/everything.bbj": "subroutine old_part 6-8; subroutine new_part 10-13; function fnx 15-15; class Both 17-21;"
    " method show 18-20 in Both",
    "vpro5/calculator.src": "label next_event 8-11; subroutine nothing 12-12; subroutine add 13-13; subroutine subtract 14-14;"
    " subroutine multiply 15-15; subroutine divide 16-16",
    "vpro5/order_window.src": "subroutine event_loop 17-22; subroutine save_order 25-31; subroutine need_customer 34-36;"
    " subroutine tab_bounds 39-41; subroutine close_window 43-45",
}
DOCS = {
    ("legacy/std_routines.src", "STD_INPUT"): "STANDARD INPUT AND OUTPUT\n\nREAD A FIELD WITH A DEFAULT",
    ("legacy/std_routines.src", "STD_YESNO"): "ASK A QUESTION, Y IS 1",
    ("legacy/inventory.src", "500"): "PAGE HEADING",
    ("dwc/web_component.bbj", "setValue"): "Number of stars, 0 to 5",
    ("gui/two_classes.bbj", "Account"): "Two classes and an interface in one file, in mixed case.",
    ("gui/two_classes.bbj", "deposit"): "Adds to the balance",
    ("gui/OrderForm.bbj", "onSave"): "Stores the order under its customer.\n\n@param event! the push of the Save button",
    ("gui/hello_window.bbj", "handleClose"): "Without this callback the close box does nothing",
    ("lib/functions.bbl", "fncents"): "Round half away from zero to two decimals; a price is never -0",
    ("vpro5/order_window.src", "tab_bounds"): "Ask tab control 401 for its bounding rectangle: SENDMSG() function 21",
    ("gui/list_box.bbj", "selected"): "",
}
"""Comments that belong to a declaration, in every form they have."""


def programs() -> dict[str, Path]:
    return {file.relative_to(folder).as_posix(): file for folder in FOLDERS for file in folder.rglob("*") if file.is_file()}


def text_of(name: str) -> str:
    source = decode(name, programs()[name].read_bytes())
    return source.text if isinstance(source, SourceText) else ""


def test_each_program_of_ours_is_in_the_table() -> None:
    """A new program comes with its expected declarations, and each extension of BBj programs has one."""
    declaring_nothing = {name for name in programs() if name.endswith("config.bbx")} | set(NOTHING.split())
    assert set(programs()) == set(DECLARED) | declaring_nothing
    suffixes = {Path(name).suffix for name in programs()}
    assert suffixes == set(BbjSourceOptions().extensions)


@pytest.mark.parametrize("name", sorted(programs()))
def test_declarations_are_those_of_the_source(name: str) -> None:
    """Kind, name, exact first and last line and parent, in reading order, and nothing else."""
    found = [
        f"{item.kind} {item.name} {item.start_line}-{item.end_line}" + (f" in {item.parent}" if item.parent else "")
        for item in declarations(text_of(name))
    ]
    assert "; ".join(found) == DECLARED.get(name, "")


def test_comments_are_the_docs_of_what_stands_below_them() -> None:
    """A comment directly above a declaration or beside a label is its doc, without its marks and with all its words."""
    found = {(name, item.name): item.doc for name in DECLARED for item in declarations(text_of(name))}
    assert {key: found[key] for key in DOCS} == DOCS


def test_ranges_end_where_the_next_begins() -> None:
    """On every program: a range is inside its parent's, its last line is not empty, and brothers share no more than a line."""
    for name in DECLARED:
        lines = text_of(name).split("\n")
        items = declarations(text_of(name))
        for item in items:
            assert lines[item.end_line - 1].strip(), (name, item)
            parent = next((other for other in items if other.name == item.parent and other.kind != "method"), None)
            if parent is not None:
                assert parent.start_line <= item.start_line <= item.end_line <= parent.end_line, (name, item)


def parse(key: str, content: bytes) -> Topic | Reject:
    (result,) = SOURCE.parse(RawDocument(key, content), BbjSourceOptions(extensions=(".bbj", ".txt")), lambda name: b"")
    return result


def test_a_file_of_170_kilobytes_keeps_every_line_and_subroutine() -> None:
    """900 subroutines of numbered code, one with a line of 1,778 characters: all declared, every line kept, in order."""
    pieces = []
    for number in range(900):
        base = 10_000 + 10 * number
        long_line = (
            f'{base + 2} LET A$="{"x" * (1_778 - len(f"{base + 2} LET A$=") - 2)}"'
            if number == 450
            else f"{base + 2} LET A$=B$"
        )
        pieces += [
            f"{base} SUB_{number}: REM --- ROUTINE {number} OF A LONG PROGRAM WITH WORDS ENOUGH TO MAKE IT LONG",
            long_line,
        ]
        pieces += [
            f'{base + 4} PRINT @({number % 80},5),"LINE ""{number}"" OF THE PROGRAM",\'BR\'; REM --- SHOW WHERE WE ARE NOW'
        ]
        pieces += [f"{base + 6} RETURN"]
    text = "\n".join(pieces) + "\n"
    assert len(text) > 170_000
    assert max(map(len, pieces)) == 1_778
    assert [(item.name, item.start_line, item.end_line) for item in declarations(text)] == [
        (f"SUB_{n}", 4 * n + 1, 4 * n + 4) for n in range(900)
    ]
    topic = parse("long.bbj", text.encode())
    assert isinstance(topic, Topic)
    code = "\n".join(block.text for block in topic.blocks if block.type == "code")
    assert code.split("\n") == pieces


@pytest.mark.parametrize(
    ("key", "content", "kind"),
    [
        ("DATA.DD.bbj", b"<<bbj>>\x00\x01\x02DD", "tokenised"),
        ("a.bbj", b"<<bbj>>", "tokenised"),
        ("a.bbj", b"\x00\x01PK", "binary"),
        ("a.txt", b"This is a note about orders. It says what to do.\n\nThen it ends.\n", "prose"),
        ("a.txt", b"print 'CS'\ninput a$\nend\n", "program"),
        ("a.txt", b"Read this page before you begin.\nOpen the file of orders first.\n", "prose"),
        ("a.txt", b"For questions, write to the vendor.\nIf it fails on start, call us.\nEnd of notes\n", "prose"),
        ("a.txt", b"if a then goto loop\nfield private BBjNumber total\n", "program"),
        ("a.bbj", b"x=1\ny=x\n", "program"),
        ("a.bbj", b"a$=b$+c$\n?a$\n", "program"),
    ],
)
def test_what_a_file_is(key: str, content: bytes, kind: str) -> None:
    """By its first bytes a file is tokenised, by its zeros binary; text is a program, with or without any keyword, or prose."""
    result = parse(key, content)
    assert (result.code if isinstance(result, Reject) else result.metadata["program_kind"]) == kind


def test_uses_and_includes_are_those_that_the_sources_write() -> None:
    """Every ``use`` and ``#include`` line of our programs, found by a search of whole lines, is in its topic's metadata."""
    seen = 0
    for name, file in programs().items():
        uses = re.findall(r"^\s*use\s+(\S+)\s*$", text_of(name), re.I | re.M)
        includes = re.findall(r"^\s*#include\s+(\S+)\s*$", text_of(name), re.I | re.M)
        result = parse(name, file.read_bytes())
        if isinstance(result, Topic):
            assert result.metadata.get("uses", []) == uses, name
            assert result.metadata.get("includes", []) == includes, name
            seen += len(uses) + len(includes)
    assert seen >= 8
