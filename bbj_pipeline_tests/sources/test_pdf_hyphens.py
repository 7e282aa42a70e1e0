"""What a hyphen at the end of a line is: the rule by itself, on files of a few lines."""

from __future__ import annotations

import io

import pytest
from reportlab.pdfgen.canvas import Canvas

from bbj_pipeline.records import RawDocument, Topic
from bbj_pipeline.sources.pdf.hyphens import Hyphens
from bbj_pipeline.sources.pdf.source import SOURCE, PdfOptions

SOFT = "\u00ad"
BREAKING = ["the win-", "dow of the cli-", "ent is an ob-", "ject of its ses-", "sion and clo-", "ses"]
"""Lines of a file whose typesetting program breaks words."""


@pytest.mark.parametrize(
    ("elsewhere", "lines", "whole"),
    [
        (["the terminal answers"], ["a termi-", "nal"], "a terminal"),
        (["a cross-reference"], ["a cross-", "reference"], "a cross-reference"),
        ([*BREAKING, "a cross-reference"], ["a cross-", "reference"], "a cross-reference"),
        (["side-by-side"], ["side-by-", "side"], "side-by-side"),
        (["the audience is specific"], ["audience-", "specific"], "audience-specific"),
        (["the head of the quarters", *BREAKING], ["head-", "quarters"], "headquarters"),
        ([], ["effi-", "cient"], "efficient"),
        ([], ["in JSON-", "based files"], "in JSON-based files"),
        ([], ["the UTF-", "8 encoding"], "the UTF-8 encoding"),
        ([], ["Subject-", "Verb"], "Subject-Verb"),
        ([], ["pages 3 -", "and more"], "pages 3 - and more"),
        ([], ["and/", "or"], "and/or"),
        ([], ["plain lines", "of text"], "plain lines of text"),
        (["the audience is specific"], [f"audience{SOFT}", "specific"], "audiencespecific"),
        ([], [f"Sub{SOFT}", "Verb"], "Sub-Verb"),
        ([f"a{SOFT}", f"b{SOFT}", f"c{SOFT}"], ["drop-", "down"], "drop-down"),
    ],
)
def test_hyphens_at_line_ends(elsewhere: list[str], lines: list[str], whole: str) -> None:
    """The file's own writing decides, then how the hyphen was set, then whether the parts are words of the file."""
    assert Hyphens([*elsewhere, *lines]).join(lines) == whole


@pytest.mark.parametrize(
    ("elsewhere", "text", "whole"),
    [
        ([], "conditions of merchant- ability or fitness", "conditions of merchantability or fitness"),
        (["the documentation"], "docu- mentation of it", "documentation of it"),
        ([], "short- and long-term", "short- and long-term"),
        ([], "the server- this one", "the server- this one"),
        ([], "a test - ability", "a test - ability"),
    ],
)
def test_words_broken_inside_a_line(elsewhere: list[str], text: str, whole: str) -> None:
    """A word that was broken where it was copied from is whole if the rest shows it; a dash and a left-out word stay."""
    assert Hyphens([*elsewhere, text]).join([text]) == whole


def test_a_hyphen_drawn_apart_breaks_a_word_and_one_drawn_with_its_word_is_its_own() -> None:
    """Of two words that stand nowhere else, the one whose hyphen the program added is mended, and only that one."""
    file = io.BytesIO()
    canvas = Canvas(file, invariant=1)
    page = canvas.beginText(72, 700)
    page.setLeading(12)
    lines = [
        ("A glossary of win", "-"),
        ("dows and an audience-", ""),
        ("specific guide for cli", "-"),
        ("ents, ter", "-"),
        ("minals", ""),
    ]
    for text, hyphen in lines:
        for part in (text, hyphen):  # a font set anew begins a part of its own
            page.setFont("Helvetica", 10, 12)
            page.textOut(part)
        page.textLine("")
    canvas.drawText(page)
    canvas.save()
    (found,) = SOURCE.parse(RawDocument("a.pdf", file.getvalue()), PdfOptions(), lambda key: b"")
    assert isinstance(found, Topic)
    assert [b.text for b in found.blocks] == ["A glossary of windows and an audience-specific guide for clients, terminals"]
