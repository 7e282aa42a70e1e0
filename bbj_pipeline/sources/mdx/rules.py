"""The markdown-it rules that Docusaurus adds to CommonMark: JSX, ``{…}`` expressions, ESM, admonitions, heading ids, callouts.

JSX tags and admonition fences become single tokens of their own line, so that everything between them stays ordinary
Markdown and code is never looked into. Rendering lives in ``render``.
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock, html_block
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from bbj_pipeline.sources.mdx.jsx import MAX_STATEMENT_LINES, JsxTag, esm_end, match_expression, match_tag

__all__ = ["IsMdx", "install_rules"]

_OPEN = re.compile(r"(:{3,})[ \t]*([A-Za-z][\w-]*)(?:\[(.*)\]|[ \t]+([^{].*?))?[ \t]*(?:\{[^{}]*\})?[ \t]*\Z")
_CLOSE = re.compile(r":{3,}[ \t]*\Z")
_HEADING_ID = re.compile(r"[ \t]*\{(?:/\*[ \t]*)?#([^\s{}*]+)[ \t]*(?:\*/)?\}[ \t]*\Z")
_RAW_HTML = re.compile(r"<(?:[!?]|(?:script|style|pre|textarea)\b)", re.IGNORECASE)
_MARKDOWN_LINE = re.compile(r"#{1,6}[ \t]+\S|`{3}|~{3}|:{3}")
_CALLOUT = re.compile(r"[?!]>[ \t]+")


class IsMdx(Exception):
    """Text that was read as plain Markdown has components or ESM statements between its blocks: it is MDX."""


def install_rules(md: MarkdownIt, *, mdx: bool) -> None:
    """Add the rules to ``md``. With ``mdx``, lower-case tags and expressions are JSX too, and indented text is not code.

    Without it, parsing raises ``IsMdx`` as soon as the blocks show that the text is MDX, before any prose is looked into.
    """
    ends_prose: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    md.block.ruler.before("html_block", "jsx", _jsx_line if not mdx else _jsx_line_mdx, ends_prose)
    md.block.ruler.before("jsx", "admonition", _admonition, ends_prose)
    md.block.ruler.before("reference", "esm", _esm)
    md.inline.ruler.before("html_inline", "jsx", _jsx_inline if not mdx else _jsx_inline_mdx)
    md.block.ruler.at(
        "html_block", _html_block if not mdx else _html_block_mdx, {"alt": ["paragraph", "reference", "blockquote"]}
    )
    if mdx:
        md.block.ruler.before("jsx", "expression", _expression_block)
        md.inline.ruler.before("jsx", "expression", _expression_inline)
        md.disable("code")
    else:
        md.core.ruler.after("block", "is_mdx", _stop_at_mdx)
    md.core.ruler.after("block", "docusaurus", _headings_and_callouts)


def _stop_at_mdx(state: StateCore) -> None:
    if any(token.type in ("jsx_block", "esm") for token in state.tokens):
        raise IsMdx


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]


def _jsx_line(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    return _jsx_block(state, start, end, silent, mdx=False)


def _jsx_line_mdx(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    return _jsx_block(state, start, end, silent, mdx=True)


def _jsx_block(state: StateBlock, start: int, end: int, silent: bool, *, mdx: bool) -> bool:
    """Take whole lines that hold nothing but tags; a tag may span lines."""
    position = state.bMarks[start] + state.tShift[start]
    if state.is_code_block(start) or not state.src.startswith("<", position):
        return False
    limit = state.eMarks[end - 1]
    tags: list[JsxTag] = []
    line = start
    while True:
        found = match_tag(state.src, position)
        if found is None or found[1] > limit or not (mdx or found[0].is_component or _has_expression(found[0])):
            return False
        tags.append(found[0])
        position = found[1]
        while state.eMarks[line] < position:
            line += 1
        while position < state.eMarks[line] and state.src[position] in " \t":
            position += 1
        if position >= state.eMarks[line]:
            break
        if state.src[position] != "<":
            return False
    if not silent:
        for tag in tags:
            token = state.push("jsx_block", "", 0)
            token.meta = {"tag": tag}
            token.map = [start, line + 1]
        state.line = line + 1
    return True


def _has_expression(tag: JsxTag) -> bool:
    return any(value.startswith("{") for value in tag.attributes.values())


def _jsx_inline(state: StateInline, silent: bool) -> bool:
    return _jsx_span(state, silent, mdx=False)


def _jsx_inline_mdx(state: StateInline, silent: bool) -> bool:
    return _jsx_span(state, silent, mdx=True)


def _jsx_span(state: StateInline, silent: bool, *, mdx: bool) -> bool:
    """Take one tag in prose. In plain Markdown a capitalised word in angle brackets that nothing closes is text."""
    if state.src[state.pos] != "<":
        return False
    found = match_tag(state.src, state.pos)
    if found is None or found[1] > state.posMax or not (mdx or found[0].is_component or _has_expression(found[0])):
        return False
    tag, position = found
    as_text = not mdx and not tag.self_closing and tag.is_component and not _has_partner(state.src, tag)
    if not silent:
        if as_text:
            state.pending += state.src[state.pos : position]
        else:
            token = state.push("jsx_inline", "", 0)
            token.meta = {"tag": tag}
    state.pos = position
    return True


def _has_partner(text: str, tag: JsxTag) -> bool:
    return (f"<{tag.name}" if tag.closing else f"</{tag.name}") in text


def _html_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """CommonMark's HTML block, ended before a line that can only be Markdown.

    By CommonMark ``</div>`` swallows a heading on the next line as raw text; authors do not mean that, and MDX reads a heading.
    """
    if not html_block(state, start, end, silent):
        return False
    if silent or _RAW_HTML.match(_line(state, start)):
        return True
    for line in range(start + 1, state.line):
        if _MARKDOWN_LINE.match(_line(state, line)):
            token = state.tokens[-1]
            token.content = state.getLines(start, line, state.blkIndent, True)
            token.map = [start, line]
            state.line = line
            break
    return True


def _html_block_mdx(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Only comments and raw text elements are HTML blocks in MDX; other tags are JSX with Markdown between them."""
    return bool(_RAW_HTML.match(_line(state, start))) and html_block(state, start, end, silent)


def _expression_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    position = state.bMarks[start] + state.tShift[start]
    if silent or not state.src.startswith("{", position):
        return False
    found = match_expression(state.src, position)
    if found is None or found[1] > state.eMarks[end - 1]:
        return False
    line = start
    while state.eMarks[line] < found[1]:
        line += 1
    if state.src[found[1] : state.eMarks[line]].strip():
        return False
    token = state.push("expression", "", 0)
    token.content = found[0]
    token.map = [start, line + 1]
    state.line = line + 1
    return True


def _expression_inline(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] != "{":
        return False
    found = match_expression(state.src, state.pos)
    if found is None or found[1] > state.posMax:
        return False
    if not silent:
        state.push("expression", "", 0).content = found[0]
    state.pos = found[1]
    return True


def _esm(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if silent or state.level or state.tShift[start] or not state.src.startswith(("import", "export"), state.bMarks[start]):
        return False
    taken = esm_end(
        [state.src[state.bMarks[line] : state.eMarks[line]] for line in range(start, min(end, start + MAX_STATEMENT_LINES))]
    )
    if not taken:
        return False
    token = state.push("esm", "", 0)
    token.map = [start, start + taken]
    token.hidden = True
    state.line = start + taken
    return True


def _admonition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Take an opening or closing ``:::`` line; a closing one ends the innermost open admonition with no more colons."""
    if state.is_code_block(start) or not state.src.startswith(":::", state.bMarks[start] + state.tShift[start]):
        return False
    line = _line(state, start).rstrip()
    open_colons: list[int] = state.env.setdefault("admonitions", [])
    opening = _OPEN.match(line)
    if opening:
        if not silent:
            open_colons.append(len(opening[1]))
            title = opening[3] if opening[3] is not None else opening[4]
            _push_opening(state, opening[2].lower(), (title or "").strip(), start)
    elif _CLOSE.match(line):  # one that closes nothing is not text either
        while not silent and any(colons <= len(line) for colons in open_colons):
            state.push("admonition_close", "", 0).map = [start, start + 1]
            if open_colons.pop() <= len(line):
                break
    else:
        return False
    if not silent:
        state.line = start + 1
    return True


def _push_opening(state: StateBlock, word: str, title: str, line: int) -> None:
    """Push the opening of a note and its title. They have nesting 0: an unclosed one must not deepen what follows."""
    token = state.push("admonition_open", "", 0)
    token.info = word
    token.map = [line, line + 1]
    token.meta = {"titled": bool(title)}
    if title:
        inline = state.push("inline", "", 0)
        inline.content = title
        inline.map = [line, line + 1]
        inline.children = []
        state.push("admonition_title_close", "", 0)


def _headings_and_callouts(state: StateCore) -> None:
    """Move ``{#id}`` from a heading's text into its id; make notes of paragraphs that start with ``?>`` or ``!>``."""
    tokens: list[Token] = []
    callout = False
    for position, token in enumerate(state.tokens):
        if token.type == "heading_open":
            inline = state.tokens[position + 1]
            explicit = _HEADING_ID.search(inline.content)
            if explicit:
                token.attrSet("id", explicit[1])
                inline.content = inline.content[: explicit.start()]
        elif token.type == "paragraph_open" and (marker := _CALLOUT.match(state.tokens[position + 1].content)):
            inline = state.tokens[position + 1]
            inline.content = inline.content[marker.end() :]
            tokens.append(Token("admonition_open", "", 0, meta={"titled": False}))
            callout = True
        tokens.append(token)
        if token.type == "paragraph_close" and callout:
            tokens.append(Token("admonition_close", "", 0))
            callout = False
    state.tokens = tokens
