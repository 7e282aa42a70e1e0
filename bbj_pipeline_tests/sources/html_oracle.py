"""What a reader sees of HTML, by the standard library's parser: words, headings, code and table rows. No code of the walker."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser

from bbj_pipeline_tests.sources.markup_words import HIDDEN as ELEMENTS_WITHOUT_TEXT
from bbj_pipeline_tests.sources.markup_words import INLINE, VOID

Attributes = dict[str, str | None]
HIDDEN = ELEMENTS_WITHOUT_TEXT | {"button"}
INVISIBLE = re.compile("[\u200b\u00ad\ufeff]")


def words(text: str) -> Counter[str]:
    """Count what white space parts, punctuation included, so that a glued or a split word is another word."""
    return Counter(INVISIBLE.sub("", text).split())


BADGES = "img.shields.io"
"""The host of pictures that show a state: their alternative text does not say it."""


@dataclass
class Cell:
    """One cell as its markup has it: its text, how many columns and rows it covers, and the row group it stands in."""

    columns: int
    rows: int
    section: int
    text: str = ""


@dataclass
class Seen(HTMLParser):
    """The pieces of one document. ``tables`` holds cells by row; a cell holds what nested tables do not."""

    hide: Callable[[str, Attributes], bool] = lambda tag, attributes: False
    pieces: list[str] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    tables: list[list[list[Cell]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.hidden: list[str] = []
        self.inside: list[str] = []
        self.open_tables: list[list[list[Cell]]] = []
        self.sections = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.hidden or tag in HIDDEN or self.hide(tag, dict(attrs)):
            self.hidden += [] if tag in VOID else [tag]
        else:
            self._begin(tag, dict(attrs))
        if tag not in INLINE:
            self.handle_data("\n", visible=True)

    def _begin(self, tag: str, attributes: Attributes) -> None:
        self.sections += tag in ("table", "thead", "tbody", "tfoot")
        if tag == "img" and BADGES not in (attributes.get("src") or ""):
            self.handle_data(f" {attributes.get('alt') or ''} ")
        elif tag == "table":
            self.open_tables.append([])
            self.tables.append(self.open_tables[-1])
        elif tag == "tr" and self.open_tables:
            self.open_tables[-1].append([])
        elif tag in ("td", "th") and self.open_tables and self.open_tables[-1]:
            columns, rows = (int(attributes.get(name) or 1) for name in ("colspan", "rowspan"))
            self.open_tables[-1][-1].append(Cell(columns, rows, self.sections))
        elif re.fullmatch("h[1-6]|pre", tag):
            self.inside.append(tag)
            (self.code if tag == "pre" else self.headings).append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "img" and not self.hidden and not self.hide(tag, dict(attrs)):
            self._begin(tag, dict(attrs))
        if tag not in INLINE:
            self.handle_data("\n", visible=True)

    def handle_endtag(self, tag: str) -> None:
        if tag not in INLINE:
            self.handle_data("\n", visible=True)
        if self.hidden:
            while tag in self.hidden and self.hidden.pop() != tag:
                pass
        elif tag == "table" and self.open_tables:
            self.open_tables.pop()
        elif tag in self.inside:
            self.inside.remove(tag)

    def handle_data(self, data: str, *, visible: bool = False) -> None:
        if self.hidden and not visible:
            return
        self.pieces.append(data)
        if self.inside:
            kept = self.code if self.inside[-1] == "pre" else self.headings
            kept[-1] += data
        if self.open_tables and self.open_tables[-1] and self.open_tables[-1][-1] and not self.hidden:
            self.open_tables[-1][-1][-1].text += data


def seen(text: str, hide: Callable[[str, Attributes], bool] = lambda tag, attributes: False) -> Seen:
    """Read ``text``; ``hide`` says which elements are chrome."""
    reader = Seen(hide)
    reader.feed(re.sub(r"\A\s*<\?xml[^>]*\?>", "", text))
    reader.close()
    return reader


def grid(table: list[list[Cell]]) -> tuple[list[list[str]], Counter[str]]:
    """Return the texts of a table by row and column, and the words that stand in it again because their cell spans rows."""
    rows = [row for row in table if row]
    slots: dict[tuple[int, int], str] = {}
    again: Counter[str] = Counter()
    for top, row in enumerate(rows):
        for cell in row:
            left = next(column for column in range(1000) if (top, column) not in slots)
            below = [at for at in range(top, min(top + cell.rows, len(rows))) if rows[at][0].section == cell.section]
            for at in below:
                slots |= {(at, left + more): "" for more in range(cell.columns)} | {(at, left): one_line(cell.text)}
                again += words(cell.text) if at != top else Counter()
    width = max((column for _, column in slots), default=0) + 1
    return [[slots.get((at, column), "") for column in range(width)] for at in range(len(rows))], again


def one_line(text: str) -> str:
    """Return text as a heading shows it."""
    return " ".join(INVISIBLE.sub("", text).split())


def code_lines(text: str) -> list[str]:
    """Return the lines of a ``pre``, with their indentation, without the blank ones before and after."""
    lines = [line.rstrip() for line in text.replace("\u00a0", " ").replace("\r", "").split("\n")]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    return lines
