"""Pages set here from known text: the words that went in come out, each once, in the order a person reads them.

What is set on purpose and is no text (running lines, hyphens at line ends, ligatures) must be gone or mended.
"""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import BaseDocTemplate, Frame, PageTemplate, Paragraph, Spacer, Table, TableStyle

from bbj_pipeline.records import Block, RawDocument, Topic
from bbj_pipeline.sources.pdf.source import SOURCE, PdfOptions

WORDS = """
    window button event callback terminal screen channel record cursor mnemonic template string process control browser
    program file index field client server order customer invoice total line column row page handle release error branch
    finally offline workflow affine reflect officer buffer sufficient flexible first influence terminals processing
"""
LIGATURES = (("ffi", "ﬃ"), ("ffl", "ﬄ"), ("ff", "ﬀ"), ("fi", "ﬁ"), ("fl", "ﬂ"))
VERA = "Vera"


def parsed(content: bytes) -> Topic:
    (result,) = SOURCE.parse(RawDocument("made.pdf", content), PdfOptions(), lambda key: b"")
    assert isinstance(result, Topic), result
    return result


def paragraphs(seed: int, count: int) -> list[str]:
    """Return paragraphs of sentences; the same word never ends and begins two neighbours, so that order can be seen."""
    chance = random.Random(seed)
    return [" ".join(sentence(chance) for _ in range(chance.randint(2, 5))) for _ in range(count)]


def sentence(chance: random.Random) -> str:
    words = chance.sample(WORDS.split(), chance.randint(6, 14))
    words.insert(3, str(chance.randint(1, 999)))
    return " ".join(words).capitalize() + "."


def running(canvas: Canvas, document: BaseDocTemplate) -> None:
    """Draw what stands on every page and is no text."""
    canvas.setFont("Helvetica", 8)
    canvas.drawString(72, A4[1] - 40, "Handbook of Sample Traders")
    canvas.drawRightString(A4[0] - 72, A4[1] - 40, "Second edition")
    canvas.drawCentredString(A4[0] / 2, 30, f"Page {document.page}")


def nothing(canvas: Canvas, document: BaseDocTemplate) -> None:
    """Draw nothing."""


def made(story: list[object], columns: int, *, draw: Callable[[Canvas, BaseDocTemplate], None] = running) -> bytes:
    """Set a story into one or two columns a page; ``draw`` draws what stands on every page."""
    file = io.BytesIO()
    width = (A4[0] - 144 - 24 * (columns - 1)) / columns
    frames = [Frame(72 + number * (width + 24), 72, width, A4[1] - 144, 0, 0, 0, 0) for number in range(columns)]
    document = BaseDocTemplate(file, pagesize=A4, invariant=1)
    document.addPageTemplates(PageTemplate(frames=frames, onPage=draw))
    document.build(story)
    return file.getvalue()


BODY = ParagraphStyle("body", fontName="Helvetica", fontSize=10, leading=12, spaceAfter=8)
LARGE = ParagraphStyle("large", parent=BODY, fontName="Helvetica-Bold", fontSize=16, leading=20, spaceBefore=8)


@pytest.mark.parametrize(
    ("columns", "alignment", "seed"), [(1, "left", 1), (1, "justify", 2), (2, "left", 3), (2, "justify", 4)]
)
def test_words_come_out_in_reading_order_without_running_lines(columns: int, alignment: str, seed: int) -> None:
    """In one and in two columns, ragged or justified, over pages: the text is the text, and the paragraphs are paragraphs."""
    texts = paragraphs(seed, 60)
    style = ParagraphStyle("set", parent=BODY, alignment=4 if alignment == "justify" else 0)
    found = parsed(made([Paragraph(text, style) for text in texts], columns))
    assert " ".join(block.text for block in found.blocks).split() == " ".join(texts).split()
    assert {block.type for block in found.blocks} == {"paragraph"}
    assert len(texts) - 3 <= len(found.blocks) <= len(texts) + 3  # those that end a page or column may join or part
    assert found.metadata["running_lines_removed"] == 2 * found.metadata["pages"]


def test_headings_lists_and_code_keep_their_places_between_paragraphs() -> None:
    """A section's heading, its bullets and its listing come out as what they are, on their pages, in order."""
    texts = paragraphs(5, 36)
    story: list[object] = []
    wanted: list[tuple[str, str]] = []
    for number in range(12):
        listing = [f'window{number}! = sysgui!.addWindow(10,10,300,200,"{number}")', "if !window! then", "    release", "fi"]
        code = ParagraphStyle("code", parent=BODY, fontName="Courier", fontSize=9)
        first, second, third = texts[3 * number : 3 * number + 3]
        story += [Paragraph(f"Chapter of window {number}", LARGE), Paragraph(first, BODY)]
        story += [Paragraph(text, BODY, bulletText="•") for text in (second, third)]
        story += [Paragraph(line.replace(" ", "\u00a0"), code) for line in listing] + [Spacer(1, 8)]
        wanted += [
            ("heading", f"Chapter of window {number}"),
            ("paragraph", first),
            ("list_item", second),
            ("list_item", third),
        ]
        wanted += [("code", "\n".join(listing))]
    found = parsed(made(story, 1))
    assert [(block.type, block.text) for block in found.blocks if block.type == "heading"] == wanted[::5]
    given = " ".join(block.text for block in found.blocks).split()
    assert given == " ".join(text for _, text in wanted).split()
    assert sum(block.type == "code" for block in found.blocks) >= 12


def test_a_table_is_its_rows_and_cells() -> None:
    """Ruled or not, with wrapped cells, a table's cells come out in rows, the bold row as header, text around it apart."""
    rows = [
        ["Verb", "Since", "What it does"],
        *([f"VERB{n}", f"{n}.0", f"Writes record number {n} to a channel"] for n in range(9)),
    ]
    for ruled in (True, False):
        grid = [("GRID", (0, 0), (-1, -1), 0.5, colors.black)] if ruled else []
        table = Table(rows, colWidths=[90, 60, 250], style=TableStyle([("FONT", (0, 0), (-1, 0), "Helvetica-Bold"), *grid]))
        before, after = paragraphs(6, 2)
        found = parsed(
            made([Paragraph(before, BODY), Spacer(1, 12), table, Spacer(1, 12), Paragraph(after, BODY)], 1, draw=nothing)
        )
        assert [block.type for block in found.blocks] == ["paragraph", "table", "paragraph"]
        assert found.blocks[1].rows == tuple(map(tuple, rows))
        assert found.blocks[1].header_rows == 1
        assert (found.blocks[0].text, found.blocks[2].text) == (before, after)


@dataclass
class Setter:
    """Sets text in lines of a width in the font Vera, breaking words with a hyphen wherever a line has room for a part."""

    canvas: Canvas
    width: float
    y: float = 760.0
    broken: int = 0
    lines: list[str] = field(default_factory=list)

    def set(self, text: str) -> None:
        line = ""
        for word in text.split():
            if self._fits(f"{line} {word}".strip()):
                line = f"{line} {word}".strip()
                continue
            cut = next((n for n in range(len(word) - 3, 2, -1) if word.isalpha() and self._fits(f"{line} {word[:n]}-")), 0)
            if cut:
                self._draw(f"{line} {word[:cut]}-")
                self.broken += 1
            else:
                self._draw(line)
            line = word[cut:]
        self._draw(line)
        self.y -= 8

    def _fits(self, line: str) -> bool:
        return bool(pdfmetrics.stringWidth(line, VERA, 10) <= self.width)

    def _draw(self, line: str) -> None:
        for letters, ligature in LIGATURES[-2:]:  # the two that the font has
            line = line.replace(letters, ligature)
        self.canvas.setFont(VERA, 10)
        self.canvas.drawString(72, self.y, line)
        self.y -= 13


def test_broken_words_and_ligatures_are_mended() -> None:
    """Words broken with a hyphen at line ends and letters joined in one glyph come out as the words they were."""
    pdfmetrics.registerFont(TTFont(VERA, "Vera.ttf"))
    file = io.BytesIO()
    canvas = Canvas(file, pagesize=A4, invariant=1)
    texts = paragraphs(7, 12)
    setter = Setter(canvas, 300)
    for number, text in enumerate(texts):
        if number % 4 == 0 and number:
            canvas.showPage()
            setter.y = 760.0
        setter.set(text)
    canvas.save()
    found = parsed(file.getvalue())
    assert setter.broken >= 20
    assert " ".join(block.text for block in found.blocks).split() == " ".join(texts).split()
    assert [block.page for block in found.blocks if block.text in texts] == [1 + n // 4 for n in range(12)]


def test_every_block_names_the_page_its_words_stand_on() -> None:
    """A block's page is the page on which it begins; chapters that begin on a page of their own keep their headings."""
    file = io.BytesIO()
    canvas = Canvas(file, pagesize=A4, invariant=1)
    texts = paragraphs(8, 18)
    for number in range(6):
        canvas.setFont("Helvetica-Bold", 16)
        canvas.drawString(72, 760, f"Chapter {number + 1}")
        canvas.setFont("Helvetica", 10)
        for place, text in enumerate(texts[3 * number : 3 * number + 3]):
            canvas.drawString(72, 700 - 40 * place, text[:80])
        canvas.drawString(72, 40, f"Guide to windows, page {number + 1}")
        canvas.showPage()
    canvas.save()
    wanted = [(1 + n // 3, text[:80].strip()) for n, text in enumerate(texts)]
    blocks: tuple[Block, ...] = parsed(file.getvalue()).blocks
    assert [(block.page, block.text) for block in blocks if block.type == "paragraph"] == wanted
    assert [(block.page, block.text) for block in blocks if block.type == "heading"] == [
        (n, f"Chapter {n}") for n in range(1, 7)
    ]


def test_a_file_of_nothing_but_repeated_lines_keeps_them() -> None:
    """What stands on every page is furniture of a text; where there is no other text, it is the text."""
    file = io.BytesIO()
    canvas = Canvas(file, pagesize=A4, invariant=1)
    for number in range(1, 6):
        canvas.drawString(72, 700, f"This label goes on box {number} of five.")
        canvas.showPage()
    canvas.save()
    assert [block.text for block in parsed(file.getvalue()).blocks] == [
        f"This label goes on box {n} of five." for n in range(1, 6)
    ]
