"""What a page of a site says about itself and where it leads: canonical URL, links, the element that holds its content.

Works on a parsed tree. Blocks are made in ``parse``, requests in ``crawl``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree

from bbj_pipeline.sources.markup import text_of
from bbj_pipeline.sources.web_crawl.addresses import joined
from bbj_pipeline.sources.web_crawl.sitemap import iso_utc

__all__ = [
    "breadcrumbs",
    "canonical_url",
    "class_starts",
    "content_root",
    "is_docusaurus",
    "last_updated",
    "links",
    "page_title",
]

_SITE_SUFFIX = re.compile(r"\s+[|\u2013\u2014\u00b7]\s+[^|\u2013\u2014\u00b7]*$")


def class_starts(element: etree._Element, *prefixes: str) -> bool:
    """Say whether a class begins with one of ``prefixes``: CSS modules add a hash, ``codeBlockTitle_OeMC``."""
    value = element.get("class")
    return value is not None and any(name.startswith(prefixes) for name in value.split())


def canonical_url(root: etree._Element, url: str | None = None) -> str | None:
    """Return the page's canonical URL (``link rel=canonical``), resolved against ``url``."""
    for link in root.iter("link"):
        if "canonical" in (link.get("rel") or "").lower().split() and link.get("href"):
            return joined(url or "", link.get("href", ""))
    return None


def links(root: etree._Element, url: str) -> Iterator[str]:
    """Yield the absolute URLs of all links of the page at ``url``, in document order; ``base href`` is honoured."""
    base = next((node.get("href") for node in root.iter("base") if node.get("href")), None)
    origin = joined(url, base) if base else url
    for node in root.iter("a", "area"):
        href = node.get("href")
        target = joined(origin or url, href) if href else None
        if target is not None:
            yield target


def is_docusaurus(root: etree._Element) -> bool:
    """Say whether Docusaurus made the page."""
    generators = (meta.get("content", "") for meta in root.iter("meta") if (meta.get("name") or "").lower() == "generator")
    return any(value.startswith("Docusaurus") for value in generators) or root.find(".//div[@id='__docusaurus']") is not None


def content_root(root: etree._Element) -> etree._Element:
    """Return the element that holds the page's content: of a documentation page its ``article``, of another Docusaurus page
    the main wrapper with its hero header; elsewhere ``main``, a single ``article``, or ``body``."""
    articles = list(root.iter("article"))
    if is_docusaurus(root):
        documents = [node for node in articles if any(class_starts(child, "theme-doc-markdown") for child in node.iter("div"))]
        if len(documents) == 1:
            return documents[0]
        wrapper = next((node for node in root.iter("div") if class_starts(node, "theme-layout-main", "main-wrapper")), None)
        if wrapper is not None:
            return wrapper
    main = next((node for node in root.iter(etree.Element) if node.tag == "main" or node.get("role") == "main"), None)
    if main is not None:
        return main
    if len(articles) == 1:
        return articles[0]
    body = root.find(".//body")
    return root if body is None else body


def page_title(root: etree._Element, content: etree._Element) -> str:
    """Return the first ``h1`` of the content; without one the page's title without the site's name."""
    for heading in content.iter("h1"):
        text = text_of(heading)
        if text:
            return text
    title = next((text_of(node) for node in root.iter("title") if text_of(node)), "")
    return _SITE_SUFFIX.sub("", title) or title


def breadcrumbs(root: etree._Element) -> tuple[str, ...]:
    """Return the names above the page from its breadcrumb trail; the home icon has no text, the last entry is the page."""
    for nav in root.iter("nav", "ol", "ul"):
        label = (nav.get("aria-label") or "").lower()
        if label.startswith("breadcrumb") or class_starts(nav, "theme-doc-breadcrumbs", "breadcrumb"):
            names = [text_of(item) for item in nav.iter("li")]
            return tuple(name for name in names[:-1] if name)
    return ()


def last_updated(root: etree._Element) -> str | None:
    """Return when the page says it was changed: ``article:modified_time``, or the time in Docusaurus' last-updated line."""
    for meta in root.iter("meta"):
        if meta.get("property") == "article:modified_time":
            return iso_utc(meta.get("content"))
    for time in root.iter("time"):
        if any(class_starts(parent, "theme-last-updated") for parent in time.iterancestors()):
            return iso_utc((time.get("datetime") or "").replace("Z", "+00:00"))
    return None
