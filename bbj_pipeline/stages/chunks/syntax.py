"""Outlines of code in the languages that documents about BBj quote in full: JavaScript, TypeScript, Java and Python.

Tree-sitter parses any text, also a part of a program or one with mistakes; a text that it can make little of has no outline.
Spans are made when they are asked for, so that a large block costs only the nodes that have to be taken apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

import tree_sitter_java
import tree_sitter_python
import tree_sitter_typescript
from tree_sitter import Language, Node, Parser

__all__ = ["Outline", "Span", "syntax_outline"]


@dataclass(frozen=True, slots=True)
class Span:
    """Lines ``start`` to ``end`` (from 0, the end not included) that belong together.

    ``name`` is that of a declaration, ``opening`` the lines that say what it declares; both are empty for other code.
    ``inner`` gives the spans it consists of, which tile it; a single line has none.
    """

    start: int
    end: int
    name: str = ""
    opening: range = range(0)
    inner: Callable[[], Sequence[Span]] = field(default=tuple, compare=False)


@dataclass(frozen=True, slots=True)
class Outline:
    """Code as one span, the lines that import what it uses, and how a comment begins in its language."""

    whole: Span
    imports: tuple[range, ...] = ()
    comment: str = "//"


# The grammar of TypeScript with markup reads plain JavaScript as well.
_GRAMMARS: dict[str, Callable[[], object]] = {
    **dict.fromkeys(("javascript", "js", "jsx", "mjs", "tsx"), tree_sitter_typescript.language_tsx),
    **dict.fromkeys(("typescript", "ts"), tree_sitter_typescript.language_typescript),
    "java": tree_sitter_java.language,
    **dict.fromkeys(("python", "py"), tree_sitter_python.language),
}
_COMMENTS = frozenset({"comment", "line_comment", "block_comment"})
_IMPORTS = frozenset({"import_statement", "import_from_statement", "future_import_statement", "import_declaration"})
_DECLARES = ("_declaration", "_definition", "_declarator")
_WRAPPERS = frozenset({"export_statement", "decorated_definition", "lexical_declaration", "variable_declaration"})
_MOST_LEVELS = 100
"""Nodes inside of one another, all on the same lines, that are opened; what is deeper is cut between lines."""
_MOST_WRONG = 0.1
"""Share of lines in top-level errors above which the text is not of this language."""


def syntax_outline(text: str, language: str) -> Outline | None:
    """Return the outline of ``text``; ``None`` for a language without a grammar and for a text that is not of it."""
    if language not in _GRAMMARS:
        return None
    root = Parser(_language(language)).parse(text.encode()).root_node
    lines = text.count("\n") + 1
    wrong = sum(_end(node) - node.start_point.row for node in root.children if node.is_error)
    if root.is_error or wrong > _MOST_WRONG * lines:
        return None
    imports = tuple(range(node.start_point.row, _end(node)) for node in root.children if node.type in _IMPORTS)
    whole = Span(0, lines, inner=_inner(root.children, 0, lines, None))
    return Outline(whole, imports, "#" if language in ("python", "py") else "//")


@cache
def _language(name: str) -> Language:
    return Language(_GRAMMARS[name]())


def _end(node: Node) -> int:
    """Return the line after a node's last one."""
    return max(node.start_point.row + 1, node.end_point.row + (node.end_point.column > 0))


def _inner(nodes: Sequence[Node], start: int, end: int, owner: Node | None) -> Callable[[], Sequence[Span]]:
    return lambda: _spans(nodes, start, end, owner)


def _spans(nodes: Sequence[Node], start: int, end: int, owner: Node | None) -> Sequence[Span]:
    """Return spans that tile a range of lines: the nodes in it, or, while they all share lines, what these consist of."""
    if end - start < 2:
        return []
    groups = _groups(nodes)
    levels = 0
    while len(groups) == 1 and levels < _MOST_LEVELS and any(map(_has_lines, nodes)):
        nodes = [
            part
            for node in nodes
            for child in (node.children if _has_lines(node) else [node])
            for part in _body_parts(child, node)
        ]
        groups = _groups(nodes)
        levels += 1
    if len(groups) < 2:
        return [Span(line, line + 1) for line in range(start, end)]
    edges = [start, *(group[0].start_point.row for group in groups[1:]), end]
    return [_span(group, a, b, owner) for group, (a, b) in zip(groups, pairwise(edges), strict=True)]


def _has_lines(node: Node) -> bool:
    """Whether a node consists of parts that may lie on lines of their own."""
    return node.child_count > 0 and node.end_point.row > node.start_point.row


def _body_parts(child: Node, parent: Node) -> list[Node]:
    """Return what the body of a declaration consists of, so that its first line never stands alone; else the child."""
    return child.children if child.children and child == parent.child_by_field_name("body") else [child]


def _groups(nodes: Sequence[Node]) -> list[list[Node]]:
    """Put together nodes that share a line, and comments with what follows them directly."""
    groups: list[list[Node]] = []
    end = -1
    for node in nodes:
        begin = node.start_point.row
        if groups and (begin < end or (begin == end and all(other.type in _COMMENTS for other in groups[-1]))):
            groups[-1].append(node)
        else:
            groups.append([node])
        end = max(end, _end(node))
    return groups


def _span(group: Sequence[Node], start: int, end: int, owner: Node | None) -> Span:
    declared = next((found for node in group if (found := _declared(node)) is not None), None)
    name = declared.child_by_field_name("name") if declared is not None else None
    if declared is None or name is None or (owner is not None and declared.id == owner.id):
        return Span(start, end, inner=_inner(group, start, end, owner))
    text = (name.text or b"").decode("utf-8", "replace")
    return Span(start, end, text, _opening(declared), _inner(group, start, end, declared))


def _declared(node: Node) -> Node | None:
    """Return the declaration of more than one line that a node is or wraps."""
    if node.end_point.row == node.start_point.row:
        return None
    if node.type in _WRAPPERS:
        return next((found for child in node.children if (found := _declared(child)) is not None), None)
    return node if node.type.endswith(_DECLARES) else None


def _opening(node: Node) -> range:
    """Return the lines of a declaration before its body, with the brace that opens it."""
    first = node.start_point.row
    body = node.child_by_field_name("body")
    if body is None:
        return range(first, first + 1)
    braced = body.child_count > 0 and body.children[0].type == "{"
    return range(first, max(first + 1, body.start_point.row + braced))
