"""The shapes of Flare's markup that mean more than their tags: code tables, runs of code lines, notes, generated navigation.

They are the same in a Clean XHTML export and in a raw project once its MadCap elements are resolved.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from lxml import etree

from bbj_pipeline.sources.markup import Code, MarkupProfile, Note, code_text, language_of, text_of

__all__ = ["FLARE"]

_CODE_LINE = re.compile(r"(?:^|\s)code(?:[-_]?(?:snippet|example|block|line|text))?(?:$|\s)", re.I)
"""Classes of paragraphs that are lines of code: ``Code``, ``code-snippet`` and their spellings."""
_CODE_TABLE = re.compile(r"(?:^|\s)(?:code_?table|TableStyle-Code\w*)(?:$|\s)", re.I)
_NOTE = re.compile(
    r"(?:^|\s)(?:mc[-_])?(?:note|tip|hint|warning|caution|important|attention)(?:[-_]?(?:note|text|box|body))*(?:$|\s)", re.I
)
_CHROME = re.compile(
    r"(?:^|\s)(?:nocontent|mc-component|search-bar|MCMiniTocBox\w*|MCBreadcrumbsBox\w*|MCWebHelpFramesetLink\w*|MC\w+_Image_Icon)(?:$|\s)"
)
"""Boxes that Flare generates from the table of contents and the skin: ``nocontent`` is its own mark for what its search shall
not find, ``mc-component`` that of the skin's parts (search bar, menu, toolbar), ``…_Image_Icon`` that of the arrows of togglers
and drop-downs."""
_HEADER_CELL = re.compile(r"-Head\w*-|(?:^|\s)Head[A-Z]?-Column|(?:^|\s)table[-_]?(?:top|head\w*)(?:$|\s)", re.I)
_PRETTY_PRINT = re.compile(r"[ \t\r]*\n[ \t\r\n]*")
_BREAK = "\x1e"


@lru_cache(maxsize=4096)
def _means(shape: re.Pattern[str], classes: str) -> bool:
    """Say whether a value of ``class`` names a shape. An export has few values and asks for each of them many times."""
    return shape.search(classes) is not None


def _is_known(classes: str) -> bool:
    return any(_means(shape, classes) for shape in (_CHROME, _CODE_LINE, _CODE_TABLE, _NOTE))


def _is_chrome(element: etree._Element) -> bool:
    classes = element.get("class")
    return classes is not None and _means(_CHROME, classes)


def _code(element: etree._Element) -> Code | None:
    classes = element.get("class")
    if classes is None:
        return None
    if element.tag == "p" and _means(_CODE_LINE, classes):
        run = list(_run(element))
        text = "\n".join(_line(paragraph) for paragraph in run).strip("\n")
        return Code(text, language_of(element), last=run[-1] if len(run) > 1 else None)
    if element.tag == "table" and _means(_CODE_TABLE, classes):
        return _code_table(element)
    return None


def _run(first: etree._Element) -> Iterable[etree._Element]:
    """Yield a code line and the code lines that follow it directly."""
    element: etree._Element | None = first
    while element is not None and element.tag == "p" and _means(_CODE_LINE, element.get("class", "")):
        yield element
        if (element.tail or "").strip():
            return
        element = element.getnext()


def _line(element: etree._Element) -> str:
    """Return the text of a code line: runs of spaces stay, ``<br/>`` breaks it, the export's own line breaks do not."""
    pieces: list[str] = []
    for node in element.iter():
        if node.tag == "br":
            pieces.append(_BREAK)
        elif node.text and isinstance(node.tag, str):
            pieces.append(node.text)
        if node.tail and node is not element:
            pieces.append(node.tail)
    text = "".join(pieces)
    if "\n" in text:
        text = _PRETTY_PRINT.sub(" ", _PRETTY_PRINT.sub("", text, count=1) if text.lstrip(" \t\r")[:1] == "\n" else text)
    lines = text.replace("\u00a0", " ").split(_BREAK)
    return "\n".join(line.rstrip() for line in lines)


def _code_table(table: etree._Element) -> Code | None:
    """Read a table that only frames code, one cell a row; ``None`` when there is more in it than code."""
    rows = list(table.iter("tr"))
    cells = [cell for row in rows for cell in row if cell.tag in ("td", "th")]
    if len(cells) != len(rows) or next(table.iterdescendants("table"), None) is not None:
        return None
    heads = [cell for cell in cells if cell.tag == "th"]
    pieces: list[str] = []
    for cell in cells:
        if cell in heads:
            continue
        blocks = list(cell.iter("pre"))
        if blocks:
            if text_of(cell) != " ".join(filter(None, (text_of(block) for block in blocks))):
                return None
            pieces.extend(code_text(block) for block in blocks)
        elif len(cell) and all(child.tag == "p" and not (child.tail or "").strip() for child in cell):
            pieces.append("\n".join(_line(child) for child in cell))
        elif next(cell.iter("li", "div", "h1", "h2", "h3", "h4", "h5", "h6", "p"), None) is None:
            pieces.append(_line(cell))
        else:
            return None
    text = "\n".join(pieces).strip("\n")
    title = " ".join(filter(None, (text_of(head) for head in heads))) or None
    inner = next(table.iter("pre"), table)
    return Code(text, language_of(inner), title) if text.strip() else None


def _note(element: etree._Element) -> Note | None:
    classes = element.get("class")
    if classes is None or element.tag not in ("p", "div", "blockquote", "table") or not _means(_NOTE, classes):
        return None
    if element.tag == "table" and len(list(element.iter("td", "th"))) > 1:
        return None
    return Note()


def _is_header_row(row: etree._Element) -> bool:
    cells = [cell for cell in row if cell.tag in ("td", "th")]
    return bool(cells) and all(_is_header_cell(cell) for cell in cells)


def _is_header_cell(cell: etree._Element) -> bool:
    return any(_means(_HEADER_CELL, part.get("class", "")) for part in (cell, *cell.iterchildren("p")))


FLARE = MarkupProfile(chrome=_is_chrome, code=_code, note=_note, header_row=_is_header_row, classes=lru_cache(4096)(_is_known))
"""Flare's markup."""
