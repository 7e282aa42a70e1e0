"""Recognises one JSX tag, one ``{…}`` expression or one ESM statement at a position of a text, by linear regular expressions.

Nothing is evaluated: attribute values that are not plain strings stay source text. No Markdown is known here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["MAX_STATEMENT_LINES", "JsxTag", "esm_end", "expression_text", "match_expression", "match_tag", "tab_labels"]

_MAX_TAG = 20_000
"""Characters one tag or expression may span; longer ones are read as text, so that unclosed ones cost linear time."""
MAX_STATEMENT_LINES = 400
"""Lines one ESM statement may take."""

_STRING = r""""(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'|`(?:[^`\\]|\\.)*+`"""


def _braces(depth: int) -> str:
    inner = f"|{_braces(depth - 1)}" if depth else ""
    return rf"""\{{(?:/\*(?s:.)*?\*/|[^{{}}"'`/]++|{_STRING}|["'`/]{inner})*+\}}"""


_BRACES = _braces(4)
_TAG = re.compile(
    rf"""<(?P<close>/)?(?P<name>[A-Za-z][\w.:-]*+)?"""
    rf"""(?P<attrs>(?:\s++(?:[A-Za-z_@:][\w.:@-]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|{_BRACES}))?+|{_BRACES}))*+)"""
    r"""\s*+(?P<self>/)?>"""
)
_ATTRIBUTE = re.compile(rf"""([A-Za-z_@:][\w.:@-]*+)(?:\s*+=\s*+("[^"]*+"|'[^']*+'|{_BRACES}))?+|{_BRACES}""")
_EXPRESSION = re.compile(_BRACES)
_LITERAL = re.compile(rf"\{{\s*({_STRING})\s*\}}\Z")
_NAME_OF_FRONT_MATTER = re.compile(r"\{\s*frontMatter\.(\w+)\s*\}\Z")
_ELEMENT = re.compile(r"\{\s*<([A-Za-z]\w*)[^<>{}]*>([^<>{}]*)</\1>\s*\}\Z")
_ESCAPED = re.compile(r"\\(.)")

_IMPORT = re.compile(r"""import\s+(?:type\s+)?(?:['"]|[\w$*{][^'"]*?\sfrom\s*['"])""")
_IMPORT_START = re.compile(r"import\s+(?:type\s+(?=[\w$*{]))?(?:['\"]|[\w$]+\s*(?:,\s*[{*]|\s+from\s*['\"])|\*\s*as\s|\{)")
_EXPORT_START = re.compile(
    r"export\s+(?:(?:const|let|var)\s+[\w$\[{][^=\n]*=|(?:async\s+)?function\b|class\s+\w+\s*[{e]|default\s+(?:function|class|[({\[]"
    r"|[\w$.]+;?\s*$)|\{|\*\s*(?:as\b|from\b))"
)
_TAB_VALUE = re.compile(r"""\{[^{}]*\}""")
_TAB_FIELD = re.compile(r"""\b(label|value)['"]?\s*:\s*(['"`])(.*?)\2""")


@dataclass(frozen=True, slots=True)
class JsxTag:
    """One tag: an opening, a closing or a self-closing one. A fragment's name is empty.

    ``attributes`` holds string values without quotes, ``{…}`` values as they are written, and ``""`` for bare names.
    """

    name: str
    attributes: Mapping[str, str]
    closing: bool
    self_closing: bool

    @property
    def is_component(self) -> bool:
        """A capitalised or dotted name or a fragment, as JSX tells components from HTML elements."""
        return not self.name or self.name[0].isupper() or "." in self.name

    def text(self, name: str) -> str:
        """Return the attribute when it is a literal string, else ``""``."""
        value = self.attributes.get(name, "")
        return expression_text(value, {}) if value.startswith("{") else value


def match_tag(text: str, position: int) -> tuple[JsxTag, int] | None:
    """Return the tag that starts at ``position`` and the position after it, or ``None``."""
    found = _TAG.match(text, position, min(len(text), position + _MAX_TAG))
    if found is None or (found["close"] and found["self"]) or (not found["name"] and (found["attrs"] or found["self"])):
        return None
    attributes = {}
    for attribute in _ATTRIBUTE.finditer(found["attrs"] or ""):
        if attribute[1]:
            value = attribute[2] or ""
            attributes[attribute[1]] = value if value.startswith("{") else value[1:-1]
    tag = JsxTag(found["name"] or "", attributes, closing=bool(found["close"]), self_closing=bool(found["self"]))
    return tag, found.end()


def match_expression(text: str, position: int) -> tuple[str, int] | None:
    """Return the ``{…}`` expression that starts at ``position`` with its braces, and the position after it, or ``None``."""
    found = _EXPRESSION.match(text, position, min(len(text), position + _MAX_TAG))
    return (found[0], found.end()) if found else None


def expression_text(expression: str, front_matter: Mapping[str, object]) -> str:
    """Return what an expression shows when that is known without running it: a literal, the text of one element, or a front
    matter value."""
    if element := _ELEMENT.match(expression):
        return " ".join(element[2].split())
    literal = _LITERAL.match(expression)
    if literal:
        return _ESCAPED.sub(r"\1", literal[1][1:-1]) if literal[1][0] != "`" else literal[1][1:-1].replace("\\`", "`")
    name = _NAME_OF_FRONT_MATTER.match(expression)
    value = front_matter.get(name[1]) if name else None
    return str(value) if isinstance(value, str | int | float) else ""


def tab_labels(values: str) -> dict[str, str]:
    """Return label by value of a ``<Tabs values={[{label: 'A', value: 'a'}]}>`` attribute."""
    labels = {}
    for item in _TAB_VALUE.findall(values[1:-1]):
        fields = {name: text for name, _, text in _TAB_FIELD.findall(item)}
        if "label" in fields and "value" in fields:
            labels[fields["value"]] = fields["label"]
    return labels


def esm_end(lines: list[str]) -> int:
    """Return how many of ``lines`` the ESM statement at their start takes, 0 when they start with none.

    A statement ends where its brackets are balanced; one that never balances ends at the first blank line.
    """
    first = lines[0] if lines else ""
    is_import = bool(_IMPORT_START.match(first))
    if not is_import and not _EXPORT_START.match(first):
        return 0
    depth = 0
    for number, line in enumerate(lines):
        bare = re.sub(_STRING, "''", line)
        depth += sum(bare.count(c) for c in "([{") - sum(bare.count(c) for c in ")]}")
        if depth <= 0 and not bare.rstrip().endswith(("=", "=>", ",", "from")):
            whole = "\n".join(lines[: number + 1])
            return number + 1 if not is_import or _IMPORT.match(whole) else 0
    blank = next((number for number, line in enumerate(lines) if not line.strip()), len(lines))
    return 0 if is_import else blank
