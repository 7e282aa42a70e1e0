"""What WordPress and its editors leave in the HTML of a post that is not HTML: shortcodes and remains of Microsoft Word.

Only shortcodes known by name are touched: brackets in prose (``[sic]``, ``x[1]``, ``[optional]``) are text. Code is never
touched.
"""

from __future__ import annotations

import re

from lxml import etree

__all__ = ["may_have_shortcodes", "remove_shortcodes", "repair"]

_PREFIXED = "vc|et_pb|fusion|av|su|mk|cs|nectar|fl"
"""Page builders and shortcode collections: all their shortcodes begin so, followed by ``_``."""
_NAMED = (
    "caption|wp_caption|gallery|audio|video|playlist|embed|toc|no_toc|ez-toc|lwptoc|contact-form-7|contact-form|gravityform"
    "|mc4wp_form|addtoany|jetpack_subscription_form|rev_slider|table|sharethis|social_share|wpcode|elementor-template"
    "|sourcecode|code|sibwp_form|wpforms|ninja_form|recent_posts|more|row|column|columns|button|accordion|tabs|tab|toggle"
)
_WITH_ATTRIBUTES = "table|wpcode|row|column|columns|button|accordion|tabs|tab|toggle|code|more"
"""Names that are also words of prose or code: shortcodes only with an attribute, ``[table id=1]``."""
_ATTRIBUTE = r"""\s+[\w-]+\s*=\s*(?:"[^"\]]*"|'[^'\]]*'|“[^”\]]*”|″[^″\]]*″|[^\s\]"'“″]+)"""
_OPENING = re.compile(
    rf"\[(?:(?:{_PREFIXED})_\w+|(?!(?:{_WITH_ATTRIBUTES})[\s\]/])(?:{_NAMED})|(?:{_WITH_ATTRIBUTES})(?={_ATTRIBUTE}))"
    rf"(?:{_ATTRIBUTE})*\s*/?\]"
)
_CLOSING = re.compile(rf"\[/(?:(?:{_PREFIXED})_\w+|{_NAMED})\]")
_CODE_TAGS = ("pre", "code", "samp", "kbd", "textarea")

_PRE = re.compile(r"(<pre\b.*?</pre\s*>)", re.I | re.S)
_PRE_END = re.compile(r"</pre\s*+>", re.I)
_WORD_CONDITION = r"(?:gte|gt|lt|lte|!)?\s*(?:mso|vml|support\w+)[^\]\[]*+"
_WORD_BARE = re.compile(rf"<!\[(?:if\s+{_WORD_CONDITION}|endif)\]>", re.I)
_DASHES = r"(?:--|&#8211;|–)"
_WORD_ESCAPED = re.compile(rf"&lt;!{_DASHES}\s*\[if\s+{_WORD_CONDITION}\]&gt;.*?&lt;!\[endif\]{_DASHES}&gt;", re.I | re.S)
_WORD_END = re.compile(rf"&lt;!\[endif\]{_DASHES}&gt;", re.I)
_CODE_SHORTCODE = re.compile(
    r"""\[(?P<name>code|sourcecode)(?:\s+(?:lang(?:uage)?)\s*=\s*["'“”″]?(?P<lang>[\w+#-]+)["'“”″]?)?(?:\s[^\]]*)?\]"""
    r"(?P<body>(?:(?!\[(?:code|sourcecode)\b).)+?)\[/(?P=name)\]",
    re.S,
)
_LINE_END = re.compile(r"<br\s*/?>\n?|</p>\s*<p[^>]*>", re.I)
_PARAGRAPH = re.compile(r"</?p\b[^>]*>", re.I)


def repair(html: str) -> str:
    """Remove Word's conditional comments that stopped being comments, and turn ``[code]…[/code]`` that no plug-in rendered
    into ``pre``; what stands in ``pre`` stays as it is."""
    if "<![" not in html and "[if" not in html and "[/code]" not in html and "[/sourcecode]" not in html:
        return html
    # what comes after the last end has none: looking for it again from every beginning would take quadratic time
    last = max((end.end() for end in _PRE_END.finditer(html)), default=0)
    pieces = [*_PRE.split(html[:last]), html[last:]]
    pieces[-2:] = ["".join(pieces[-2:])]
    return "".join(piece if index % 2 else _repair_prose(piece) for index, piece in enumerate(pieces))


def _repair_prose(html: str) -> str:
    html = _WORD_BARE.sub("", html)
    last = max((end.end() for end in _WORD_END.finditer(html)), default=0)
    return _CODE_SHORTCODE.sub(_as_pre, _WORD_ESCAPED.sub("", html[:last]) + html[last:])


def _as_pre(match: re.Match[str]) -> str:
    body = _PARAGRAPH.sub("", _LINE_END.sub(lambda end: "\n\n" if end[0][1] == "/" else "\n", match["body"]))
    language = f' class="language-{match["lang"]}"' if match["lang"] else ""
    return f"<pre{language}>{body}</pre>"


def may_have_shortcodes(html: str) -> bool:
    """Say whether a shortcode can stand in ``html`` at all: most posts have no bracket, and need no walk."""
    return "[" in html or "&#91;" in html


def remove_shortcodes(root: etree._Element) -> None:
    """Remove known shortcodes from the prose below ``root``, in place; what an enclosing one encloses stays."""
    code_depth = 0
    for event, node in etree.iterwalk(root, events=("start", "end")):
        if event == "start":
            code_depth += node.tag in _CODE_TAGS
            if code_depth == 0 and node.text and "[" in node.text:
                node.text = _without(node.text)
            continue
        code_depth -= node.tag in _CODE_TAGS
        if code_depth == 0 and node.tail and "[" in node.tail and node is not root:
            node.tail = _without(node.tail)


def _without(text: str) -> str:
    return _CLOSING.sub("", _OPENING.sub("", text))
