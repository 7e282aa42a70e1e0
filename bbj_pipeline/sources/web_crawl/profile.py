"""What the walker must know of HTML sites: the markup of Docusaurus, and what is chrome on any other page."""

from __future__ import annotations

from functools import lru_cache

from lxml import etree

from bbj_pipeline.sources.markup import Code, MarkupProfile, Note, code_text, language_of, text_of
from bbj_pipeline.sources.web_crawl.page import class_starts

__all__ = ["DOCUSAURUS", "PLAIN"]

_CONTROLS = frozenset(("button", "form", "input", "noscript", "select", "textarea"))
_DOCUSAURUS_CHROME = (
    "theme-doc-breadcrumbs", "theme-doc-toc", "theme-doc-footer", "theme-doc-version-b", "theme-edit-this-page",
    "theme-last-updated", "theme-back-to-top", "table-of-contents", "tableOfContents", "tocCollapsible", "pagination-nav",
    "docs-prevnext", "theme-doc-sidebar", "hash-link", "codeBlockTitle", "admonitionHeading", "admonition-heading",
    "buttonGroup", "theme-layout-footer", "skipToContent", "theme-unlisted-banner", "theme-draft-banner",
)  # fmt: skip
_NOTE_CLASSES = ("admonition", "theme-admonition")
_CALLOUTS = ("admonition", "alert", "callout", "note", "tip", "warning", "caution", "important", "starlight-aside")
_TITLE_CLASSES = ("admonitionHeading", "admonition-heading", "admonition-title", "callout-title", "starlight-aside__title")


@lru_cache(4096)
def _docusaurus_knows(classes: str) -> bool:
    return any(name.startswith((*_DOCUSAURUS_CHROME, *_NOTE_CLASSES, "prism-code")) for name in classes.split())


def _docusaurus_chrome(element: etree._Element) -> bool:
    return class_starts(element, *_DOCUSAURUS_CHROME)


def _docusaurus_code(element: etree._Element) -> Code | None:
    if element.tag != "pre":
        return None
    return Code(code_text(element), language_of(element), _code_title(element))


def _code_title(pre: etree._Element) -> str | None:
    """Return the title of the container the ``pre`` stands in; it is an element beside the code."""
    for container in pre.iterancestors("div"):
        if class_starts(container, "codeBlockContainer", "theme-code-block"):
            titles = (text_of(node) for node in container.iter("div") if class_starts(node, "codeBlockTitle"))
            return next((title for title in titles if title), None)
    return None


def _docusaurus_note(element: etree._Element) -> Note | None:
    if element.tag not in ("div", "aside") or not class_starts(element, *_NOTE_CLASSES):
        return None
    if class_starts(element, *_TITLE_CLASSES, "admonitionContent", "admonition-content", "admonitionIcon", "admonition-icon"):
        return None
    return Note(_note_title(element))


def _note_title(element: etree._Element) -> str | None:
    titles = (text_of(node) for node in element.iterdescendants(etree.Element) if class_starts(node, *_TITLE_CLASSES))
    return next((title for title in titles if title), None)


def _plain_chrome(element: etree._Element) -> bool:
    """Navigation, page header and footer, and side notes that are not call-outs; the header of an article holds its title."""
    tag = element.tag
    if tag in ("nav", "footer") or element.get("role") in ("navigation", "banner", "contentinfo", "search"):
        return True
    if tag == "header":
        return not any(parent.tag in ("article", "main") or parent.get("role") == "main" for parent in element.iterancestors())
    if tag == "aside":
        return not class_starts(element, *_CALLOUTS)
    return class_starts(element, *_TITLE_CLASSES, "breadcrumb", "headerlink", "skip-link")


def _plain_note(element: etree._Element) -> Note | None:
    is_callout = element.tag == "aside" or (element.tag == "div" and class_starts(element, "admonition", "callout"))
    if not is_callout or class_starts(element, "admonition-", "callout-"):
        return None
    return Note(_note_title(element))


DOCUSAURUS = MarkupProfile(
    chrome=_docusaurus_chrome,
    code=_docusaurus_code,
    note=_docusaurus_note,
    drop=_CONTROLS | {"nav"},
    classes=_docusaurus_knows,
)
"""Documentation and other pages built by Docusaurus 2 and 3."""

PLAIN = MarkupProfile(chrome=_plain_chrome, note=_plain_note, drop=_CONTROLS)
"""Any other HTML page."""
