"""The ``pdf`` kind against real manuals and forty nasty files, by counts that were made without this code."""

from __future__ import annotations

import csv
import hashlib
import re
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pypdf import PasswordType, PdfReader

from bbj_pipeline.records import RawDocument, Reject, Topic
from bbj_pipeline.sources.pdf.source import SOURCE, PdfOptions
from bbj_pipeline_tests.paths import CORPORA, FACTS
from bbj_pipeline_tests.sources.html_oracle import words

_DIGITS = re.compile(r"\d+")
_BROKEN = re.compile(r"(?<=[a-z])-\s*\n(?=[a-z])")
_LIGATURES = str.maketrans({"ﬁ": "fi", "ﬂ": "fl", "ﬀ": "ff"})
_LEADERS = re.compile(r"(?:\s?\.){4,}")
_WORD = re.compile(r"\w+")
CHAPTERS = (
    "Introduction|Content strategy|Writing for localization|Choose translation method|Generate projects for translation"
    "|Wprowadzenie|Strategia treści|Pisanie pod kątem lokalizacji|Wybierz metodę tłumaczenia"
    "|Generowanie projektów do tłumaczenia"
)
SQREAM = ("connector_jdbc", "connector_python", "install_dashboard", "sqream_ui_guide_dashboard")
RUNNING = {
    "flare-built-localization-guide.pdf": rf"(?:{CHAPTERS})?\s*-?\s*\d+\s*-",
    "rfc8259.pdf": r"RFC 8259 +JSON +December 2017|Bray +Standards Track +\[Page \d+\]",
    **{f"sqream__{name}.pdf": r"\d+" for name in SQREAM},
}
"""Each manual's running lines, as they are seen on its pages."""
BULLETS = frozenset("•◦*-lon\uf05a\uf0eb\uf071")
"""Marks of list items and notes; ``l``, ``o`` and ``n`` are the letters that fonts of symbols borrow for theirs."""
CELLS_GLUED = {"\U000f03d9": "Germany", "\U000f03b2": "Austria"}
"""Words of two cells side by side that pypdf writes without a space between: flags are letters of private use there."""
MENDED = {
    "rfc8259.pdf": {
        "JSON-\n   based": "JSON-based",
        "publications/\n              standards/": "publications/standards/",
        "publications/files/\n              ECMA-ST-ARCH/\n              ECMA-262": "publications/files/ECMA-ST-ARCH/ECMA-262",
    },
    "nasty": {
        "conceiva- \nSibieyTent.": "conceiva-SibieyTent.",
        **{f"{flag}{word}": f"{flag} {word}" for flag, word in CELLS_GLUED.items()},
    },
    "flare-built-localization-guide.pdf": {
        "the system set-\ntings": "the system set- \n tings",
        "audience-\nspecific": "audience-specific",
    },
    **{f"sqream__{name}.pdf": {"merchant- ability": "merchantability"} for name in SQREAM},
}
"""Compounds and addresses broken at a line's end are whole again; one word is broken inside code, which stays as it is.
In the scanned book the caption of a figure stands between the halves of a word. One word was broken before it was copied."""
PASSWORDS = {
    "encrypted-file.pdf": "test",
    "crazyones-encrypted-256.pdf": "password",
    "r6-both-passwords.pdf": "foo",
    **{f"r{name}-user-password.pdf": "asdfzxcv" for name in ("2", "3", "4", "4-aes", "5", "6")},
}
EMPTY_OWNER_PASSWORD = ("r5-user-password.pdf", "r6-user-password.pdf")
"""The manifest says that these need a password, as pypdf did before it tried the empty one as the owner's."""
SCANNED = ("Seige_of_Vicksburg_Sample_OCR.pdf", "Seige_of_Vicksburg_Sample_OCR-crazyones-merged.pdf")
NASTY_RUNNING = r"(?:\d\d +)?THE +SIEGE +OF +VICKSBURG\.(?: +\d\d)?"
"""The scanned book's running line. On two pages character recognition misread it, so that it is no repetition and stays."""

OUTLINE_ALONE = {"flare-built-localization-guide.pdf": ("English (United States)", "Język polski")}
"""Titles that only the outline has; they are headings on the pages they lead to."""
BOX_TITLES = ("Translator's POV", "Punkt widzenia tłumacza")
COVERS = frozenset({1, 2, 3, 74, 75})
"""Pages of that manual with a title or the table of contents, whose tags are those of headings."""


TABLES = {
    "flare-built-localization-guide.pdf": [(18, 6, 2, 1), (57, 4, 4, 1), (90, 4, 2, 1), (91, 3, 2, 1), (129, 4, 4, 1)],
    "sqream__connector_python.pdf": [(4, 13, 2, 1), (4, 13, 2, 1), (4, 3, 2, 1), (5, 11, 2, 1)],
}
"""Page, rows, columns and header rows, counted on the pages as they are printed; a table that goes on on the next page has
its header again there, and is a table there. The other four manuals show tables in pictures only."""


def parse_all(folder: Path, options: PdfOptions) -> dict[str, tuple[Topic | Reject, float]]:
    def one(path: Path) -> tuple[str, tuple[Topic | Reject, float]]:
        started = time.monotonic()
        (result,) = SOURCE.parse(RawDocument(path.name, path.read_bytes()), options, lambda key: b"")
        return path.name, (result, time.monotonic() - started)

    with ThreadPoolExecutor(2) as pool:
        return dict(pool.map(one, sorted(folder.glob("*.pdf"))))


@pytest.fixture(scope="module")
def manuals() -> dict[str, Topic]:
    found = parse_all(CORPORA / "pdf" / "manuals", PdfOptions())
    assert len(found) == 6
    return {name: result for name, (result, _) in found.items() if isinstance(result, Topic)}


@pytest.fixture(scope="module")
def plain() -> dict[str, list[str]]:
    """Return each manual's pages as pypdf extracts them by itself, without the running lines."""
    files = sorted((CORPORA / "pdf" / "manuals").glob("*.pdf"))
    return {
        path.name: [
            "\n".join(line for line in page.extract_text().split("\n") if not re.fullmatch(RUNNING[path.name], line.strip()))
            for page in PdfReader(path).pages
        ]
        for path in files
    }


def plain_words(text: str, name: str) -> Counter[str]:
    """Return the words of extracted text, those broken at line ends whole, without bullets and dot leaders."""
    for broken, whole in MENDED.get(name, {}).items():
        text = text.replace(broken, whole)
    found = words(_LEADERS.sub(" ", _BROKEN.sub("", text).translate(_LIGATURES)))
    for bullet in BULLETS:
        del found[bullet]
    return found


@pytest.fixture(scope="module")
def nasty() -> dict[str, tuple[Topic | Reject, float]]:
    return parse_all(CORPORA / "pdf" / "nasty", PdfOptions())


def facts(name: str) -> list[dict[str, str]]:
    with (FACTS / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def test_every_manual_is_a_topic_with_its_pages(manuals: dict[str, Topic]) -> None:
    """All six manuals are read, with the number of pages the manifest counted."""
    counted = {Path(row["path"]).name: int(row["pages"]) for row in facts("pdf_manifest.tsv") if "/manuals/" in row["path"]}
    assert {name: found.metadata["pages"] for name, found in manuals.items()} == counted


def test_every_outline_title_is_a_heading_on_its_page(manuals: dict[str, Topic]) -> None:
    """Each of the outline entries counted independently is a heading with its text and level on its page.

    No other line is one, but in the manual whose outline stops above the headings of its pages; see the next test.
    """
    for file, rows in grouped(facts("pdf_outlines.tsv")).items():
        wanted = Counter((int(row["page"]), min(int(row["level"]), 6), squeezed(row["title"])) for row in rows)
        headings = [block for block in manuals[file].blocks if block.type == "heading"]
        found = Counter((b.page or 0, b.level or 0, squeezed(b.text)) for b in headings)
        assert not wanted - found, file
        assert found == wanted or file in OUTLINE_ALONE, file


def test_headings_that_the_outline_leaves_out_are_those_the_author_tagged(manuals: dict[str, Topic]) -> None:
    """In a tagged manual every page's headings have the words of its tags H1 to H6, read here from the content streams.

    The titles of boxes are tagged as paragraphs; on the page they are set as headings are, and count as such.
    """
    (name,) = OUTLINE_ALONE
    given: dict[int, Counter[str]] = {}
    for block in manuals[name].blocks:
        if block.type == "heading" and block.page is not None and block.text not in (*OUTLINE_ALONE[name], *BOX_TITLES):
            given.setdefault(block.page, Counter()).update(words(block.text))
    for number, page in enumerate(PdfReader(CORPORA / "pdf" / "manuals" / name).pages, start=1):
        if number not in COVERS:
            assert words(tagged_as_heading(page)) == given.get(number, Counter()), number


def tagged_as_heading(page: Any) -> str:
    """Return the text between marks of headings; a hyphen at a line's end is one that the program added."""
    parts: list[str] = []
    heading = [False]

    def mark(operator: bytes, operands: list[Any], cm: Any, tm: Any) -> None:
        if operator in {b"BDC", b"BMC"}:
            heading[0] = bool(re.fullmatch(r"/H[1-6]", str(operands[0])))
        elif operator == b"EMC":
            heading[0] = False

    def text(text: str, cm: Any, tm: Any, font: Any, size: float) -> None:
        if heading[0]:
            parts.append(text)

    page.extract_text(visitor_operand_before=mark, visitor_text=text)
    return _BROKEN.sub("", "".join(parts))


def grouped(rows: list[dict[str, str]]) -> dict[str, list[dict[str, str]]]:
    files: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        files.setdefault(Path(row["file"]).name, []).append(row)
    return files


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_no_word_of_the_manuals_is_lost_or_invented(manuals: dict[str, Topic], plain: dict[str, list[str]]) -> None:
    """On all pages the words pypdf finds by itself are in the topic as often, but for what the tables above name."""
    assert set(plain) == set(manuals)
    for name, found in manuals.items():
        for broken in MENDED.get(name, {}):
            assert broken in "\n".join(plain[name])
        expected = words(" ".join(OUTLINE_ALONE.get(name, ()))) + plain_words("\n".join(plain[name]), name)
        given = words(" ".join(block.text for block in found.blocks))
        given -= Counter(dict.fromkeys(BULLETS, 10_000))
        assert given == expected, (name, "lost", expected - given, "invented", given - expected)


def test_no_word_of_a_page_goes_elsewhere(manuals: dict[str, Topic], plain: dict[str, list[str]]) -> None:
    """A page's words are in the blocks that begin on it, or in the one that went over its top from the page before."""
    for name, found in manuals.items():
        before = Counter[str]()
        for number, text in enumerate(plain[name], start=1):
            here = [block.text for block in found.blocks if block.page == number]
            lost = plain_words(text, name) - words(" ".join(here)) - before
            assert not lost, (name, number, lost)
            before = words(here[-1]) if here else before


def test_tables_are_the_rows_a_reader_counts(manuals: dict[str, Topic]) -> None:
    """Page by page, the tables of all six manuals have the rows, columns and header rows counted by eye, and no others are."""
    for name, found in manuals.items():
        given = [
            (block.page, len(block.rows or ()), len((block.rows or ((),))[0]), block.header_rows)
            for block in found.blocks
            if block.type == "table"
        ]
        assert given == TABLES.get(name, []), name


def test_cells_over_several_lines_are_whole(manuals: dict[str, Topic]) -> None:
    """A cell's lines are joined with a space, broken words mended, and centred cells stand in the row they are centred in."""
    (table,) = [b for b in manuals["flare-built-localization-guide.pdf"].blocks if b.type == "table" and b.page == 57]
    assert table.rows is not None
    assert table.rows[0] == ("Method", "Best for", "Main advantage", "Main drawback")
    assert table.rows[2] == (
        '"XLIFF" on page 60',
        "Professional localization",
        "Structure-preserving, efficient",
        "Requires setup, more technical",
    )
    last = [b for b in manuals["sqream__connector_python.pdf"].blocks if b.type == "table"][-1]
    assert last.rows is not None
    assert last.rows[8] == (
        "set_datetime(int col, Timestamp val)",
        "Set column at index col of type Datetime in the current row",
    )


def test_icons_begin_notes_and_are_no_text(manuals: dict[str, Topic]) -> None:
    """Text beside an icon is a note named after it, as seen on the pages; text in two lines beside one icon is one note."""
    blocks = manuals["sqream__sqream_ui_guide_dashboard.pdf"].blocks
    assert [(block.page, block.title) for block in blocks if block.type == "note"] == [
        (4, "Note"), (5, "Note"), (7, "Tip"), (8, "Tip"), (9, "Note"), (11, "Tip"), (12, "Tip"), (13, "Warning"),
    ]  # fmt: skip
    assert not any(icon in block.text for block in blocks for icon in "\uf05a\uf0eb\uf071")


def test_code_of_another_pitch_keeps_its_indents(manuals: dict[str, Topic]) -> None:
    """In a monospaced font of half an em the steps of an indent are the four columns that the listing shows."""
    code = "\n".join(b.text for b in manuals["sqream__connector_jdbc.pdf"].blocks if b.type == "code")
    assert "\n    public void testJDBC() throws SQLException, IOException {\n" in code
    assert "\n        while(rs.next()) {\n            res = rs.getInt(1);\n" in code


def test_running_lines_of_an_rfc_are_gone(manuals: dict[str, Topic]) -> None:
    """The author's and the RFC's running lines stand on no page, the sections are headings, and the grammar is code."""
    found = manuals["rfc8259.pdf"]
    text = [block.text for block in found.blocks]
    assert not any("[Page" in words for words in text)
    assert "1.1. Conventions Used in This Document" in [b.text for b in found.blocks if b.type == "heading"]
    assert any(b.type == "code" and b.text.startswith("object = begin-object") for b in found.blocks)


def test_code_of_a_manual_keeps_its_lines(manuals: dict[str, Topic]) -> None:
    """The installation guide's shell commands are code blocks, one command a line."""
    code = [b.text for b in manuals["sqream__install_dashboard.pdf"].blocks if b.type == "code"]
    assert "tar xzvf node-v10.14.1.tar.gz && cd node-v10.14.1\n./configure\nmake\nsudo make install" in code


def test_symbols_and_second_level_bullets_are_lists(manuals: dict[str, Topic]) -> None:
    """A bullet set in a font of symbols is a bullet, not the letter it borrows."""
    blocks = manuals["flare-built-localization-guide.pdf"].blocks
    levels = Counter(b.level for b in blocks if b.type == "list_item")
    assert levels[1] > 300
    assert levels[2] > 30
    assert not any(b.text.startswith(("l ", "o ")) for b in blocks if b.type in {"paragraph", "list_item"})


def test_every_nasty_file_is_what_the_manifest_says(nasty: dict[str, tuple[Topic | Reject, float]]) -> None:
    """File by file: needs a password, has no text, or is a topic whose letters are those counted; none hangs."""
    manifest = {Path(row["path"]).name: row for row in facts("pdf_manifest.tsv") if "/nasty/" in row["path"]}
    assert set(nasty) == set(manifest)
    assert len(nasty) == 40
    for name, row in manifest.items():
        result, seconds = nasty[name]
        assert seconds < 60
        if row["encryption"] == "needpass" and name not in EMPTY_OWNER_PASSWORD:
            assert isinstance(result, Reject), name
            assert (result.code, "passwords" in result.reason) == ("password-needed", True), name
        elif row["text_chars(first400p)"] == "0":
            assert isinstance(result, Reject), name
            assert result.code == "no-text", name
        else:
            assert isinstance(result, Topic), name
            assert result.metadata["pages"] == int(row["pages"]), name
            assert result.metadata.get("encrypted", False) == bool(row["encryption"]), name


def test_no_word_of_the_nasty_files_is_lost_or_invented(nasty: dict[str, tuple[Topic | Reject, float]]) -> None:
    """What pypdf finds on the pages by itself is in the topic, but for what the tables above name."""
    for name, (result, _) in nasty.items():
        if isinstance(result, Reject):
            continue
        reader = PdfReader(CORPORA / "pdf" / "nasty" / name)
        lines = [line for page in reader.pages for line in page.extract_text().split("\n")]
        text = "\n".join(line for line in lines if not re.fullmatch(NASTY_RUNNING, line.strip()) or name not in SCANNED)
        for broken, whole in MENDED.get("nasty", {}).items():
            text = text.replace(broken, whole)
        expected = words(_BROKEN.sub("", text).translate(_LIGATURES))
        given = words(" ".join(block.text for block in result.blocks))
        for bullet in "*•":
            del expected[bullet], given[bullet]
        assert given == expected, (name, "lost", expected - given, "invented", given - expected)


def test_a_table_with_merged_cells_is_a_full_grid(nasty: dict[str, tuple[Topic | Reject, float]]) -> None:
    """Cells over several columns stand at their first place, numbers keep their raised marks, as the printed page shows."""
    topic = nasty["example.pdf"][0]
    assert isinstance(topic, Topic)
    (table,) = [block for block in topic.blocks if block.type == "table"]
    assert table.rows is not None
    assert table.header_rows == 1
    assert [" ".join(re.findall("[A-Z]\\w+", cell)) for cell in table.rows[0]] == [
        "", "Indonesia", "Germany", "Austria", "France", "Vatican",
    ]  # fmt: skip
    assert table.rows[1:] == (
        ("Continent", "Asia", "Europe", "", "", ""),
        ("Capital", "Jakarta", "Berlin", "Vienna", "Paris", "Vatican City"),
        ("Currency", "Rupia", "EUR (€)", "", "", "-"),
        ("Population", "273.879.7501", "83,190,5562", "8,935,1123", "67,413,000", "453"),
    )


def test_an_empty_owner_password_opens_a_file_that_has_a_user_password() -> None:
    """By ISO 32000-2, 7.6.4.4.8, the owner's password is empty when its hash with salt and /U is the first half of /O.

    These two files were made so: whoever opens them with no password is their owner, and their text is there to be read.
    """
    for name in EMPTY_OWNER_PASSWORD:
        reader = PdfReader(CORPORA / "pdf" / "nasty" / name)
        assert reader.decrypt("") == PasswordType.OWNER_PASSWORD
        assert reader.decrypt("asdfzxcv") == PasswordType.USER_PASSWORD
        assert words(reader.pages[0].extract_text()) == words("pdf encryption test password: asdfzxcv")
    encrypt: Any = PdfReader(CORPORA / "pdf" / "nasty" / "r5-user-password.pdf").trailer["/Encrypt"].get_object()
    owner, user = encrypt["/O"].original_bytes, encrypt["/U"].original_bytes
    assert hashlib.sha256(b"" + owner[32:40] + user[:48]).digest() == owner[:32]


def test_passwords_open_what_needs_them() -> None:
    """Every verified password opens its file, in every revision of the encryption."""
    options = PdfOptions.model_validate({"passwords": PASSWORDS})
    for name in PASSWORDS:
        content = (CORPORA / "pdf" / "nasty" / name).read_bytes()
        (result,) = SOURCE.parse(RawDocument(name, content), options, lambda key: b"")
        assert isinstance(result, Topic), name
        assert _WORD.search(result.blocks[0].text)


def test_owner_password_files_open_and_hold_the_same_text(nasty: dict[str, tuple[Topic | Reject, float]]) -> None:
    """A file that only its owner's password restricts opens without one, and reads like the one that is not encrypted."""
    plain = nasty["unencrypted.pdf"][0]
    assert isinstance(plain, Topic)
    for name, (result, _) in nasty.items():
        if "-owner-" in name or "-empty-" in name:
            assert isinstance(result, Topic), name
            assert result.metadata["encrypted"] is True
            assert len(result.blocks) == len(plain.blocks)


def test_a_file_over_its_time_is_rejected_by_name() -> None:
    """A file that needs more processor time than it may have is a reject that names the option to raise."""
    path = CORPORA / "pdf" / "manuals" / "flare-built-localization-guide.pdf"
    (result,) = SOURCE.parse(RawDocument(path.name, path.read_bytes()), PdfOptions(max_seconds=1), lambda key: b"")
    assert isinstance(result, Reject)
    assert result.code == "too-slow"
    assert "max_seconds" in result.reason
