"""What is peculiar to HTML of WordPress posts: chrome of plug-ins inside the content, and the shapes of code blocks.

Read by the shared walker. Class names are those the core editor and the plug-ins write.
"""

from __future__ import annotations

import re

from lxml import etree

from bbj_pipeline.sources.markup import Code, MarkupProfile, code_text, language_of, text_of

__all__ = ["PROFILE"]

_TABLES_OF_CONTENTS = """
    ez-toc-container lwptoc toc_container wp-block-table-of-contents wp-block-yoast-seo-table-of-contents
    wp-block-rank-math-toc-block wp-block-simpletoc-toc simpletoc aioseo-toc-menu kb-table-of-content-nav uagb-toc__wrap
"""
_SHARING = """
    sharedaddy sd-sharing-enabled jp-relatedposts jetpack-likes-widget-wrapper addtoany_share_save_container addtoany_content
    a2a_kit heateor_sss_sharing_container heateorSssClear essb_links ssba ssba-classic-2 simplesocialbuttons mashsb-container
    swp_social_panel social-share yarpp yarpp-related crp_related wp_rp_wrap wpulike post-ratings shareaholic-canvas
    dpsp-content-wrapper sfsi_widget et_social_inline wp-block-jetpack-sharing-buttons wp-block-social-links
    jetpack_subscription_widget wp-block-jetpack-subscriptions nc_socialPanel
"""
"""Sharing, likes, related posts, subscriptions."""
_BESIDE_CODE = "crayon-toolbar crayon-plain-wrap crayon-info code-block-pro-copy-button wp-block-file__button"
_NAVIGATION = "more-link post-page-links page-links post-navigation"
_CHROME_CLASSES = frozenset(f"{_TABLES_OF_CONTENTS} {_SHARING} {_BESIDE_CODE} {_NAVIGATION}".split())
_CHROME_IDS = frozenset(("toc_container", "ez-toc-container", "jp-post-flair", "jp-relatedposts", "rank-math-toc"))
_BRUSH = re.compile(r"\bbrush:\s*([\w+#-]+)")
_BRUSH_TITLE = re.compile(r"(?:^|;)\s*title:\s*([^;]+)")
_LANGUAGE_ATTRIBUTES = ("data-enlighter-language", "data-language", "data-lang", "lang")
_TITLE_ATTRIBUTES = ("data-enlighter-title", "data-title", "data-file", "title")
_NO_LANGUAGE = frozenset(("", "generic", "plain", "text", "none", "raw", "default", "en", "en-us"))
"""Values that say "no highlighting"; ``lang="en"`` on a ``pre`` names a human language."""


def _classes(element: etree._Element) -> frozenset[str]:
    value = element.get("class")
    return frozenset(value.split()) if value else frozenset()


def _chrome(element: etree._Element) -> bool:
    classes = element.get("class")
    return (classes is not None and not _CHROME_CLASSES.isdisjoint(classes.split())) or element.get("id") in _CHROME_IDS


def _code(element: etree._Element) -> Code | None:
    if element.tag == "pre":
        return Code(code_text(element), _language(element), _title(element))
    if element.tag != "div":
        return None
    classes = _classes(element)
    if "crayon-syntax" in classes:
        return _crayon(element)
    if "syntaxhighlighter" in classes:
        named = [name for name in element.get("class", "").split() if name != "syntaxhighlighter"]
        return Code("\n".join(_lines(element, "line")), _spoken(named[-1] if named else None))
    if "wp_syntax" in classes:
        return _wp_syntax(element)
    return None


def _language(pre: etree._Element) -> str | None:
    brush = _BRUSH.search(pre.get("class", ""))
    if brush:
        return _spoken(brush[1])
    named = language_of(pre)
    if named:
        return _spoken(named)
    for element in (pre, *pre.iterchildren("code")):
        for attribute in _LANGUAGE_ATTRIBUTES:
            value = element.get(attribute)
            if value:
                return _spoken(value)
    return None


def _spoken(language: str | None) -> str | None:
    name = (language or "").strip().lower()
    return None if name in _NO_LANGUAGE else name


def _title(pre: etree._Element) -> str | None:
    brush = _BRUSH_TITLE.search(pre.get("class", ""))
    if brush and brush[1].strip():
        return brush[1].strip()
    return next((value.strip() for name in _TITLE_ATTRIBUTES if (value := pre.get(name)) and value.strip()), None)


def _crayon(element: etree._Element) -> Code | None:
    """Crayon shows code twice, in a table of highlighted lines and in a text area to copy from; the latter is the original."""
    plain = next((node for node in element.iterdescendants("textarea") if "crayon-plain" in _classes(node)), None)
    text = code_text(plain) if plain is not None else "\n".join(_lines(element, "crayon-line"))
    labels = {
        name: text_of(node)
        for node in element.iterdescendants("span")
        for name in ("crayon-language", "crayon-title")
        if name in _classes(node)
    }
    return Code(text, _spoken(labels.get("crayon-language")), labels.get("crayon-title") or None)


def _wp_syntax(element: etree._Element) -> Code | None:
    """WP-Syntax puts line numbers into a ``pre`` of their own; the code is the last one."""
    pres = list(element.iterdescendants("pre"))
    if not pres:
        return None
    classes = pres[-1].get("class", "").split()
    return Code(code_text(pres[-1]), _spoken(classes[0] if classes else None))


def _lines(element: etree._Element, name: str) -> list[str]:
    """Return the texts of the elements that hold one line each; a line of one blank is an empty line."""
    lines = ("".join(map(str, node.itertext())) for node in element.iterdescendants("div") if name in _classes(node))
    return [line.replace("\u00a0", " ").rstrip() for line in lines]


PROFILE = MarkupProfile(
    chrome=_chrome,
    code=_code,
    drop=frozenset(("button", "form", "input", "noscript", "select", "textarea", "xml")),
)
