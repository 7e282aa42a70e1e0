"""Resolves the MadCap elements of a raw topic in place: variables, snippets, conditions, drop-downs, keywords.

After it a raw topic reads like its Clean XHTML. Which files exist and where they lie is told by a ``Scope``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from lxml import etree

from bbj_pipeline.sources.flare.conditions import TargetConditions, tags_of
from bbj_pipeline.sources.markup import MarkupError, parse_document, text_of

__all__ = ["Findings", "Scope", "may_have_madcap", "read_variables", "resolve", "substitute"]

_NAMESPACE = "{http://www.madcapsoftware.com/Schemas/MadCap.xsd}"
_MAX_NESTING = 32
"""Snippets in snippets and variables in variables: deeper ones are circular or broken."""
_INLINE_VARIABLE = re.compile(r"\[%=\s*([^%\]]+?)\s*%\]")
_CODE_LANGUAGE = re.compile(r"mc-code-lang\s*:\s*([\w+#.-]+)")
_RENAMED = {
    "codesnippet": "div", "codesnippetbody": "pre", "codesnippetcaption": "p", "dropdown": "div", "dropdownbody": "div",
    "dropdownhead": "p", "slide": "div", "slideshow": "div",
}  # fmt: skip
"""MadCap elements that are blocks, and the HTML they read like; all others are inline."""
_DETACHED = frozenset(("popupbody", "expandingbody"))
"""Inline elements that the reader opens apart from their text: a space keeps their words from the neighbours'."""
_WITHOUT_TEXT = frozenset(("codesnippetcopybutton", "relatedtopics", "pagebreak"))
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
    """What a topic may refer to. ``snippet`` gives key and bytes for a reference made in a file, or ``None``."""

    snippet: Callable[[str, str], tuple[str, bytes] | None]
    variables: Mapping[str, str]
    target: TargetConditions


def may_have_madcap(content: bytes) -> bool:
    """Say whether a document can contain anything of MadCap's at all; a quick look that spares Clean XHTML the work."""
    return b"adCap" in content or b"adcap" in content or b"data-mc-" in content or b"a\0d\0C\0a\0p" in content


def resolve(root: etree._Element, key: str, scope: Scope) -> Findings:
    """Resolve all MadCap elements below ``root`` (the topic ``key``) in place and return what was found on the way."""
    findings = Findings(conditions=_conditions(root))
    body = root.find("body")
    if body is not None:
        findings.conditions.extend(_conditions(body))
    _Resolver(scope, findings).resolve(root, (key,))
    return findings


def substitute(text: str, variables: Mapping[str, str], warnings: list[str]) -> str:
    """Replace ``[%=Set.Name%]`` by its value; an unknown variable is dropped with a warning."""

    def value(match: re.Match[str]) -> str:
        return _variable(match[1], variables, warnings) or ""

    return _INLINE_VARIABLE.sub(value, text)


def _variable(name: str, variables: Mapping[str, str], warnings: list[str]) -> str | None:
    value = variables.get(name.casefold())
    if value is None:
        warnings.append(f"variable not found: {name}")
    return value


@lru_cache(maxsize=128)
def read_variables(set_name: str, content: bytes) -> Mapping[str, str]:
    """Return the values of one variable set by ``set.name`` in lower case; a set that cannot be parsed is empty."""
    try:
        root = parse_document(content).root
    except MarkupError:
        return {}
    found: dict[str, str] = {}
    for element in root.iter(etree.Element):
        name = element.get("Name") or element.get("name")
        if element.tag.lower() != "variable" or not name:
            continue
        attributes = (element.get(attribute) for attribute in ("EvaluatedDefinition", "Definition"))
        value = next(filter(None, attributes), text_of(element))
        found.setdefault(f"{set_name}.{name}".casefold(), " ".join(value.split()))
    for _ in range(_MAX_NESTING):
        inner = {name: substitute(value, found, []) for name, value in found.items() if "[%=" in value}
        if not inner:
            break
        found.update(inner)
    return found


def _local(tag: str) -> str | None:
    """Return the lower-case local name of a MadCap element, in XML or as HTML recovery leaves it."""
    if tag.startswith(_NAMESPACE):
        return tag[len(_NAMESPACE) :].lower()
    lowered = tag.lower()
    return lowered.partition(":")[2] if lowered.startswith("madcap:") else None


def _attribute(element: etree._Element, name: str) -> str | None:
    for candidate in (f"{_NAMESPACE}{name}", f"MadCap:{name}", f"madcap:{name.lower()}", f"data-mc-{name.lower()}"):
        value = element.get(candidate)
        if value is not None:
            return value
    return None


def _conditions(element: etree._Element) -> list[str]:
    return list(tags_of(_attribute(element, "conditions") or "")) if element.attrib else []


class _Resolver:
    def __init__(self, scope: Scope, findings: Findings) -> None:
        self._scope = scope
        self._findings = findings

    def resolve(self, root: etree._Element, trail: tuple[str, ...]) -> None:
        """Resolve one file's tree; ``trail`` are the files that lead to it, the file itself last."""
        waiting = [root]
        while waiting:
            element = waiting.pop()
            if self._kept(element, root) and self._element(element, trail):
                waiting.extend(reversed(element))

    def _kept(self, element: etree._Element, root: etree._Element) -> bool:
        conditions = _conditions(element)
        if not conditions or element is root or element.tag == "body":
            return True
        if not self._scope.target.keeps(tuple(conditions)):
            _remove(element)
            return False
        self._findings.inline_conditions.extend(conditions)
        return True

    def _element(self, element: etree._Element, trail: tuple[str, ...]) -> bool:
        """Resolve one element; ``True`` when its children are still to be resolved."""
        number = _attribute(element, "autonum") if element.attrib else None
        if number:
            element.text = f"{number} {element.text or ''}"
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
            _remove(element)
            return False
        if name in _DETACHED:
            element.text = f" {element.text or ''}"
            element.tail = f" {element.tail or ''}"
        if name == "codesnippetbody":
            language = _CODE_LANGUAGE.search(element.get("style", ""))
            if language:
                element.set("class", f"language-{language[1]}")
        element.tag = _RENAMED.get(name, "span")
        return True

    def _set_variable(self, element: etree._Element, name: str) -> None:
        value = self._scope.variables.get(name.casefold())
        element.tag = "span"
        if value is None:
            self._findings.warnings.append(f"variable not found: {name or '(no name)'}")
            return
        for child in list(element):
            element.remove(child)
        element.text = value

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
        try:
            root = parse_document(content).root
        except MarkupError as error:
            if error.code != "empty":
                self._findings.warnings.append(f"snippet cannot be read: {key} ({error.reason})")
            return
        body = root.find("body")
        body = root if body is None else body
        if not self._scope.target.keeps((*_conditions(root), *_conditions(body))):
            return
        self.resolve(body, (*trail, key))
        _move_content(body, element, inline=inline)


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


def _remove(element: etree._Element) -> None:
    """Remove an element but not the text after it."""
    parent = element.getparent()
    if parent is None:
        return
    if element.tail:
        before = element.getprevious()
        if before is not None:
            before.tail = (before.tail or "") + element.tail
        else:
            parent.text = (parent.text or "") + element.tail
    parent.remove(element)
