"""Renders Docusaurus Markdown as HTML for the shared walker: what Docusaurus shows stays, what it runs or hides goes.

Code does not pass through HTML: a placeholder stands for each code block, and ``Rendered.code`` keeps it verbatim.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from typing import Any

from lxml import etree
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.tasklists import tasklists_plugin

from bbj_pipeline.sources.markup import Code, MarkupProfile, Note, text_of
from bbj_pipeline.sources.markup.elements import VOID_TAGS
from bbj_pipeline.sources.mdx.jsx import JsxTag, expression_text, tab_labels
from bbj_pipeline.sources.mdx.rules import IsMdx, install_rules

__all__ = ["MAX_NESTING", "Include", "Rendered", "render"]

MAX_NESTING = 100
"""Levels of block nesting that markdown-it may read; it leaves out what is deeper, so the caller rejects such documents."""

Include = Callable[[str, "Rendered"], str | None]
"""Gives the HTML of the partial a component name stands for, or ``None`` when the component is no partial."""

_ADMONITIONS = frozenset(["note", "tip", "info", "warning", "danger", "caution", "important", "success", "secondary"])
_NOTE = "bbj-note"
_NOTE_TITLE = "bbj-note-title"
_CODE = "data-bbj-code"
_CODE_CLASS = "bbj-code"
_TITLE = re.compile(r"""(?:^|\s)title=(?:"([^"]*)"|'([^']*)'|\{["'`]([^"'`]*)["'`]\})""")
_LANGUAGE = re.compile(r"[\w+#.-]+")
_DATA_URI = re.compile(r"(data:[\w.+-]+/[\w.+-]+(?:;[\w=.-]+)*;base64,)[A-Za-z0-9+/=]{64,}")
_NOT_SLUG = re.compile(r"[^\w\- ]")
_MAX_ADDRESS = 1_000
_SAFE_ATTRIBUTES = ("id", "colspan", "rowspan", "role")
_COMPONENT_TEXTS = ("label", "title", "summary")
"""Attributes of components that a reader sees."""
_TITLE_IS_NO_TEXT = frozenset(("Link", "Image", "Img", "ThemedImage", "IdealImage", "Video", "YouTube", "Iframe", "Head"))
"""Components that show their title only when the mouse rests on them, or never."""


@dataclass(slots=True)
class Rendered:
    """A rendering in progress and its result: the HTML and the code blocks its placeholders number."""

    front_matter: Mapping[str, Any]
    include: Include
    html: str = ""
    code: list[Code] = field(default_factory=list)
    slugs: Counter[str] = field(default_factory=Counter)
    tabs: list[dict[str, str]] = field(default_factory=list)

    @property
    def profile(self) -> MarkupProfile:
        """How the walker reads ``html``."""
        return MarkupProfile(code=self._code_of, note=_note_of, drop=frozenset((_NOTE_TITLE,)), classes=bool)

    def _code_of(self, element: etree._Element) -> Code | None:
        number = element.get(_CODE)
        known = number is not None and number.isascii() and number.isdecimal() and len(number) < 8
        return self.code[int(number)] if number is not None and known and int(number) < len(self.code) else None


def render(markdown: str, into: Rendered, *, mdx: bool) -> str:
    """Return the HTML of ``markdown`` (``\\n`` line ends) and collect its code blocks in ``into``.

    A plain ``.md`` that holds a component or an ESM statement is read as MDX too, as Docusaurus does.
    Raises ``RecursionError`` when the document nests deeper than ``MAX_NESTING``.
    """
    source = _DATA_URI.sub(r"\1", markdown)
    env: dict[str, Any] = {"rendered": into}
    try:
        tokens = _parser(mdx=mdx).parse(source, env)
    except IsMdx:
        mdx, env = True, {"rendered": into}
        tokens = _parser(mdx=True).parse(source, env)
    if any(token.level >= MAX_NESTING - 2 for token in tokens):
        raise RecursionError(f"blocks nest deeper than {MAX_NESTING} levels")
    md = _parser(mdx=mdx)
    return str(md.renderer.render(tokens, md.options, env))


class _Markdown(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 - markdown-it's name
        """Accept every link: none is followed or shown, and a refused one would show its URL as text."""
        return True


@cache
def _parser(*, mdx: bool) -> MarkdownIt:
    md = _Markdown("commonmark", {"maxNesting": MAX_NESTING}).enable(["table", "strikethrough"])
    md.use(footnote_plugin, inline=False)
    md.use(tasklists_plugin)
    install_rules(md, mdx=mdx)
    for name, rule in _RENDER_RULES.items():
        md.add_render_rule(name, rule)
    return md


def _note_of(element: etree._Element) -> Note | None:
    if element.tag != "aside" or element.get("class") != _NOTE:
        return None
    title = next(element.iterchildren(_NOTE_TITLE), None)
    return Note(text_of(title) or None if title is not None else None)


# -- render rules: the signature is markdown-it's ----------------------------------------------------------------------------


def _nothing(self: RendererHTML, tokens: Sequence[Token], i: int, options: OptionsDict, env: EnvType) -> str:
    return ""


def _image(self: RendererHTML, tokens: Sequence[Token], i: int, options: OptionsDict, env: EnvType) -> str:
    alternative = self.renderInlineAsText(tokens[i].children, options, env)
    return f'<img src="{_address(str(tokens[i].attrGet("src") or ""))}" alt="{escape(alternative)}">'


def _address(source: str) -> str:
    """Return what is to be known of an image's address; of data in its place not even that."""
    return "" if source.startswith("data:") else escape(source[:_MAX_ADDRESS])


def _fence(self: RendererHTML, tokens: Sequence[Token], i: int, options: OptionsDict, env: EnvType) -> str:
    info = tokens[i].info.strip()
    language = _LANGUAGE.match(info)
    title = _TITLE.search(info)
    text = tokens[i].content.removesuffix("\n")
    shown = next((group for group in title.groups() if group), None) if title else None
    return _placeholder(env, Code(text, language[0].lower() if language else None, shown))


def _code_block(self: RendererHTML, tokens: Sequence[Token], i: int, options: OptionsDict, env: EnvType) -> str:
    return _placeholder(env, Code(tokens[i].content.rstrip("\n")))


def _placeholder(env: EnvType, code: Code) -> str:
    kept: list[Code] = env["rendered"].code
    kept.append(code)
    return f'<pre class="{_CODE_CLASS}" {_CODE}="{len(kept) - 1}"></pre>\n'


def _heading_open(self: RendererHTML, tokens: Sequence[Token], i: int, options: OptionsDict, env: EnvType) -> str:
    token = tokens[i]
    slugs: Counter[str] = env["rendered"].slugs
    anchor = str(token.attrGet("id") or "")
    if not anchor:
        children = tokens[i + 1].children or []
        text = "".join(child.content for child in children if child.type in ("text", "code_inline"))
        slug = _NOT_SLUG.sub("", text.strip().lower()).replace(" ", "-")
        anchor = f"{slug}-{slugs[slug]}" if slugs[slug] else slug
        slugs[slug] += 1
    # Docusaurus counts the slug of a page's title but gives its h1 no id
    return f'<{token.tag} id="{escape(anchor)}">' if anchor and token.tag != "h1" else f"<{token.tag}>"


def _admonition_open(self: RendererHTML, tokens: Sequence[Token], i: int, options: OptionsDict, env: EnvType) -> str:
    token = tokens[i]
    if token.meta["titled"]:
        return f'<aside class="{_NOTE}"><{_NOTE_TITLE}>'
    return _note_start(token.info if token.info in _ADMONITIONS else "")


def _note_start(title: str) -> str:
    return f'<aside class="{_NOTE}">' + (f"<{_NOTE_TITLE}>{escape(title)}</{_NOTE_TITLE}>" if title else "")


def _admonition_title_close(self: RendererHTML, tokens: Sequence[Token], i: int, options: OptionsDict, env: EnvType) -> str:
    return f"</{_NOTE_TITLE}>"


def _admonition_close(self: RendererHTML, tokens: Sequence[Token], i: int, options: OptionsDict, env: EnvType) -> str:
    return "</aside>\n"


def _expression(self: RendererHTML, tokens: Sequence[Token], i: int, options: OptionsDict, env: EnvType) -> str:
    return escape(expression_text(tokens[i].content, env["rendered"].front_matter))


def _jsx_block(self: RendererHTML, tokens: Sequence[Token], i: int, options: OptionsDict, env: EnvType) -> str:
    return _jsx(tokens[i].meta["tag"], env["rendered"], wrapper="div")


def _jsx_inline(self: RendererHTML, tokens: Sequence[Token], i: int, options: OptionsDict, env: EnvType) -> str:
    return _jsx(tokens[i].meta["tag"], env["rendered"], wrapper="span")


def _jsx(tag: JsxTag, into: Rendered, *, wrapper: str) -> str:
    if not tag.is_component:
        return _element(tag)
    if tag.name in _COMPONENTS:
        return _COMPONENTS[tag.name](tag, into)
    if not tag.closing:
        included = into.include(tag.name, into)
        if included is not None:
            return included if tag.self_closing else f"{included}<div>"
    if tag.closing:
        return f"</{wrapper}>"
    shown = [] if tag.name in _TITLE_IS_NO_TEXT else [tag.text(name) for name in _COMPONENT_TEXTS]
    text = "".join(f"<br>{escape(label)}<br>" for label in shown if label)
    return text if tag.self_closing else f"<{wrapper}>{text}"


def _element(tag: JsxTag) -> str:
    """Write a lower-case JSX tag as HTML, with the attributes that the walker reads."""
    name = tag.name.lower()
    if tag.closing:
        return f"</{name}>"
    values = {key.lower(): tag.text(key) or tag.attributes[key].strip("{} ") for key in tag.attributes}
    attributes = "".join(f' {key}="{escape(values[key])}"' for key in _SAFE_ATTRIBUTES if values.get(key))
    if name == "img":
        attributes += f' src="{_address(values.get("src", ""))}" alt="{escape(values.get("alt", ""))}"'
    return f"<{name}{attributes}>" + (f"</{name}>" if tag.self_closing and name not in VOID_TAGS else "")


def _tabs(tag: JsxTag, into: Rendered) -> str:
    if tag.closing:
        if into.tabs:
            into.tabs.pop()
        return "</div>"
    if not tag.self_closing:
        into.tabs.append(tab_labels(tag.attributes.get("values", "")))
    return "" if tag.self_closing else "<div>"


def _tab_item(tag: JsxTag, into: Rendered) -> str:
    if tag.closing:
        return "</div>"
    value = tag.text("value")
    label = tag.text("label") or (into.tabs[-1].get(value, value) if into.tabs else value)
    return f"<div><p>{escape(label)}</p>" + ("</div>" if tag.self_closing else "")


def _admonition_component(tag: JsxTag, into: Rendered) -> str:
    if tag.closing or tag.self_closing:
        return "</aside>" if tag.closing else ""
    return _note_start(tag.text("title") or tag.text("type"))


def _code_component(tag: JsxTag, into: Rendered) -> str:
    if tag.closing or tag.self_closing:
        return "</code></pre>" if tag.closing else ""
    title = tag.text("title")
    shown = f"<p>{escape(title)}</p>" if title else ""
    return f'{shown}<pre><code class="language-{escape(tag.text("language"))}">'


def _head_component(tag: JsxTag, into: Rendered) -> str:
    return "" if tag.self_closing else ("</template>" if tag.closing else "<template>")


_COMPONENTS: dict[str, Callable[[JsxTag, Rendered], str]] = {
    "Tabs": _tabs,
    "TabItem": _tab_item,
    "Admonition": _admonition_component,
    "CodeBlock": _code_component,
    "Head": _head_component,
}

_RENDER_RULES: dict[str, Callable[[RendererHTML, Sequence[Token], int, OptionsDict, EnvType], str]] = {
    "image": _image,
    "esm": _nothing,
    "footnote_ref": _nothing,
    "footnote_anchor": _nothing,
    "fence": _fence,
    "code_block": _code_block,
    "heading_open": _heading_open,
    "admonition_open": _admonition_open,
    "admonition_title_close": _admonition_title_close,
    "admonition_close": _admonition_close,
    "expression": _expression,
    "jsx_block": _jsx_block,
    "jsx_inline": _jsx_inline,
}
