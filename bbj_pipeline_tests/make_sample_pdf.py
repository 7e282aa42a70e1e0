"""Writes the sample manual: ``python -m bbj_pipeline_tests.make_sample_pdf [FILE]``. The same bytes every time.

The manual has what PDF manuals have: an outline, running header and footer, a page in two columns, ligatures, broken words,
a table, lists, and code in Courier.
"""

from __future__ import annotations

import sys
from pathlib import Path

from reportlab.lib.pagesizes import A4
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from bbj_pipeline_tests.paths import ROOT

SAMPLE = ROOT / "bbj_pipeline" / "samples" / "pdf" / "bbj-terminal-guide.pdf"
TITLE = "BBj Terminal and Window Guide"
HEADER = "BBj Terminal and Window Guide — Sample Traders"
LEFT, RIGHT, TOP = 72.0, 523.0, 760.0
GUTTER = 308.0
BODY, LEADING = 10.0, 13.0


class Manual:
    """A page position and the few things a manual is made of."""

    def __init__(self, file: Path) -> None:
        self.canvas = Canvas(str(file), pagesize=A4, invariant=1, pageCompression=1)
        self.canvas.setTitle(TITLE)
        self.canvas.setAuthor("Sample Traders")
        self.page = 0
        self.y = TOP

    def new_page(self) -> None:
        if self.page:
            self.canvas.showPage()
        self.page += 1
        self.y = TOP
        if self.page > 1:
            self.text(LEFT, 805, HEADER, "Helvetica-Oblique", 8)
            self.text(RIGHT - 40, 30, f"Page {self.page}", "Helvetica", 8)

    def text(self, x: float, y: float, words: str, font: str, size: float) -> None:
        self.canvas.setFont(font, size)
        self.canvas.drawString(x, y, words)

    def heading(self, words: str, level: int) -> None:
        size = {0: 18, 1: 14}[level]
        self.y -= size
        name = f"h{self.page}-{round(self.y)}"
        self.canvas.bookmarkHorizontal(name, 0, self.y + size)
        self.canvas.addOutlineEntry(words, name, level=level, closed=False)
        self.text(LEFT, self.y, words, "Helvetica-Bold", size)
        self.y -= size

    def lines(self, lines: list[str], font: str = "Times-Roman", size: float = BODY) -> None:
        for line in lines:
            self.text(LEFT, self.y, line, font, size)
            self.y -= LEADING
        self.y -= 8

    def bullets(self, items: list[list[str]]) -> None:
        for item in items:
            self.text(LEFT + 8, self.y, "•", "Times-Roman", BODY)
            for line in item:
                self.text(LEFT + 20, self.y, line, "Times-Roman", BODY)
                self.y -= LEADING
            self.y -= 3
        self.y -= 5

    def code(self, program: str) -> None:
        for line in program.strip("\n").split("\n"):
            self.text(LEFT + 12, self.y, line, "Courier", 9)
            self.y -= 11
        self.y -= 8

    def table(self, columns: list[float], rows: list[list[str]]) -> None:
        for number, row in enumerate(rows):
            for x, cell in zip(columns, row, strict=True):
                self.text(x, self.y, cell, "Times-Roman" if number else "Times-Bold", BODY)
            self.y -= LEADING + 5
        self.y -= 8


def write(file: Path) -> None:
    """Write the manual to ``file``."""
    pdfmetrics.registerFont(TTFont("Vera", "Vera.ttf"))
    manual = Manual(file)
    manual.canvas.showOutline()
    _cover(manual)
    _terminal(manual)
    _columns(manual)
    _windows(manual)
    _checklist(manual)
    manual.canvas.save()


def _cover(manual: Manual) -> None:
    manual.new_page()
    manual.text(LEFT, 560, TITLE, "Helvetica-Bold", 26)
    manual.y = 520
    manual.lines(
        [
            "How a BBj program speaks to a character terminal, and how the same order",
            "screen becomes a window: in Visual PRO/5, in the BBj GUI and in the DWC.",
        ]
    )
    manual.lines(["Printed for the course at Sample Traders."])


def _terminal(manual: Manual) -> None:
    manual.new_page()
    manual.heading("The character terminal", 0)
    # the ligature letters below are what typesetting programs put into a file's text
    manual.lines(
        [
            "A character program ﬁlls its screen with PRINT and reads its answers with INPUT. A posi-",
            "tion is written @(column,row); the ﬁrst column and the ﬁrst row are 0. A mnemonic is a",
            "word in single quotes: 'CS' clears the screen, and the cursor ﬂies to its upper left corner.",
        ],
        font="Vera",
        size=9,
    )
    manual.heading("The first screen", 1)
    manual.lines(["This program asks for a name and answers on the same screen."])
    manual.code(
        """
PRINT 'CS',
PRINT @(10,5),"Customer: ",
INPUT NAME$
IF NAME$="" THEN
    PRINT @(10,7),"Nobody?"
ELSE
    PRINT @(10,7),"Order for ",NAME$
FI
END
"""
    )
    manual.heading("What the parts mean", 1)
    manual.table(
        [LEFT, LEFT + 150, LEFT + 290],
        [
            ["Written", "Called", "Does"],
            ["@(10,5)", "position", "moves to column 10, row 5"],
            ["'CS'", "mnemonic", "clears the screen"],
            ["INPUT NAME$", "statement", "reads one line into NAME$"],
            ['"text"', "string", "is printed as it stands"],
        ],
    )


_LEFT_COLUMN = [
    "A green screen is not slow. An operator",
    "who knows the order of the fields types",
    "ahead of the program, and the program",
    "reads what was typed when it comes to",
    "it. Keep that order when a screen be-",
    "comes a window: the field the operator",
    "expects next gets the focus next, and",
    "the key that left the old screen closes",
    "the new one.",
]
_RIGHT_COLUMN = [
    "Answers that were checked one by one",
    "on the terminal can be checked together",
    "in a window, when the button is pushed.",
    "Tell the operator what is wrong beside",
    "the field, not on the last line of the",
    "screen. A window has no last line, and",
    "a message there would find no reader at",
    "all. This is where most conversions of",
    "old programs are first disliked.",
]


def _columns(manual: Manual) -> None:
    manual.new_page()
    manual.heading("From screens to windows", 0)
    manual.lines(["Two pieces of advice, side by side, from those who converted the first programs of the house."])
    # row by row across the gutter, as some programs write two columns
    for left, right in zip(_LEFT_COLUMN, _RIGHT_COLUMN, strict=True):
        manual.text(LEFT, manual.y, left, "Times-Roman", BODY)
        manual.text(GUTTER, manual.y, right, "Times-Roman", BODY)
        manual.y -= LEADING
    manual.y -= 12
    manual.heading("An order of work", 1)
    manual.lines(["Convert a program in this order:"])
    manual.lines(
        [
            "1. Move file access into subroutines that print nothing.",
            "2. Draw the window beside the screen, and compare.",
            "3. Remove the screen when nobody asks for it.",
        ]
    )


def _windows(manual: Manual) -> None:
    manual.new_page()
    manual.heading("One window, three generations", 0)
    manual.heading("Visual PRO/5", 1)
    manual.lines(["The window is printed to a SYSGUI channel as a mnemonic with its place, size and title."])
    manual.code(
        """
sysgui = unt
open (sysgui)"X0"
print (sysgui)'window'(100,100,400,300,"Order Entry",$00010003$,$00000000$)
"""
    )
    manual.heading("BBj GUI", 1)
    manual.lines(["The window is an object, and a callback says what happens when it is closed."])
    manual.code(
        """
sysgui! = BBjAPI().openSysGui("X0")
window! = sysgui!.addWindow(100,100,400,300,"Order Entry")
window!.setCallback(window!.ON_CLOSE,"onClose")
process_events

onClose:
    release
"""
    )
    manual.heading("DWC", 1)
    manual.lines(
        [
            "The same program runs in a browser. The web manager reaches what only a browser has, for ex-",
            "ample the title of the page; CSS custom properties carry the colours of the house.",
        ]
    )
    manual.code(
        """
web! = BBjAPI().getWebManager()
web!.setTitle("Order Entry")
"""
    )


def _checklist(manual: Manual) -> None:
    manual.new_page()
    manual.heading("Before you go live", 0)
    manual.lines(["Try the converted program with the people who know the old one, and look for this:"])
    manual.bullets(
        [
            ["Every key the terminal program answered to has a button, a menu entry or the same", "key in the window."],
            ["The close box of the window runs a callback; without one the program stays open."],
            ["A program that is to run both ways asks once, at its start, whether it has a GUI."],
        ]
    )
    manual.lines(["Keep the character program until the first month's figures agree."])


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else SAMPLE
    target.parent.mkdir(parents=True, exist_ok=True)
    write(target)
    print(target)
