"""Turns bytes into a tree: strict XML first, HTML recovery when that fails, with what recovery may have hidden as warnings.

No network, no entity expansion, bounded size and depth. No content is interpreted here.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from itertools import islice

from lxml import etree

from bbj_pipeline.sources.contract import MAX_DOCUMENT_BYTES
from bbj_pipeline.sources.markup.attributes import has_more_attributes
from bbj_pipeline.sources.markup.characters import SPACED, legal_references, named_references
from bbj_pipeline.sources.markup.doctype import declared_entity, prolog_end
from bbj_pipeline.sources.markup.elements import SKIPPED_TAGS, VOID_TAGS
from bbj_pipeline.sources.markup.encoding import decode

__all__ = ["ENTITIES", "MAX_DEPTH", "MarkupError", "Parsed", "parse_document", "parse_fragment", "refuse_entities"]

ENTITIES = "entity-declarations"
"""Code of a document whose DOCTYPE declares entities: also one that is used by others is refused with them."""

MAX_DEPTH = 2000
"""Deepest nesting that is read. Real documents stay below 100; deeper ones are broken or hostile."""
_MAX_ATTRIBUTES = 1000
"""Most attributes of one element: libxml2's HTML parser takes time quadratic in their number."""
_MAX_TAGS = 2_000_000
"""Most tags of a document, counted by their brackets: a tree and its blocks take some 500 bytes a tag, so about a gigabyte."""
_MAX_LOGGED = 5
_XHTML_NAMESPACE = "http://www.w3.org/1999/xhtml"
_XHTML = f"{{{_XHTML_NAMESPACE}}}"
_DEFAULT_NAMESPACE = re.compile(rf"""(<html\b[^<>]*?)\sxmlns\s*=\s*["']{_XHTML_NAMESPACE}["']""")
_CAPITAL_TAG = re.compile(r"<(?!MadCap:)[A-Z]")
_SELF_CLOSED = re.compile(r"""<([a-zA-Z][\w:.-]*)((?:\s[^<>]*)?)(?<=[\w"'\s])/>""")
_MARKUP = re.compile(r"<[a-zA-Z!?]")
_XHTML_MARK = re.compile(r"\A\s*<\?xml|\bxmlns\s*=|//DTD XHTML", re.I)
_TAG = re.compile(r"<[a-zA-Z/!?][^<>]*>")
_QUOTED_TAG = re.compile(r"""<[a-zA-Z/!?](?:(?:[^<>"']++|"[^"]*+"|'[^']*+')*+>|[^<>]*+>)""")
"""The same with brackets in quoted values, which takes half as long again."""
_INVISIBLE_PART = re.compile(rb"<(?:!--|(script|style|head|title|template|svg)(?=[\s/>]))")
_KEPT_AFTER_RECOVERY = 0.98
"""Below this share of the source's visible characters, recovery has probably lost text."""
_FEW_NULS = 8
_MOST_NULS = 0.01
"""A file with more than a few NUL characters, and above this share of them, is binary or UTF-16 that does not say so."""


class MarkupError(Exception):
    """A document that cannot be used. ``code`` is stable and kebab-case, ``reason`` for a person; callers make a ``Reject``."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document's tree without the XHTML namespace, what its parser complained of, and the encoding it was read in."""

    root: etree._Element
    warnings: tuple[str, ...]
    encoding: str


def parse_document(content: bytes, *, encoding: str | None = None) -> Parsed:
    """Parse a whole XHTML or HTML file; ``encoding`` is what a transport (an HTTP header) says, a byte order mark wins.

    Raises ``MarkupError`` with code ``too-large``, ``empty``, ``not-markup``, ``entity-declarations``, ``too-deep`` or
    ``too-many-attributes``.
    """
    if len(content) > MAX_DOCUMENT_BYTES:
        raise MarkupError("too-large", f"{len(content):,} bytes; at most {MAX_DOCUMENT_BYTES:,} are read")
    if not content.strip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n\f"):
        raise MarkupError("empty", "the document has no content" if not content else "the document is only white space")
    decoded = decode(content, encoding)
    text = decoded.text
    nuls = text.count("\0")
    if nuls > max(_FEW_NULS, _MOST_NULS * len(text)):
        raise MarkupError("not-markup", f"{nuls:,} of {len(text):,} characters are NUL: a binary file, not HTML or XML")
    if not _MARKUP.search(text):
        raise MarkupError("not-markup", "the document contains no HTML or XML element")
    _refuse_crowds(text)
    refuse_entities(text)
    # Without its DOCTYPE a document has no entity declarations: nothing to expand, nothing to fetch.
    body = legal_references(named_references(text[prolog_end(text) :]))
    if default := _DEFAULT_NAMESPACE.match(body):  # cheaper here than on each element
        body = body[: default.end(1)] + body[default.end() :]
    data = body.encode("utf-8", "replace").translate(SPACED)
    root, strict_error = _parse_strict(data)
    if root is not None:
        return Parsed(_plain_names(root, shouting=_CAPITAL_TAG.search(body) is not None), decoded.warnings, decoded.encoding)
    xhtml = _XHTML_MARK.search(text[:4096]) is not None
    recovered, warnings = _recover(body, xhtml=xhtml)
    if xhtml:  # plain HTML never promised to be well-formed
        warnings = (f"not well-formed: {strict_error}", *warnings)
    return Parsed(recovered, (*decoded.warnings, *warnings), decoded.encoding)


def parse_fragment(html_text: str) -> etree._Element:
    """Parse a fragment of HTML by the rules of recovery and return a ``body`` that holds it (empty for an empty fragment).

    Raises ``MarkupError`` with code ``too-large``, ``entity-declarations``, ``too-deep`` or ``too-many-attributes``.
    """
    if len(html_text) > MAX_DOCUMENT_BYTES:
        raise MarkupError("too-large", f"{len(html_text):,} characters; at most {MAX_DOCUMENT_BYTES:,} are read")
    _refuse_crowds(html_text)
    refuse_entities(html_text)
    root, _ = _parse_html(f"<html><body>{legal_references(html_text)}</body></html>")
    body = root.find("body")
    return root if body is None else body


def _refuse_crowds(text: str) -> None:
    tags = text.count("<")
    if tags > _MAX_TAGS:
        raise MarkupError("too-large", f"{tags:,} tags; at most {_MAX_TAGS:,} are read: split the document")


def refuse_entities(text: str) -> None:
    """Raise ``MarkupError`` with code ``entity-declarations`` when a DOCTYPE of ``text`` declares entities of its own."""
    declared = declared_entity(text)
    if declared is not None:
        raise MarkupError(
            ENTITIES,
            f"the DOCTYPE declares {declared}: entities of a document's own are never expanded or fetched; write the text"
            " itself where they are used and remove their declarations",
        )


def _parse_strict(data: bytes) -> tuple[etree._Element | None, str]:
    """Return the tree of well-formed XML, or why it is not."""
    try:
        return etree.fromstring(data, _xml_parser(huge=False)), ""
    except etree.XMLSyntaxError as error:
        if not _hit_limit(error.error_log):
            return None, str(error)
    try:
        root = etree.fromstring(data, _xml_parser(huge=True))
    except etree.XMLSyntaxError as error:
        return None, str(error)
    _check_depth(root)
    return root, ""


def _xml_parser(*, huge: bool) -> etree.XMLParser:
    return etree.XMLParser(
        encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True,
        huge_tree=huge,
    )  # fmt: skip


def _recover(body: str, *, xhtml: bool) -> tuple[etree._Element, tuple[str, ...]]:
    """Return the tree of HTML recovery, with the parser's complaints and a comparison of text lengths."""
    if xhtml:  # HTML does not know <a name="x"/>: it would stay open to the end of the document
        body = _SELF_CLOSED.sub(_close_element, body)
    root, log = _parse_html(body)
    warnings = [f"line {entry.line}: {entry.message}" for entry in islice(log, _MAX_LOGGED)]
    if len(log) > _MAX_LOGGED:
        warnings.append(f"{len(log) - _MAX_LOGGED} more")
    everything = etree.tostring(root, method="text", encoding="unicode", with_tail=False)
    found = _visible_length(everything) - _visible_length("".join(_hidden_texts(root)))
    written = _without_invisible(body)
    for tags in (_TAG, _QUOTED_TAG):
        expected = _visible_length(html.unescape(tags.sub(" ", written)))
        if found >= expected * _KEPT_AFTER_RECOVERY:
            break
    else:
        warnings.append(f"text may be lost: {found:,} of about {expected:,} visible characters were recovered")
    if not re.search(r"</(?:body|html)\s*>\s*\Z", body[-200:], re.I) and xhtml:
        warnings.append("the document may be truncated: it does not end with its root element's closing tag")
    return root, tuple(warnings)


def _close_element(match: re.Match[str]) -> str:
    name, attributes = match[1], match[2]
    return match[0] if name.lower() in VOID_TAGS else f"<{name}{attributes}></{name}>"


def _parse_html(text: str) -> tuple[etree._Element, etree._ListErrorLog]:
    written = text.encode("utf-8", "replace")
    data = written.translate(SPACED)
    if has_more_attributes(text if data == written else data.decode(), _MAX_ATTRIBUTES):
        raise MarkupError("too-many-attributes", f"an element has more than {_MAX_ATTRIBUTES:,} attributes")
    parser = _html_parser(huge=False)
    root = etree.fromstring(data, parser)
    if root is not None and _hit_limit(parser.error_log):
        parser = _html_parser(huge=True)
        root = etree.fromstring(data, parser)
        _check_depth(root)
    if root is None:
        raise MarkupError("not-markup", "the document contains no HTML element that could be recovered")
    return root, parser.error_log


def _html_parser(*, huge: bool) -> etree.HTMLParser:
    return etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=huge)


def _hit_limit(log: etree._ListErrorLog) -> bool:
    """Say whether libxml2 stopped at one of its own limits (256 or 2,048 levels, 10 MB of text) and not at a fault."""
    return any("xcessive depth" in entry.message or "huge" in entry.message.lower() for entry in log)


def _check_depth(root: etree._Element) -> None:
    depth = 0
    for event, _ in etree.iterwalk(root, events=("start", "end")):
        depth += 1 if event == "start" else -1
        if depth > MAX_DEPTH:
            raise MarkupError("too-deep", f"elements nest deeper than {MAX_DEPTH:,} levels")


def _plain_names(root: etree._Element, *, shouting: bool) -> etree._Element:
    """Strip the XHTML namespace, and make names lower case in HTML that is ``shouting``."""
    if _XHTML_NAMESPACE in root.nsmap.values():
        for element in root.iter(f"{_XHTML}*"):
            element.tag = element.tag[len(_XHTML) :]
    if shouting and root.tag.lower() == "html":
        for element in root.iter(etree.Element):
            element.tag = element.tag if "}" in element.tag else element.tag.lower()
            for name, value in element.items():
                if name != name.lower() and "}" not in name:
                    element.set(name.lower(), value)
    return root


def _hidden_texts(root: etree._Element) -> list[str]:
    """Return the texts of the elements below ``root`` whose text a reader does not see."""
    return [element.text for element in root.iter("title", *SKIPPED_TAGS) if element.text]


def _without_invisible(body: str) -> str:
    """Cut comments, scripts, styles and the head out of a text, each only where it is closed again."""
    data = body.encode("utf-8", "replace")  # bytes keep their places in lower case, characters do not all
    lowered = data.lower()
    kept: list[bytes] = []
    position = start = 0
    unclosed: set[bytes] = set()
    while part := _INVISIBLE_PART.search(lowered, position):
        closing = b"</" + part[1] if part[1] else b"-->"
        end = lowered.find(closing, part.end()) if closing not in unclosed else -1
        if end < 0:
            unclosed.add(closing)
            position = part.end()
            continue
        kept.append(data[start : part.start()])
        position = start = (lowered.find(b">", end) + 1 or len(data)) if part[1] else end + len(closing)
    return b" ".join((*kept, data[start:])).decode()


def _visible_length(text: str) -> int:
    """Return the number of characters that are not white space; the rarer spaces of Unicode count, on either side of a
    comparison."""
    return len(text) - sum(map(text.count, " \n\t\r\f\u00a0"))
