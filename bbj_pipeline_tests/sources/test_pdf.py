"""What the ``pdf`` kind promises on the sample manual and on small files made for one trap each."""

from __future__ import annotations

import io
import time
import zlib
from pathlib import Path

import pytest
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

from bbj_pipeline.records import Block, RawDocument, Reject, Topic
from bbj_pipeline.settings import SAMPLES_DIR
from bbj_pipeline.sources.pdf.source import SOURCE, PdfOptions
from bbj_pipeline_tests.make_sample_pdf import SAMPLE, TITLE, write


def no_resource(key: str) -> bytes:
    raise KeyError(key)


def parse(content: bytes, key: str = "a.pdf", options: PdfOptions | None = None) -> Topic | Reject:
    (result,) = SOURCE.parse(RawDocument(key, content), options or PdfOptions(), no_resource)
    return result


def topic(content: bytes, key: str = "a.pdf") -> Topic:
    result = parse(content, key)
    assert isinstance(result, Topic)
    return result


def drawn(pages: list[list[tuple[float, float, str, str, float]]], **options: object) -> bytes:
    """Return a PDF of pages of (x, y, words, font, size)."""
    file = io.BytesIO()
    canvas = Canvas(file, pagesize=(600, 800), invariant=1, **options)
    for page in pages:
        for x, y, words, font, size in page:
            canvas.setFont(font, size)
            canvas.drawString(x, y, words)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def prose(lines: list[str], top: float = 700, x: float = 72, size: float = 10) -> list[tuple[float, float, str, str, float]]:
    return [(x, top - 12 * number, line, "Helvetica", size) for number, line in enumerate(lines)]


@pytest.fixture(scope="module")
def manual() -> Topic:
    return topic(SAMPLE.read_bytes(), SAMPLE.name)


def of(found: Topic, kind: str) -> list[Block]:
    return [block for block in found.blocks if block.type == kind]


def test_the_sample_is_what_its_script_writes(tmp_path: Path) -> None:
    """The committed manual is reproducible, byte for byte."""
    write(tmp_path / "again.pdf")
    assert (tmp_path / "again.pdf").read_bytes() == SAMPLE.read_bytes()


def test_outline_entries_are_headings_on_their_pages(manual: Topic) -> None:
    """Title, level and page of each heading are the outline's, and its anchor leads to the page."""
    assert manual.title == TITLE
    assert [(block.page, block.level, block.text, block.anchor) for block in of(manual, "heading")] == [
        (2, 1, "The character terminal", "page=2"),
        (2, 2, "The first screen", "page=2"),
        (2, 2, "What the parts mean", "page=2"),
        (3, 1, "From screens to windows", "page=3"),
        (3, 2, "An order of work", "page=3"),
        (4, 1, "One window, three generations", "page=4"),
        (4, 2, "Visual PRO/5", "page=4"),
        (4, 2, "BBj GUI", "page=4"),
        (4, 2, "DWC", "page=4"),
        (5, 1, "Before you go live", "page=5"),
    ]


def test_running_headers_and_footers_are_gone(manual: Topic) -> None:
    """Neither the running title nor a page number is text; how many lines went is in the metadata."""
    text = "\n".join(block.text for block in manual.blocks)
    assert "Sample Traders" not in text.replace("course at Sample Traders", "")
    assert "Page " not in text
    assert manual.metadata["running_lines_removed"] == 8
    assert manual.metadata["pages"] == 5


def test_ligatures_and_broken_words_are_mended(manual: Topic) -> None:
    """ﬁ and ﬂ become letters, and a word broken at the end of a line is whole again."""
    text = of(manual, "paragraph")[3].text
    assert text.startswith("A character program fills its screen with PRINT and reads its answers with INPUT. A position is")
    assert "the cursor flies to" in text


def test_two_columns_are_read_one_after_the_other(manual: Topic) -> None:
    """The left column comes before the right one, although the file holds them row by row."""
    left, right = [block.text for block in of(manual, "paragraph") if block.page == 3][1:3]
    assert left.startswith("A green screen is not slow.")
    assert left.endswith("closes the new one.")
    assert "when a screen becomes a window" in left
    assert right.startswith("Answers that were checked one by one on the terminal can be checked together in a window")
    assert right.endswith("are first disliked.")


def test_code_keeps_its_lines_and_indents(manual: Topic) -> None:
    """Courier is code, with the indents and empty lines of the page."""
    first, *_, gui, _ = of(manual, "code")
    assert first.text.split("\n")[3:6] == ['IF NAME$="" THEN', '    PRINT @(10,7),"Nobody?"', "ELSE"]
    assert gui.text.endswith("process_events\n\nonClose:\n    release")


def test_lists_and_tables_are_what_they_are(manual: Topic) -> None:
    """Bullets and numbers make list items, cells in line make a table with its header."""
    items = of(manual, "list_item")
    assert [item.text[:9] for item in items] == ["1. Move f", "2. Draw t", "3. Remove", "Every key", "The close", "A program"]
    assert items[3].text.endswith("or the same key in the window.")
    (table,) = of(manual, "table")
    assert table.header_rows == 1
    assert table.rows is not None
    assert table.rows[0] == ("Written", "Called", "Does")
    assert table.rows[2] == ("'CS'", "mnemonic", "clears the screen")


def test_without_an_outline_larger_type_makes_headings() -> None:
    """Levels go from the largest type down; a heading over two lines is one."""
    found = topic(
        drawn(
            [
                [
                    (72, 740, "The large", "Helvetica-Bold", 20),
                    (72, 716, "heading", "Helvetica-Bold", 20),
                    *prose(["Text of the first section, in the size of the body.", "It goes on."], 690),
                    (72, 640, "A smaller one", "Helvetica-Bold", 14),
                    *prose(["More text of the body, and more of it than of headings."], 620),
                ]
            ]
        )
    )
    assert [(block.level, block.text) for block in of(found, "heading")] == [(1, "The large heading"), (2, "A smaller one")]
    assert found.title == "The large heading"


def test_paragraphs_end_at_gaps_and_go_on_over_pages() -> None:
    """Lines at the usual distance are one paragraph, a gap ends it, and a sentence broken by a page end is whole."""
    found = topic(
        drawn(
            [
                prose(["This is the first paragraph of the text and it", "has two lines."], 700)
                + prose(["The second paragraph is broken by the end of the"], 660),
                prose(["page and ends on the next one.", "Here it says so."], 700),
            ]
        )
    )
    assert [(block.page, block.text) for block in found.blocks] == [
        (1, "This is the first paragraph of the text and it has two lines."),
        (1, "The second paragraph is broken by the end of the page and ends on the next one. Here it says so."),
    ]


def test_words_with_a_hyphen_of_their_own_keep_it() -> None:
    """A hyphen at the end of a line stays when the word is written with it elsewhere in the file."""
    found = topic(
        drawn([prose(["Use a cross-reference where you can, or another cross-", "reference, and never re-", "peat."])])
    )
    assert "another cross-reference, and never repeat." in found.blocks[0].text


@pytest.mark.parametrize("content", [b"", b"hello", b"%PDF-1.7\ngarbage", b"%PDF-1.4" + b"\x00" * 5000])
def test_what_is_no_pdf_is_damaged(content: bytes) -> None:
    """Garbage with or without a PDF's first line is a reject."""
    result = parse(content)
    assert isinstance(result, Reject)
    assert result.code == "damaged"


def test_a_truncated_manual_is_a_topic_or_a_reject() -> None:
    """However much of the file is missing, the answer is a record."""
    content = SAMPLE.read_bytes()
    for share in (0.3, 0.6, 0.9):
        assert isinstance(parse(content[: int(len(content) * share)]), Topic | Reject)


def test_a_file_without_text_is_said_to_have_none() -> None:
    """Pages of drawings only are no empty success."""
    result = parse(drawn([[]]))
    assert isinstance(result, Reject)
    assert result.code == "no-text"


def test_passwords_open_files_by_name_or_path_and_are_never_shown() -> None:
    """User and owner password open a file; without one the reject says which option to set, and no text shows a password."""
    content = drawn(
        [prose(["Confidential prices of the year."])],
        encrypt=StandardEncryption("open-me", ownerPassword="owner-me", strength=128),
    )
    closed = parse(content, "sub/prices.pdf")
    assert isinstance(closed, Reject)
    assert closed.code == "password-needed"
    assert "passwords" in closed.reason
    for name in ("sub/prices.pdf", "prices.pdf"):
        for secret in ("open-me", "owner-me"):
            options = PdfOptions.model_validate({"passwords": {name: secret}})
            assert secret not in repr(options)
            found = parse(content, "sub/prices.pdf", options)
            assert isinstance(found, Topic)
            assert found.blocks[0].text == "Confidential prices of the year."
    wrong = parse(content, "prices.pdf", PdfOptions.model_validate({"passwords": {"prices.pdf": "guess"}}))
    assert isinstance(wrong, Reject)
    assert "guess" not in wrong.reason


def hand_made(objects: list[bytes]) -> bytes:
    """Return a PDF of objects 1, 2, …; the first is the catalogue. Readers rebuild the missing cross reference table."""
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % (number, item) for number, item in enumerate(objects, start=1))
    return b"%PDF-1.4\n" + body + b"trailer\n<< /Root 1 0 R /Size 99 >>\nstartxref\n0\n%%EOF"


def stream(data: bytes, extra: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(data), extra, data)


_PAGE = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /XObject << /F 5 0 R >> >> >>"
_TREE = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", _PAGE]


def test_warnings_are_counted_and_not_printed(capfd: pytest.CaptureFixture[str]) -> None:
    """A file without a cross reference table is read; pypdf's warnings about it are counted in the metadata, not printed."""
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>"
    found = topic(hand_made([*_TREE[:2], page, stream(b"BT /F 12 Tf 72 700 Td (Hello) Tj ET"), font]))
    assert [block.text for block in found.blocks] == ["Hello"]
    assert found.metadata["pdf_warnings"] >= 1
    assert capfd.readouterr() == ("", "")


def bomb_of_zeros() -> bytes:
    packed = zlib.compress(b"q Q " * 20_000_000, 9)
    return hand_made([*_TREE, stream(packed, b"/Filter /FlateDecode"), b"null"])


def bomb_of_forms() -> bytes:
    """Ten forms, each drawing the next one ten times: ten thousand million drawings."""
    forms = [
        stream(b"/F Do " * 10, b"/Type /XObject /Subtype /Form /Resources << /XObject << /F %d 0 R >> >>" % (number + 1))
        for number in range(5, 15)
    ]
    leaf = stream(b"BT ET", b"/Type /XObject /Subtype /Form")
    return hand_made([*_TREE, stream(b"/F Do"), *forms, leaf])


def tree_that_bites_its_tail() -> bytes:
    return hand_made([_TREE[0], b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>"])


def page_without_end() -> bytes:
    return hand_made([*_TREE, stream(b"q Q " * 3_900_000), b"null"])


@pytest.mark.parametrize("make", [bomb_of_zeros, bomb_of_forms, page_without_end, tree_that_bites_its_tail])
def test_hostile_files_cost_a_bounded_time(make: object) -> None:
    """A file made to take for ever is rejected by name within its time limit."""
    assert callable(make)
    started = time.monotonic()
    result = parse(make(), options=PdfOptions(max_seconds=2))
    assert isinstance(result, Reject)
    assert result.code in {"too-large", "too-slow", "damaged", "no-text"}
    assert time.monotonic() - started < 90


def test_more_pages_than_allowed_are_too_large() -> None:
    """The number of pages is bounded by an option, and the reject names it."""
    result = parse(drawn([prose(["One."]), prose(["Two."]), prose(["Three."])]), options=PdfOptions(max_pages=2))
    assert isinstance(result, Reject)
    assert result.code == "too-large"
    assert "max_pages" in result.reason


def test_titles_that_say_nothing_give_way() -> None:
    """A title left by the writing program is passed over for the first heading, and without one for the file's name."""
    file = io.BytesIO()
    canvas = Canvas(file, invariant=1)
    canvas.setTitle("Microsoft Word - Document1")
    canvas.drawString(72, 700, "Text.")
    canvas.save()
    assert topic(file.getvalue(), "sub/price_list 2024.pdf").title == "price list 2024"


def test_keys_are_relative_paths_and_urls_are_quoted() -> None:
    """The sample folder lists the manual; its public URL is the template with the quoted path."""
    options = PdfOptions(path=SAMPLES_DIR / "pdf", public_url="https://example.org/{path}")
    (raw,) = SOURCE.export(options)
    assert isinstance(raw, RawDocument)
    (found,) = SOURCE.parse(RawDocument("sub/a b.pdf", raw.content), options, no_resource)
    assert isinstance(found, Topic)
    assert (found.url, found.section_path) == ("https://example.org/sub/a%20b.pdf", ("sub",))
