"""Turns one HTML page into a topic, or says why it cannot be one. No network, no files."""

from __future__ import annotations

from bbj_pipeline.records import RawDocument, Reject, Topic
from bbj_pipeline.sources.markup import MarkupError, links_of, parse_document, to_blocks
from bbj_pipeline.sources.web_crawl.page import breadcrumbs, content_root, is_docusaurus, last_updated, page_title
from bbj_pipeline.sources.web_crawl.profile import DOCUSAURUS, PLAIN

__all__ = ["parse_page"]

_LOSS = ("lost", "truncated", "read as")
"""Words of the warnings worth keeping. That HTML is not well-formed XML, or that ``svg`` is no HTML 4 tag, is no news."""


def parse_page(raw: RawDocument) -> Topic | Reject:
    """Parse one page. Rejects: ``no-text`` and the codes of the markup parser (``empty``, ``not-markup``, …)."""
    try:
        parsed = parse_document(raw.content, encoding=raw.metadata.get("charset"))
    except MarkupError as error:
        return Reject(raw.key, error.code, error.reason)
    content = content_root(parsed.root)
    blocks = to_blocks(content, DOCUSAURUS if is_docusaurus(parsed.root) else PLAIN)
    if not blocks:
        return Reject(raw.key, "no-text", "the page has no text outside its navigation")
    title = page_title(parsed.root, content)
    warnings = [text for text in parsed.warnings if any(sign in text for sign in _LOSS)]
    changed = last_updated(parsed.root) or raw.last_modified
    labels = {name: raw.metadata.get(name) for name in ("version", "locale")}
    metadata = {"last_updated": changed, "warnings": warnings, "links": links_of(content), **labels}
    trail = breadcrumbs(parsed.root)
    if trail:
        metadata["in_toc"] = True
    return Topic(
        kind="web_crawl",
        key=raw.key,
        title=title or raw.key,
        blocks=blocks,
        url=raw.url,
        section_path=tuple(name for name in trail if name != title),
        metadata={name: value for name, value in metadata.items() if value},
        raw_key=raw.key,
        raw_sha256=raw.sha256,
    )
