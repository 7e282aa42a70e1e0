"""The program that opens one PDF: a process of its own, so that a hostile file costs a bounded process, not the pipeline.

Reads a JSON line of limits and then the file from standard input; writes one JSON object to standard output: ``reject``, or
``pages`` of spans and drawn rules with ``outline``. It imports pypdf and the standard library only, never the rest of the
project, and decides nothing about paragraphs, headings or tables.
"""

from __future__ import annotations

import io
import json
import logging
import math
import re
import sys
import warnings
from datetime import UTC
from typing import Any

from pypdf import PdfReader
from pypdf.errors import FileNotDecryptedError, LimitReachedError, PyPdfError
from pypdf.generic._font import Font  # no public name in 7.x; pyproject.toml keeps to it

_MONOSPACED = re.compile(
    r"courier|mono|consol|menlo|monaco|typewriter|cmtt|fixed|andale|inconsolata|lettergothic|sourcecode|firacode|1mn|1m-", re.I
)
_SYMBOLS = re.compile(r"wingdings|webdings|dingbats|\+symbol|^/symbol", re.I)
_FIXED_PITCH = 1
_FARTHEST = 1_000_000.0
"""Points; the largest page of PDF 1.7 has 14,400, in units that may be larger."""
_WIDEST = 1.5
"""Em of the widest letter that is believed; a broken font may say anything."""
_MOST_RULES = 5_000
"""Rules and fills of one page; a page of more is a drawing, and its lines part no cells."""
_LEAST_RULE = 3.0
"""Points; a shorter stroke is a part of a letter, an icon or a dotted line."""
_LONGEST_COLOUR = 20
_MOST_OUTLINE = 20_000
_MOST_DEPTH = 32


_FILLS = frozenset({b"f", b"F", b"f*", b"B", b"B*", b"b", b"b*"})
_PAINTS = _FILLS | {b"S", b"s"}
_COLOURS = frozenset({b"g", b"rg", b"k", b"sc", b"scn"})
_DRAWING = _PAINTS | _COLOURS | {b"m", b"l", b"c", b"v", b"y", b"re", b"h", b"n", b"q", b"Q"}
"""Operators that draw, ISO 32000-1, tables 59 to 61, 74 and 57."""


class Refused(Exception):
    """The file cannot be used; carries the reject's code and reason."""


class TooMuch(Exception):
    """A page asks for more work than the limits allow."""


class WarningCount(logging.Handler):
    """Counts what pypdf logs instead of printing it."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count one record."""
        self.count += 1


def main() -> None:
    """Extract the file on standard input within the limits given before it."""
    limits = json.loads(sys.stdin.buffer.readline())
    _limit_process(limits["seconds"], limits["memory"])
    counter = WarningCount()
    logger = logging.getLogger("pypdf")
    logger.handlers, logger.propagate = [counter], False
    warnings.simplefilter("ignore")
    try:
        result = _extract(sys.stdin.buffer.read(), limits)
    except Refused as refused:
        result = {"reject": list(refused.args)}
    except MemoryError:
        result = {"reject": ["too-large", "needs more memory than one file may use"]}
    except RecursionError:
        result = {"reject": ["damaged", "its objects are nested without end"]}
    except Exception as error:  # whatever a broken file makes pypdf raise, the answer is the same
        result = {"reject": ["damaged", f"cannot be read as a PDF ({type(error).__name__}: {str(error)[:200]})"]}
    result["warnings"] = counter.count
    json.dump(result, sys.stdout)


def _limit_process(seconds: int, memory: int) -> None:
    try:
        import resource
    except ImportError:  # not a POSIX system: the parent's time limit remains
        return
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _extract(content: bytes, limits: dict[str, Any]) -> dict[str, Any]:
    reader = _open(content, limits["password"])
    count = len(reader.pages)
    if count > limits["pages"]:
        raise Refused("too-large", f"{count} pages; at most {limits['pages']} are read: raise max_pages or split the file")
    if count == 0:
        raise Refused("damaged", "has no pages")
    budget = _Budget(limits)
    pages, failed, skipped = [], [], []
    for number, page in enumerate(reader.pages, start=1):
        try:
            pages.append({"number": number, **_page(page, budget)})
        except (TooMuch, LimitReachedError):
            skipped.append(number)
        except (MemoryError, Refused):
            raise
        except Exception:  # one broken page does not cost the others; it is reported by number
            failed.append(number)
    if not pages:
        raise Refused(*(("damaged", "no page can be read") if failed else ("too-large", "every page is over the limits")))
    return {
        "title": _title(reader),
        "modified": _modified(reader),
        "outline": _outline(reader),
        "pages": pages,
        "page_count": count,
        "failed": failed,
        "skipped": skipped,
        "encrypted": reader.is_encrypted,
    }


def _open(content: bytes, password: str | None) -> PdfReader:
    if b"%PDF-" not in content[:4096] and b"startxref" not in content[-4096:]:
        raise Refused("damaged", "is not a PDF: neither its header nor its end is one")
    reader = PdfReader(io.BytesIO(content), strict=False)
    if reader.is_encrypted:
        try:
            opened = bool(reader.decrypt(password or ""))
        except (PyPdfError, NotImplementedError, ValueError, KeyError, IndexError):
            opened = False
        if not opened:
            found = "the configured password does not open it" if password else "is encrypted"
            raise Refused("password-needed", f"{found}: set its user or owner password under passwords")
    try:
        len(reader.pages)
    except FileNotDecryptedError:
        raise Refused("password-needed", "is encrypted: set its user or owner password under passwords") from None
    return reader


class _Budget:
    """What one page and one file may cost, counted in operators and characters so that the same file ends the same way."""

    def __init__(self, limits: dict[str, Any]) -> None:
        self.page_bytes: int = limits["page_bytes"]
        self.page_operations: int = limits["page_operations"]
        self.characters: int = limits["characters"]
        self.operations = 0

    def begin_page(self) -> None:
        self.operations = 0

    def operation(self) -> None:
        self.operations += 1
        if self.operations > self.page_operations:
            raise TooMuch

    def text(self, text: str) -> None:
        self.characters -= len(text)
        if self.characters < 0:
            raise Refused("too-large", "holds more text than one file may have")


_Segment = tuple[float, float, float, float]


class _Drawing:
    """Collects a page's straight rules and filled rectangles, which part the cells of tables and set boxes apart."""

    def __init__(self) -> None:
        self.rules: set[_Segment] = set()
        self.fills: set[tuple[float, float, float, float, str]] = set()
        self._paths: list[list[_Segment]] = []
        self._length = 0
        self._at = self._start = (0.0, 0.0)
        self._colour = "0"
        self._colours: list[str] = []

    def operation(self, operator: bytes, operands: list[Any], cm: list[float]) -> None:
        """Follow one operator; one with operands that are no numbers draws nothing."""
        try:
            self._follow(operator, operands, cm)
        except (TypeError, ValueError, IndexError, OverflowError):
            self._paths, self._length = [], 0

    def _follow(self, operator: bytes, operands: list[Any], cm: list[float]) -> None:
        if operator == b"m":
            self._begin(_point(operands, cm))
        elif operator == b"l":
            self._line_to(_point(operands, cm))
        elif operator in {b"c", b"v", b"y"}:
            self._at = _point(operands[-2:], cm)
        elif operator == b"re":
            x, y, width, height = (float(value) for value in operands[:4])
            corners = ((x, y), (x + width, y), (x + width, y + height), (x, y + height))
            self._begin(_point(corners[0], cm))
            for corner in (*corners[1:], corners[0]):
                self._line_to(_point(corner, cm))
        elif operator == b"h":
            self._line_to(self._start)
        elif operator in _PAINTS:
            self._paint(operator)
        elif operator == b"n":
            self._paths, self._length = [], 0
        elif operator in _COLOURS:
            self._colour = " ".join(str(value)[:_LONGEST_COLOUR] for value in operands[:4])
        elif operator == b"q":
            self._colours.append(self._colour)
        elif operator == b"Q" and self._colours:
            self._colour = self._colours.pop()

    def _begin(self, point: tuple[float, float]) -> None:
        self._at = self._start = point
        self._paths.append([])

    def _line_to(self, point: tuple[float, float]) -> None:
        self._length += 1
        if self._paths and self._length <= _MOST_RULES:
            self._paths[-1].append((*self._at, *point))
        self._at = point

    def _paint(self, operator: bytes) -> None:
        if operator in {b"s", b"b", b"b*"}:
            self._line_to(self._start)
        paths, self._paths, self._length = self._paths, [], 0
        if operator in _FILLS and len(self.fills) <= _MOST_RULES:
            self.fills.update((*box, self._colour) for path in paths if (box := _box_of(path)) is not None)
        if operator not in {b"f", b"F", b"f*"} and len(self.rules) <= _MOST_RULES:
            self.rules.update(rule for path in paths for segment in path if (rule := _rule(segment)) is not None)

    def found(self) -> dict[str, Any]:
        """Return the rules as [left, bottom, right, top] and the fills with their colour besides."""
        if len(self.rules) + len(self.fills) > _MOST_RULES:
            return {"rules": [], "fills": []}
        return {"rules": sorted(self.rules), "fills": sorted(self.fills)}


def _point(operands: Any, cm: list[float]) -> tuple[float, float]:
    x, y = float(operands[0]), float(operands[1])
    return x * cm[0] + y * cm[2] + cm[4], x * cm[1] + y * cm[3] + cm[5]


def _rule(segment: _Segment) -> _Segment | None:
    """Return a segment as left, bottom, right and top if it is level or upright and long enough."""
    a, b, c, d = segment
    if min(abs(a - c), abs(b - d)) > 1 or max(abs(a - c), abs(b - d)) < _LEAST_RULE:
        return None
    return _place(min(a, c)), _place(min(b, d)), _place(max(a, c)), _place(max(b, d))


def _box_of(path: list[_Segment]) -> _Segment | None:
    """Return left, bottom, right and top of a path that has three or four sides, all of them level or upright."""
    if not 3 <= len(path) <= 5 or any(abs(a - c) > 1 and abs(b - d) > 1 for a, b, c, d in path):
        return None
    xs, ys = [x for side in path for x in side[::2]], [y for side in path for y in side[1::2]]
    return _place(min(xs)), _place(min(ys)), _place(max(xs)), _place(max(ys))


def _page(page: Any, budget: _Budget) -> dict[str, Any]:
    contents = page.get_contents()
    if contents is not None and len(contents.get_data()) > budget.page_bytes:
        raise TooMuch
    budget.begin_page()
    spans: list[list[Any] | None] = []
    fonts: dict[int, tuple[Any, _Font]] = {}
    drawing = _Drawing()

    def take(text: str, cm: list[float], tm: list[float], font: Any, size: float) -> None:
        budget.text(text)
        if not text:
            return
        mono, bold, symbols, widths = _font(font, fonts)
        if symbols and len(text.strip()) == 1:
            text = text.replace(text.strip(), "•")
        x = tm[4] * cm[0] + tm[5] * cm[2] + cm[4]
        y = tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
        scale = math.hypot(tm[2], tm[3]) * math.hypot(cm[2], cm[3])
        size = abs(size * scale)
        for index, part in enumerate(text.split("\n")):
            if index:
                spans.append(None)
            if part:
                width = sum(widths.get(letter, widths[""]) for letter in part.rstrip()) * size
                place = (_place(x), _place(y), _place(size))
                spans.append([*place, int(mono), int(bold), _place(width), part])

    def follow(operator: bytes, operands: list[Any], cm: list[float], tm: list[float]) -> None:
        budget.operation()
        if operator in _DRAWING:
            drawing.operation(operator, operands, cm)

    page.extract_text(visitor_text=take, visitor_operand_before=follow)
    return {**_box(page), "spans": spans, **drawing.found()}


def _box(page: Any) -> dict[str, float]:
    """Return where the page lies and how large it is, in points; a page that does not say it in numbers is a US letter."""
    try:
        box = page.mediabox
        left, bottom, width, height = (_place(value) for value in (box.left, box.bottom, box.width, box.height))
    except (PyPdfError, ValueError, TypeError, ArithmeticError, LookupError, AttributeError):
        left = bottom = width = height = 0.0
    return {"left": left, "bottom": bottom, "width": width or 612.0, "height": height or 792.0}


def _place(value: Any) -> float:
    """Return a position or size in points; what is no number is 0, what lies outside of any page at its limit."""
    number = float(value)
    return 0.0 if math.isnan(number) else round(max(-_FARTHEST, min(_FARTHEST, number)), 2)


_Font = tuple[bool, bool, bool, dict[str, float]]
"""Monospaced, bold, made of symbols (its letters are bullets and arrows), widths of letters in em, under "" the mean."""


def _font(font: Any, known: dict[int, tuple[Any, _Font]]) -> _Font:
    """Return what is known of a font dictionary, which is kept with it so that its identity is not given to another."""
    if font is None:
        return False, False, False, {"": 0.5}
    if id(font) not in known:
        known[id(font)] = font, _read_font(font)
    return known[id(font)][1]


def _read_font(font: Any) -> _Font:
    name = str(font.get("/BaseFont", ""))
    mono = bool(_MONOSPACED.search(name))
    try:
        descriptor = font.get("/FontDescriptor")
        if descriptor is not None and int(descriptor.get_object().get("/Flags", 0)) & _FIXED_PITCH:
            mono = True
    except (TypeError, ValueError, AttributeError, PyPdfError):
        pass  # the name alone says whether it is monospaced
    widths = _widths(font)
    bold = "bold" in name.lower() or "black" in name.lower()
    letters = [width for letter, width in widths.items() if letter.islower()]
    widths[""] = sum(letters) / len(letters) if letters else (0.6 if mono else 0.5)
    return mono, bold, bool(_SYMBOLS.search(name)), widths


def _widths(font: Any) -> dict[str, float]:
    """Return the widths of letters in em as pypdf knows them: of the standard fonts, of simple and of composite ones.

    A font that says nothing usable has none, and is measured by the default.
    """
    try:
        found = Font.from_font_resource(font)
        names = found.encoding if isinstance(found.encoding, dict) else {}
        widths: dict[str, float] = {}
        for code, width in found.character_widths.items():
            letter = found.character_map.get(code) or (names.get(ord(code), code) if len(code) == 1 else "")
            if isinstance(letter, str) and len(letter) == 1 and width > 0:
                widths[letter] = min(float(width) / 1000, _WIDEST)
    except Exception:  # whatever is broken in a font, its text can be read
        return {}
    return widths


def _title(reader: PdfReader) -> str | None:
    try:
        found = reader.metadata.title if reader.metadata else None
    except Exception:  # broken metadata is no reason to lose the text
        return None
    return str(found).strip() or None if found else None


def _modified(reader: PdfReader) -> str | None:
    try:
        found = reader.metadata and (reader.metadata.modification_date or reader.metadata.creation_date)
    except Exception:  # a date nobody can read is no date
        return None
    if not found:
        return None
    return (found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)).isoformat()


def _outline(reader: PdfReader) -> list[list[Any]]:
    """Return the outline as [level, title, page from 1, top or null]; what points to no page is left out."""
    found: list[list[Any]] = []

    def walk(items: list[Any], level: int) -> None:
        for item in items:
            if len(found) >= _MOST_OUTLINE:
                return
            if isinstance(item, list):
                if level < _MOST_DEPTH:
                    walk(item, level + 1)
                continue
            number = reader.get_destination_page_number(item)
            title = str(item.title or "").strip()
            if number is not None and number >= 0 and title:
                found.append([level, title, number + 1, _number(item.top)])

    try:
        walk(reader.outline, 1)
    except Exception:  # a broken outline leaves headings to the font sizes
        return found
    return found


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


if __name__ == "__main__":
    main()
