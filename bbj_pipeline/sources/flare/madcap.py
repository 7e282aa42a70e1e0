"""Resolves the MadCap elements of a raw topic in place: variables, snippets, conditions, drop-downs, keywords.

After it a raw topic reads like its Clean XHTML. Which files exist and where they lie is told by a ``Scope``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lxml import etree

from bbj_pipeline.sources.flare.conditions import TargetConditions, tags_of
from bbj_pipeline.sources.markup import ENTITIES, MarkupError, parse_document, parse_fragment
from bbj_pipeline.sources.markup.elements import children_of

__all__ = ["Findings", "Scope", "may_have_madcap", "resolve", "set_numbers_apart"]

_NAMESPACE = "{http://www.madcapsoftware.com/Schemas/MadCap.xsd}"
_MAX_NESTING = 32
"""Snippets in snippets: deeper ones are circular or broken."""
_MAX_SNIPPETS = 2_000
"""Insertions of one topic: snippets that use each other twice at every level would never end."""
_MAX_CHARACTERS = 32 * 1024**2
"""Bytes of all snippets and variables inserted into one topic, half of what one document may have."""
_CODE_LANGUAGE = re.compile(r"mc-code-lang\s*:\s*([\w+#.-]+)")
_RENAMED = {
    "codesnippet": "div", "codesnippetbody": "pre", "codesnippetcaption": "p", "dropdown": "div", "dropdownbody": "div",
    "dropdownhead": "p", "slide": "div", "slideshow": "div",
}  # fmt: skip
"""MadCap elements that are blocks, and the HTML they read like; all others are inline."""
_DETACHED = frozenset(("popupbody", "expandingbody", "footnote", "footnoteblock"))
"""Inline elements that are shown apart from the text around them: a space keeps their words from the neighbours'."""
_WITHOUT_TEXT = frozenset(("codesnippetcopybutton", "relatedtopics", "pagebreak"))
_OTHER_PREFIX = re.compile(rb"""xmlns(?!:MadCap\s*=)[\w.:-]*\s*=\s*["']http://www\.madcap""")
_KEYWORDS = frozenset(("keyword", "concept"))
_FLATTENED = frozenset(("p", "div"))


@dataclass(slots=True)
class Findings:
    """What was found beside the text: index terms, related topics, conditions, and what could not be resolved."""

    keywords: list[str] = field(default_factory=list)
    related: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    inline_conditions: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Scope:
    """What a topic may refer to. For a reference and the file it is made in, ``snippet`` gives key and bytes, ``title`` the
    title of the topic; both ``None`` when there is none."""

    snippet: Callable[[str, str], tuple[str, bytes] | None]
    title: Callable[[str, str], str | None]
    variables: Mapping[str, str]
    target: TargetConditions


def may_have_madcap(content: bytes) -> bool:
    """Say whether a document can contain anything of MadCap's at all; a quick look that spares Clean XHTML the work.

    Most Clean XHTML declares the namespace and uses nothing of it.
    """
    if b"\0" in content and b"a\0d\0C\0a\0p" in content:  # UTF-16
        return True
    if any(mark in content for mark in (b"adCap:", b"adcap:", b"data-mc-", b"[%=")):
        return True
    return b"adcapsoftware" in content and _OTHER_PREFIX.search(content) is not None


def resolve(root: etree._Element, key: str, scope: Scope) -> Findings:
    """Resolve all MadCap elements below ``root`` (the topic ``key``) in place and return what was found on the way."""
    findings = Findings(conditions=_conditions(root))
    body = root.find("body")
    if body is not None:
        findings.conditions.extend(_conditions(body))
    _Resolver(scope, findings).resolve(root, (key,))
    return findings


def _local(tag: str) -> str | None:
    """Return the lower-case local name of a MadCap element, in XML or as HTML recovery leaves it."""
    if ":" not in tag:  # as in the namespace's own name
        return None
    if tag.startswith(_NAMESPACE):
        return tag[len(_NAMESPACE) :].lower()
    lowered = tag.lower()
    return lowered.partition(":")[2] if lowered.startswith("madcap:") else None


def _spellings(name: str) -> tuple[str, ...]:
    return f"{_NAMESPACE}{name}", f"MadCap:{name}", f"madcap:{name}", f"data-mc-{name}"


_AUTONUM = _spellings("autonum")
_CONDITIONS = _spellings("conditions")


def _attribute(element: etree._Element, spellings: tuple[str, ...]) -> str | None:
    present = element.keys()
    return next((element.get(name) for name in spellings if name in present), None) if present else None


def _conditions(element: etree._Element) -> list[str]:
    value = _attribute(element, _CONDITIONS)
    return list(tags_of(value)) if value else []


class _Resolver:
    def __init__(self, scope: Scope, findings: Findings) -> None:
        self._scope = scope
        self._findings = findings
        self._snippets_left = _MAX_SNIPPETS
        self._bytes_left = _MAX_CHARACTERS

    def resolve(self, root: etree._Element, trail: tuple[str, ...]) -> None:
        """Resolve one file's tree; ``trail`` are the files that lead to it, the file itself last."""
        waiting = [root]
        removed: list[etree._Element] = []
        while waiting:
            element = waiting.pop()
            bare = not element.keys()
            if bare and ":" not in element.tag:  # most elements: nothing of MadCap's about them
                waiting.extend(reversed(children_of(element)))
            elif not bare and not self._kept(element, root):
                removed.append(element)
            elif self._element(element, trail, removed):
                waiting.extend(reversed(children_of(element)))
        _remove(removed)

    def _kept(self, element: etree._Element, root: etree._Element) -> bool:
        conditions = _conditions(element)
        if not conditions or element is root or element.tag == "body":
            return True
        if not self._scope.target.keeps(tuple(conditions)):
            return False
        self._findings.inline_conditions.extend(conditions)
        return True

    def _element(self, element: etree._Element, trail: tuple[str, ...], removed: list[etree._Element]) -> bool:
        """Resolve one element or add it to ``removed``; ``True`` when its children are still to be resolved."""
        number = _attribute(element, _AUTONUM)
        if number and not _shows_number(element):
            element.text = f"{_plain(number)} {element.text or ''}"
        name = _local(element.tag)
        if name is None:
            variable = element.get("data-mc-variable")
            if variable is not None:
                self._set_variable(element, variable)
            return True
        if name == "variable":
            self._set_variable(element, element.get("name") or "")
            return False
        if name in ("snippetblock", "snippettext"):
            self._insert_snippet(element, trail, inline=name == "snippettext")
            return False
        if name in _KEYWORDS:
            terms = (term.strip() for term in (element.get("term") or "").split(";"))
            self._findings.keywords.extend(filter(None, terms))
        if name == "relatedtopics":
            self._findings.related.extend(filter(None, (topic.get("src") or topic.get("href") for topic in element)))
        if name in _WITHOUT_TEXT or name.endswith("proxy") or (name in _KEYWORDS and not len(element) and not element.text):
            removed.append(element)
            return False
        if name == "xref" and not len(element) and not (element.text or "").strip():
            self._show_title(element, element.get("href") or "", trail[-1])
        if name in _DETACHED:
            element.text = f" {element.text or ''}"
            element.tail = f" {element.tail or ''}"
        if name == "codesnippetbody":
            language = _CODE_LANGUAGE.search(element.get("style", ""))
            if language:
                element.set("class", f"language-{language[1]}")
        element.tag = _RENAMED.get(name, "span")
        return True

    def _show_title(self, xref: etree._Element, reference: str, base: str) -> None:
        """Let a cross reference without a text of its own read as Flare writes it: the title of the topic it leads to."""
        xref.text = self._scope.title(reference, base)
        if xref.text is None:
            self._findings.warnings.append(f"cross reference without text: {reference or '(no href)'}")

    def _set_variable(self, element: etree._Element, name: str) -> None:
        value = self._scope.variables.get(name.casefold())
        element.tag = "span"
        if value is None:
            self._findings.warnings.append(f"variable not found: {name or '(no name)'}")
            return
        for child in list(element):
            element.remove(child)
        self._spend(len(value))
        element.text = value

    def _spend(self, size: int) -> None:
        self._bytes_left -= size
        if self._snippets_left < 0 or self._bytes_left < 0:
            raise MarkupError(
                "too-large", f"over {_MAX_SNIPPETS:,} snippets or {_MAX_CHARACTERS:,} bytes of snippets and variables"
            )

    def _insert_snippet(self, element: etree._Element, trail: tuple[str, ...], *, inline: bool) -> None:
        reference = element.get("src") or ""
        found = self._scope.snippet(reference, trail[-1])
        element.tag = "span" if inline else "div"
        if found is None:
            self._findings.warnings.append(f"snippet not found: {reference or '(no src)'}")
            return
        key, content = found
        if key in trail or len(trail) > _MAX_NESTING:
            self._findings.warnings.append(f"snippet refers to itself: {key}")
            return
        self._snippets_left -= 1
        self._spend(len(content))
        try:
            root = parse_document(content).root
        except MarkupError as error:
            if error.code == ENTITIES:
                raise MarkupError(error.code, f"in {key}: {error.reason}") from None
            if error.code != "empty":
                self._findings.warnings.append(f"snippet cannot be read: {key} ({error.reason})")
            return
        body = root.find("body")
        body = root if body is None else body
        if not self._scope.target.keeps((*_conditions(root), *_conditions(body))):
            return
        self.resolve(body, (*trail, key))
        _move_content(body, element, inline=inline)


def set_numbers_apart(root: etree._Element) -> None:
    """Put a space around each automatic number of a compiled topic.

    A number is a mark, as that of a list: where its author wrote no space, as after an icon, it is still no part of the word.
    """
    for span in root.iter("span"):
        if _is_number(span):
            span.text = f" {span.text or ''}"
            span.tail = f" {span.tail or ''}"


def _is_number(element: etree._Element) -> bool:
    return element.tag == "span" and "autonumber" in (element.get("class") or "").split()


def _shows_number(element: etree._Element) -> bool:
    """Say whether an element is compiled already: its first child is the number."""
    return bool(len(element)) and _is_number(element[0])


def _plain(number: str) -> str:
    """Return the text of an automatic number, which may be markup."""
    return "".join(map(str, parse_fragment(number).itertext())) if "<" in number else number


def _move_content(body: etree._Element, place: etree._Element, *, inline: bool) -> None:
    """Put the content of a snippet's body where it is used; inline, its paragraphs follow each other in one line."""
    blocks = [child for child in body if child.tag in _FLATTENED] if inline else []
    for block in blocks:
        block.tag = "span"
        if block is not blocks[-1]:
            block.tail = f" {block.tail or ''}"
    if blocks and not (body.text or "").strip():  # the file's indentation is no space between words
        body.text = None
    if len(body) and body[-1] in blocks and not (body[-1].tail or "").strip():
        body[-1].tail = None
    place.text = body.text
    for child in list(body):
        place.append(child)


def _remove(elements: list[etree._Element]) -> None:
    """Remove elements but not the texts after them, which join the text before.

    All of one parent at once: joined one by one, the growing text would be copied for each.
    """
    by_parent: dict[etree._Element, set[etree._Element]] = {}
    for element in elements:
        parent = element.getparent()
        if parent is not None:
            by_parent.setdefault(parent, set()).add(element)
    for parent, gone in by_parent.items():
        before: etree._Element | None = None
        pieces = [parent.text or ""]
        for child in [*parent, None]:
            if child is not None and child in gone:
                pieces.append(child.tail or "")
                parent.remove(child)
                continue
            if len(pieces) > 1 and before is None:
                parent.text = "".join(pieces)
            elif len(pieces) > 1 and before is not None:
                before.tail = "".join(pieces)
            before = child
            pieces = [child.tail or ""] if child is not None else []
