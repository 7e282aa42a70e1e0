"""Which lines on a page make a table and which do not: pages drawn here, with the rows that were drawn as expectation."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence

import pytest
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Flowable, Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

from bbj_pipeline.records import Block, RawDocument, Topic
from bbj_pipeline.sources.pdf.source import SOURCE, PdfOptions

BODY = ParagraphStyle("body", fontName="Helvetica", fontSize=10, leading=12, spaceAfter=8)
GRID = ("GRID", (0, 0), (-1, -1), 0.5, colors.black)
ROWS = [["Verb", "Does"], ["OPEN", "opens a channel to a file"], ["CLOSE", "closes it"]]
PROSE = "A window is opened by the server and drawn by the client, and events come back over the same line. " * 6


def blocks(content: bytes) -> list[Block]:
    (found,) = SOURCE.parse(RawDocument("a.pdf", content), PdfOptions(), lambda key: b"")
    assert isinstance(found, Topic), found
    return list(found.blocks)


def built(*story: Flowable) -> list[Block]:
    file = io.BytesIO()
    document = SimpleDocTemplate(file, pagesize=A4, invariant=1)
    document.build([Paragraph("Before it.", BODY), *story, Spacer(1, 20), Paragraph("After it.", BODY)])
    return blocks(file.getvalue())


def drawn(draw: Callable[[Canvas], None]) -> list[Block]:
    file = io.BytesIO()
    canvas = Canvas(file, pagesize=A4, invariant=1)
    canvas.setFont("Helvetica", 10)
    draw(canvas)
    canvas.save()
    return blocks(file.getvalue())


def rows_of(found: Sequence[Block]) -> list[tuple[tuple[str, ...], ...] | None]:
    return [block.rows for block in found if block.type == "table"]


def as_rows(rows: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    return tuple(map(tuple, rows))


@pytest.mark.parametrize(
    "rules",
    [
        [GRID],
        [("LINEBELOW", (0, 0), (-1, -1), 0.5, colors.grey), ("LINEAFTER", (0, 0), (0, -1), 0.5, colors.grey)],
        [("BACKGROUND", (0, n), (-1, n), colour) for n, colour in enumerate((colors.silver, colors.white, colors.beige))]
        + [GRID],
    ],
    ids=["grid", "open outside", "coloured rows"],
)
def test_a_small_ruled_table_is_a_table(rules: list[tuple[object, ...]]) -> None:
    """Three rows of two cells are enough when they are ruled, whatever borders there are; the text around stays apart."""
    found = built(Table(ROWS, colWidths=[80, 250], style=TableStyle(rules)))
    assert [block.type for block in found] == ["paragraph", "table", "paragraph"]
    assert rows_of(found) == [as_rows(ROWS)]


def test_cells_of_several_lines_stand_in_their_rows() -> None:
    """Lines of a cell are joined, at whatever height the cells beside it are set; a coloured first row is the header."""
    long = "Writes a record and goes on to the next one, until there is none, and says so with an error of its own"
    cells = [["Verb", "Does"], ["WRITE", Paragraph(long, BODY)], [Paragraph("READ RECORD in a loop", BODY), "reads"]]
    header = ("BACKGROUND", (0, 0), (-1, 0), colors.lightblue)
    middle = ("VALIGN", (0, 0), (-1, -1), "MIDDLE")
    found = built(Table(cells, colWidths=[70, 130], style=TableStyle([GRID, header, middle])))
    assert rows_of(found) == [(("Verb", "Does"), ("WRITE", long), ("READ RECORD in a loop", "reads"))]
    assert [block.header_rows for block in found if block.type == "table"] == [1]


def test_merged_cells_are_repeated_empty() -> None:
    """A cell over two columns or two rows stands at its first place, so that every row has all columns."""
    cells = [["Generation", "Screen", ""], ["", "since", "until"], ["BBj GUI", "4.0", "now"], ["DWC", "21.0", "now"]]
    spans = [("SPAN", (1, 0), (2, 0)), ("SPAN", (0, 0), (0, 1))]
    assert rows_of(built(Table(cells, style=TableStyle([GRID, *spans])))) == [as_rows(cells)]


def test_monospaced_cells_are_cells_and_not_code() -> None:
    """A ruled table of functions set in Courier is a table; the same text in one box is code."""
    rows = [["open(file)", "opens it"], ["close(channel)", "closes it"], ["read(channel)", "reads a record"]]
    font = ("FONT", (0, 0), (-1, -1), "Courier", 9)
    found = built(Table(rows, colWidths=[120, 200], style=TableStyle([GRID, font])))
    assert rows_of(found) == [as_rows(rows)]
    boxed = built(Table([["\n".join("  ".join(row) for row in rows)]], style=TableStyle([GRID, font])))
    assert [block.type for block in boxed] == ["paragraph", "code", "paragraph"]


def test_prose_between_rules_is_prose() -> None:
    """Two columns of prose, ruled above, below and between, are no table, and are read one after the other."""
    cells = [[Paragraph(f"First. {PROSE}", BODY), Paragraph(f"Second. {PROSE}", BODY)] for _ in range(2)]
    found = built(Table(cells, colWidths=[220, 220], style=TableStyle([GRID, ("VALIGN", (0, 0), (-1, -1), "TOP")])))
    assert not rows_of(found)
    assert " ".join(block.text for block in found).split().count("First.") == 2


def test_words_on_a_coloured_ground_are_no_table() -> None:
    """Highlighted words that touch from line to line, boxes around notes, and a rule under a title part no cells."""

    def draw(canvas: Canvas) -> None:
        canvas.line(72, 780, 500, 780)
        canvas.drawString(72, 785, "A title over a rule")
        for y, parts in ((700, ("write the name as ", "left one ", "and here")), (688, ("second line ", "of it", " ends."))):
            x = 72.0
            for number, part in enumerate(parts):
                width = canvas.stringWidth(part, "Helvetica", 10)
                if number != (0 if y == 700 else 2):
                    canvas.setFillColor(colors.lightgrey)
                    canvas.rect(x, y - 3, width, 12, stroke=0, fill=1)
                    canvas.setFillColor(colors.black)
                canvas.drawString(x, y, part)
                x += width
        canvas.rect(72, 600, 300, 40)
        canvas.drawString(80, 615, "A note in a box.")

    found = drawn(draw)
    assert not rows_of(found)
    assert "write the name as left one and here second line of it ends." in [block.text for block in found]


def test_a_drawing_of_thousands_of_lines_costs_nothing_and_keeps_its_words() -> None:
    """More rules than any table has are a drawing: its labels are text, and no cells are looked for."""

    def draw(canvas: Canvas) -> None:
        for number in range(6_000):
            canvas.line(50 + number % 90, 50 + number / 10, 60 + number % 90, 50 + number / 10)
        canvas.drawString(72, 780, "A label of the drawing.")

    assert [(block.type, block.text) for block in drawn(draw)] == [("paragraph", "A label of the drawing.")]
