"""What the ``bbj_source`` kind promises about files: kinds of text, rejects, blocks, titles, metadata."""

from __future__ import annotations

from pathlib import Path

import pytest

from bbj_pipeline.records import WITHDRAWN_CODES, RawDocument, Reject, Topic, Unfetched
from bbj_pipeline.settings import SAMPLES_DIR
from bbj_pipeline.sources.bbj_source.source import SOURCE, BbjSourceOptions
from bbj_pipeline_tests.paths import ROOT

PROGRAMS = ROOT / "benchmarks" / "programs"


def no_resource(key: str) -> bytes:
    raise KeyError(key)


def parse(content: bytes | str, key: str = "a.bbj") -> Topic | Reject:
    raw = RawDocument(key, content.encode() if isinstance(content, str) else content)
    (result,) = SOURCE.parse(raw, BbjSourceOptions(), no_resource)
    return result


def topic(content: bytes | str, key: str = "a.bbj") -> Topic:
    result = parse(content, key)
    assert isinstance(result, Topic)
    return result


def shape(found: Topic) -> list[tuple[str, str]]:
    return [(block.type, block.text) for block in found.blocks]


def export(folder: Path) -> list[RawDocument | Reject | Unfetched]:
    return list(SOURCE.export(BbjSourceOptions(path=folder)))


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"<<bbj>>\x00\x01anything", "tokenised"),
        (b"\x00\x01\x02DATA", "binary"),
        (b"\x01\x02\x03\x04abc\x05\x06", "binary"),
        (b"", "empty"),
        (b" \r\n\t\n\x1a", "empty"),
        (b"rem ----\nREM\n", "empty"),
    ],
)
def test_what_is_no_text_is_rejected_by_name(content: bytes, code: str) -> None:
    """Tokenised programs, data files and empty files are reported, never indexed and never an error."""
    result = parse(content)
    assert isinstance(result, Reject)
    assert (result.code, result.key) == (code, "a.bbj")


def test_bytes_that_are_not_utf8_are_cp1252() -> None:
    """A German program of the nineties keeps its umlauts, quotes and the euro sign."""
    found = topic('rem Größe\nprint "„Straße“ €"'.encode("cp1252"))
    assert shape(found) == [("paragraph", "Größe"), ("code", 'print "„Straße“ €"')]
    assert found.metadata["encoding"] == "cp1252"
    assert topic(b'print "\x81\x9d\x80"').blocks[0].text == 'print "\x81\x9d€"'


def test_files_without_any_keyword_are_kept() -> None:
    """A program is never dropped because it looks like nothing."""
    assert shape(topic("0100 A=1\n0120 ?A")) == [("code", "0100 A=1\n0120 ?A")]


def test_dos_files_lose_their_end_marks_only() -> None:
    """CR LF becomes LF and the closing Control-Z goes; nothing else does."""
    assert topic(b"A=1\r\nB=2\r\n\x1a").blocks[0].text == "A=1\nB=2"


def test_configuration_and_prose_are_told_from_programs() -> None:
    """A ``.bbx`` of aliases is configuration, a ``.txt`` of sentences is prose; either, when it is code, is a program."""
    assert topic("alias X0 syswindow\nPREFIX a/ b/\nFCBS=64", "config.bbx").metadata["program_kind"] == "configuration"
    assert topic('set_up:\n alias$="X0"\n print alias$\n return', "p.bbx").metadata["program_kind"] == "program"
    prose = topic("Install the files.\n\nThen start the server, and wait.", "readme.txt")
    assert (prose.metadata["program_kind"], len(prose.blocks)) == ("prose", 2)
    assert topic("0010 REM A\n0020 PRINT A\n0030 END", "listing.txt").metadata["program_kind"] == "program"


def test_a_class_becomes_headings_docs_and_code() -> None:
    """Class at level 2, methods at level 3, doc comments as paragraphs, the code as it stands; each end is its own kind's."""
    found = topic(
        "rem Car demo\n\nuse ::x.bbj::Y\n\nrem /**\nrem  * A car.\nrem  */\nclass public Car\n\n"
        "    rem Starts it\n    method public void start()\n        x = 1\n    methodend\n\nclassend\n"
    )
    assert [(block.type, block.level, block.text) for block in found.blocks] == [
        ("paragraph", None, "Car demo"),
        ("code", None, "use ::x.bbj::Y"),
        ("heading", 2, "Class Car"),
        ("paragraph", None, "A car."),
        ("code", None, "class public Car"),
        ("heading", 3, "Method start"),
        ("paragraph", None, "Starts it"),
        ("code", None, "    method public void start()\n        x = 1\n    methodend"),
        ("heading", 2, "Class Car"),
        ("code", None, "classend"),
    ]
    assert found.title == "Car demo"
    assert found.metadata["uses"] == ["::x.bbj::Y"]
    assert found.metadata["classes"] == ["Car"]
    assert found.metadata["signatures"] == ["method public void start()"]


@pytest.mark.parametrize(
    ("program", "last"),
    [
        ("CLASS PUBLIC A\nMETHOD PUBLIC VOID F()\nMETHODEND\nCLASSEND", [("heading", "Class A"), ("code", "CLASSEND")]),
        (
            "interface public I\nmethod public void f()\ninterfaceend",
            [("heading", "Interface I"), ("code", "interfaceend")],
        ),
        ("def fnx(a)\nreturn a\nfnend\nend", [("heading", "Program"), ("code", "end")]),
    ],
)
def test_an_end_stands_with_what_it_ends(program: str, last: list[tuple[str, str]]) -> None:
    """The line that ends a class is the class's and not its last method's; the program's ``end`` is no function's."""
    assert shape(topic(program))[-2:] == last


def test_every_block_of_text_knows_its_lines() -> None:
    """The lines a code block names are its text, word for word; those of a paragraph hold its first and last word."""
    for file in sorted(PROGRAMS.rglob("*.*")):
        found = topic(file.read_bytes(), file.name)
        lines = ["", *file.read_bytes().decode("cp1252").replace("\r\n", "\n").rstrip("\x1a").split("\n")]
        at = 0
        for block in found.blocks:
            if block.type == "heading":
                assert block.lines is None
                continue
            assert block.lines is not None
            first, last = block.lines
            assert at < first <= last, (file, block)
            at = last
            text = "\n".join(lines[first : last + 1])
            if block.type == "code":
                assert block.text.encode("ascii", "replace") == text.encode("ascii", "replace")
            else:
                assert block.text.split()[0].encode("ascii", "ignore") in lines[first].encode("ascii", "ignore")
                assert block.text.split()[-1].encode("ascii", "ignore") in lines[last].encode("ascii", "ignore")


def test_lines_are_those_of_the_file() -> None:
    """Blank lines and comments count: an editor that goes to the line finds the code there."""
    found = topic("rem A\nrem B\nrem\nrem C\n\nx=1\n:+2\n\nrem D\nsub1:\nreturn\n")
    assert [(block.text, block.lines) for block in found.blocks if block.type != "heading"] == [
        ("A\nB", (1, 2)),
        ("C", (4, 4)),
        ("x=1\n:+2", (6, 7)),
        ("D", (9, 9)),
        ("sub1:\nreturn", (10, 11)),
    ]
    prose = topic("\n\nOne of two\nlines.\n \nAnother.", "a.txt")
    assert [block.lines for block in prose.blocks] == [(3, 4), (6, 6)]
    assert topic("\nalias X0 syswindow\nPREFIX a/ b/\n", "config.bbx").blocks[0].lines == (2, 3)


def test_code_after_a_class_does_not_hide_under_its_last_method() -> None:
    """What follows a class gets a heading of its own."""
    found = topic('class public A\nmethod public void a()\nmethodend\nclassend\nprint "main"')
    assert shape(found)[-2:] == [("heading", "Program"), ("code", 'print "main"')]


def test_a_numbered_comment_that_is_jumped_to_stays_code() -> None:
    """``GOTO 0100`` must find line 0100 in the code, even when it is a comment; others become paragraphs."""
    found = topic("0010 REM TITLE\n0020 PRINT A\n0030 GOTO 0100\n0100 REM HERE\n0110 A: PRINT B\n0120 GOTO 0100")
    texts = shape(found)
    assert texts[0] == ("paragraph", "TITLE")
    assert any(kind == "code" and "0100 REM HERE" in text for kind, text in texts)


def test_titles_pass_over_copyright_and_rules() -> None:
    """The title is the first line of the opening comment that says something; without one it is the file's name."""
    assert topic("rem ****\nrem Copyright 1999 Somebody\nrem Prints labels\nx=1").title == "Prints labels"
    assert topic("x=1", "sub/labels.src").title == "labels.src"
    assert topic("x=1", "sub/deep/labels.src").section_path == ("sub", "deep")


def test_includes_of_both_spellings_are_listed() -> None:
    """``#include`` with and without quotes ends up in the metadata."""
    assert topic('#include a.src\n#include "b.src"\nx=1').metadata["includes"] == ["a.src", "b.src"]


def test_long_lines_are_kept_whole() -> None:
    """A line of thousands of characters is neither cut nor wrapped."""
    line = "a$=" + "+".join(f'"{number}"' for number in range(900))
    assert topic(line).blocks[0].text == line


def test_the_samples_show_every_kind_of_program() -> None:
    """Of the sample files exactly the tokenised one is rejected; each generation's program says what it is."""
    parsed = {
        raw.key: next(iter(SOURCE.parse(raw, BbjSourceOptions(), no_resource)))
        for raw in export(SAMPLES_DIR / "bbj_source")
        if isinstance(raw, RawDocument)
    }
    assert [key for key, result in parsed.items() if isinstance(result, Reject)] == ["legacy/ORDERS_TOKENISED.bbj"]
    text = {key: "\n".join(b.text for b in found.blocks) for key, found in parsed.items() if isinstance(found, Topic)}
    assert "PRINT 'CS'" in text["character/order_entry.src"]
    assert "print (sysgui)'window'" in text["vpro5/order_window.src"]
    assert "process_events" in text["gui/OrderForm.bbj"]
    assert "getWebManager()" in text["dwc/order_page.bbj"]
    assert list(text) == sorted(text)


def test_links_out_of_the_folder_and_other_files_are_not_read(tmp_path: Path) -> None:
    """A link that leads out is a reject, a link inside is a file, hidden and foreign files are passed over."""
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret.bbj").write_text("rem secret")
    (root / "a.bbj").write_text("rem a")
    (root / "b.BBJ").symlink_to(root / "a.bbj")
    (root / "c.bbj").symlink_to(tmp_path / "secret.bbj")
    (root / "d.bbj").symlink_to(tmp_path / "nowhere.bbj")
    (root / ".hidden.bbj").write_text("rem h")
    (root / "notes.md").write_text("n")
    found = export(root)
    assert [(item.key, type(item).__name__) for item in found] == [
        ("a.bbj", "RawDocument"),
        ("b.BBJ", "RawDocument"),
        ("c.bbj", "Reject"),
        ("d.bbj", "Reject"),
    ]


def test_a_tokenised_file_of_any_name_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Data and programs in BBj's binary form never vanish: they are rejects by name; other files are counted in the log."""
    (tmp_path / "ddm").mkdir()
    (tmp_path / "ddm" / "CUSTOMER.DD").write_bytes(b"<<bbj>>\x00\x05data")
    (tmp_path / "menu").write_bytes(b"<<bbj>>")
    (tmp_path / "linked.dd").symlink_to(tmp_path / "menu")
    (tmp_path / "out.dd").symlink_to(Path(__file__))
    (tmp_path / "a.bbj").write_text("x=1")
    (tmp_path / "Notes.TXT").write_text("How the orders are kept.")
    (tmp_path / "logo.png").write_bytes(b"\x89PNG")
    (tmp_path / "tools.jar").write_bytes(b"PK\x03\x04")
    (tmp_path / "other.jar").write_bytes(b"PK\x03\x04")
    with caplog.at_level("INFO"):
        found = export(tmp_path)
    shown = [(item.key, item.code if isinstance(item, Reject) else "read") for item in found]
    assert shown == [
        ("Notes.TXT", "read"),
        ("a.bbj", "read"),
        ("ddm/CUSTOMER.DD", "tokenised"),
        ("linked.dd", "tokenised"),
        ("menu", "tokenised"),
    ]
    assert "4 files are no BBj source" in caplog.text
    assert "2 .jar" in caplog.text


def test_a_tokenised_file_is_left_out_and_not_broken() -> None:
    """It counts as no failure of the export, and what was served of it as text is gone with the text."""
    assert "tokenised" in WITHDRAWN_CODES


def test_every_benchmark_program_is_a_topic() -> None:
    """None of our own programs, however odd, is lost."""
    raws = export(PROGRAMS)
    assert len(raws) >= 25
    for raw in raws:
        assert isinstance(raw, RawDocument)
        (result,) = SOURCE.parse(raw, BbjSourceOptions(), no_resource)
        assert isinstance(result, Topic)
        assert result.raw_sha256 == raw.sha256
