"""Reads one ``docu`` field: an HTML fragment or a JavaDoc comment with its trailing link, as blocks, URL and facts.

Nothing is known here of packages, classes or members.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from html import escape

from lxml import etree

from bbj_pipeline.records import Block
from bbj_pipeline.sources.markup import Code, MarkupProfile, parse_fragment, text_of, to_blocks

__all__ = ["EMPTY", "Docu", "read_docu"]

_LINK = re.compile(r"\[Docs\]\(\s*+(\S*?)\s*+\)\s*\Z")
_SCRAPED_PAGE = re.compile(r"</head\s*>|</title\s*>|<body\b|<html\b", re.IGNORECASE)
"""A description never holds the skeleton of a page; where it does, the generator copied the whole page."""
_MAIN = ".//*[@id='mc-main-content' or @role='main' or local-name()='main']"
_RELATED = re.compile(r"BBj[A-Za-z]\w*")
_SINCE = re.compile(r"In BBj (\d+(?:\.\d+)*)(?:\s(?:and|or)\b|,)")
"""``In BBj 7.00 and higher, …``; ``higher`` is sometimes misspelt or missing: "In BBj 14.0, this method"."""
_DEPRECATED = re.compile(
    r"@deprecated\b"
    # "Deprecated. Use x." wherever a sentence or a line begins, but not "Deprecated methods are listed below."
    r"|(?:\A|\n|[.!?:;>)\]] )\W{0,3}deprecated(?=\W*(?:\Z|\n)|\s*[.:;,!)\]*\u2013\u2014-]"
    r"|\s+(?:since|in|as|by|from|use|with|and|because|please|see)\b)"
    r"|\((?:now )?deprecated[\s.:;,)]"
    r"|\b(?:it|this|(?:this|the)(?P<named>(?:\s[\w:.()]+){1,4}))\s(?:is|are|has\sbeen|have\sbeen|was|were)\s(?:now\s)?deprecated\b",
    re.IGNORECASE,
)
"""What says that the described itself is deprecated."""
_IDENTIFIER = re.compile(r"[\w$]*(?:::|[a-z0-9_][A-Z]|\(|_|\w\.\w)[\w$:.()]*")
"""A word that can only be the name of a class or a member."""
_DEPRECATED_NOTE = re.compile(r"""<(?:div|p|span)\b[^<>]*\bclass\s*=\s*["']?[^"'<>]*\bdeprecated_note\b""", re.IGNORECASE)
"""The documentation's own frame around the sentence that says so."""
_SENTENCE_END = re.compile(r"[.!?]\s|\n")
_DEPRECATED_PAGE = re.compile(r"/deprecated/", re.IGNORECASE)
"""The folder into which the documentation moves the page of a member that should no longer be used."""
_COMMENT_MARGIN = re.compile(r"^[ \t]*\*+ ?", re.MULTILINE)
_LITERAL = re.compile(r"\{@(code|literal)\s++((?:[^{}]|\{[^{}]*\})*)\}")
_BARE_TEXT = re.compile("[^<&\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]*")
"""A description without markup, and without characters that a tree cannot hold."""
_LINK_TAG = re.compile(r"\{@link(?:plain)?\s++([^\s{}]++)(?:\s++([^{}]*))?\}")
_BLOCK_TAG = re.compile(r"^@\w+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Docu:
    """What a ``docu`` field says.

    ``url`` is its documentation page, ``related`` the classes it links to, ``since`` the BBj version its first sentence
    begins with, unless that sentence says that the described is deprecated: then the version is ``deprecated_in``.
    ``removed`` is the number of characters that were a scraped page's and not a description.
    """

    blocks: tuple[Block, ...] = ()
    url: str | None = None
    related: tuple[str, ...] = ()
    since: str | None = None
    deprecated: bool = False
    deprecated_in: str | None = None
    removed: int = 0


EMPTY = Docu()


def read_docu(value: object, *, heading_level: int, name: str = "") -> Docu:
    """Read the ``docu`` field of the class or member ``name``; headings in it start at ``heading_level``, so that they stay
    below what they describe.

    Anything but text is an empty description. Raises ``MarkupError`` when the HTML is too large or too deep.
    """
    if not isinstance(value, str) or not value.strip():
        return EMPTY
    link = _LINK.match(value, start) if (start := value.rfind("[Docs](")) >= 0 else None
    url = link[1] if link and link[1].startswith(("https://", "http://")) else None
    text = value[: link.start()] if link else value
    comment = _inside_comment(text)
    if comment is None and _BARE_TEXT.fullmatch(text):
        root = etree.Element("body")  # what the HTML parser would make of it, in a tenth of the time
        root.text = text
    else:
        root = parse_fragment(text if comment is None else _from_comment(comment))
    removed = 0
    if _SCRAPED_PAGE.search(text):
        main = root.xpath(_MAIN)
        removed = len(text)
        root = main[0] if isinstance(main, list) and main and isinstance(main[0], etree._Element) else etree.Element("body")
    blocks = to_blocks(root, _PAGE if removed else _PROFILE if comment is None else _COMMENT_PROFILE)
    blocks = tuple(
        replace(block, level=min(6, heading_level - 1 + (block.level or 1))) if block.type == "heading" else block
        for block in blocks
    )
    prose = "\n".join(_lines_of(block.text) for block in blocks if block.type != "code")
    said = _deprecation(prose, name) if "eprecated" in prose else None
    dated = _version_of(prose, said.start()) if said else None
    since = None if dated and dated.start() == 0 else _SINCE.match(prose)
    return Docu(
        blocks=blocks,
        url=url,
        related=_related(root),
        since=since[1] if since else None,
        deprecated=said is not None or bool(url and _DEPRECATED_PAGE.search(url)) or bool(_DEPRECATED_NOTE.search(text)),
        deprecated_in=dated[1] if dated else None,
        removed=removed,
    )


def _lines_of(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in text.split("\n"))


def _deprecation(prose: str, name: str) -> re.Match[str] | None:
    """Return where ``prose`` says that ``name`` is deprecated; of another thing, named by an identifier, nobody asked."""
    for found in _DEPRECATED.finditer(prose):
        named = {word.rpartition("::")[2].partition("(")[0] for word in _IDENTIFIER.findall(found["named"] or "")}
        if not named or name in named:
            return found
    return None


def _version_of(prose: str, position: int) -> re.Match[str] | None:
    """Return the version that the sentence at ``position`` begins with."""
    versions = [
        found for found in _SINCE.finditer(prose, 0, position) if not _SENTENCE_END.search(prose, found.end(), position)
    ]
    return versions[-1] if versions else None


def _code_line(element: etree._Element) -> Code | None:
    """Code of the documentation pages the fragments were cut from is a paragraph of class ``Code``."""
    if element.tag == "p" and "Code" in (element.get("class") or "").split():
        return Code(text_of(element), "bbj")
    return None


_PROFILE = MarkupProfile(code=_code_line, language="bbj")
_COMMENT_PROFILE = MarkupProfile(language="java")
_PAGE = MarkupProfile(code=_code_line, language="bbj", drop=frozenset(("h1", "nav")))
"""A page's own title repeats the name of what it describes."""


def _related(root: etree._Element) -> tuple[str, ...]:
    names = (text_of(element) for element in root.iterdescendants("a"))
    return tuple(dict.fromkeys(name for name in names if _RELATED.fullmatch(name)))


def _inside_comment(text: str) -> str | None:
    """Return what stands between ``/**`` and ``**/`` when the text is one comment."""
    bare = text.strip()
    if not bare.startswith("/**") or not bare.endswith("*/") or len(bare) < 5:
        return None
    return bare[3:-1].rstrip("*")


def _from_comment(comment: str) -> str:
    """Return the inside of a JavaDoc comment as HTML: no margin of asterisks, inline tags resolved, a paragraph a block tag."""
    text = _COMMENT_MARGIN.sub("", comment.replace("\r\n", "\n").replace("\r", "\n"))
    tags = _BLOCK_TAG.search(text)
    description, rest = (text[: tags.start()], text[tags.start() :]) if tags else (text, "")
    paragraphs = [f"<p>{_inline_tags(part)}</p>" for part in re.split(r"^(?=@\w)", rest, flags=re.MULTILINE) if part.strip()]
    return _inline_tags(description) + "".join(paragraphs).replace("@param <", "@param &lt;")


def _inline_tags(text: str) -> str:
    text = _LITERAL.sub(lambda match: f"<{_TAG[match[1]]}>{escape(match[2], quote=False)}</{_TAG[match[1]]}>", text)
    return _LINK_TAG.sub(lambda match: match[2] or match[1].lstrip("#").replace("#", "."), text)


_TAG = {"code": "code", "literal": "span"}
