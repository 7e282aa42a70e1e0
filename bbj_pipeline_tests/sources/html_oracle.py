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


@dataclass
class Seen(HTMLParser):
    """The pieces of one document. ``tables`` holds texts by row and cell; a cell holds what nested tables do not."""

    hide: Callable[[str, Attributes], bool] = lambda tag, attributes: False
    pieces: list[str] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    tables: list[list[list[str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.hidden: list[str] = []
        self.inside: list[str] = []
        self.open_tables: list[list[list[str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID and (self.hidden or tag in HIDDEN or self.hide(tag, dict(attrs))):
            self.hidden.append(tag)
        elif not self.hidden:
            self._begin(tag)
        if tag not in INLINE:
            self.handle_data("\n", visible=True)

    def _begin(self, tag: str) -> None:
        if tag == "table":
            self.open_tables.append([])
            self.tables.append(self.open_tables[-1])
        elif tag == "tr" and self.open_tables:
            self.open_tables[-1].append([])
        elif tag in ("td", "th") and self.open_tables and self.open_tables[-1]:
            self.open_tables[-1][-1].append("")
        elif re.fullmatch("h[1-6]|pre", tag):
            self.inside.append(tag)
            (self.code if tag == "pre" else self.headings).append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
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
            self.open_tables[-1][-1][-1] += data


def seen(text: str, hide: Callable[[str, Attributes], bool] = lambda tag, attributes: False) -> Seen:
    """Read ``text``; ``hide`` says which elements are chrome."""
    reader = Seen(hide)
    reader.feed(re.sub(r"\A\s*<\?xml[^>]*\?>", "", text))
    reader.close()
    return reader


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
