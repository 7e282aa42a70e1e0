"""Turns one post, as canonical JSON, into a topic, or says why it cannot be one.

No network and no files; the names of categories come from the term resources the post depends on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bbj_pipeline.records import RawDocument, Reject, Topic, clean_text
from bbj_pipeline.sources.contract import ReadResource
from bbj_pipeline.sources.http import public_address
from bbj_pipeline.sources.http.urls import url_path
from bbj_pipeline.sources.markup import MarkupError, links_of, parse_fragment, text_of, to_blocks
from bbj_pipeline.sources.wordpress.profile import PROFILE
from bbj_pipeline.sources.wordpress.shapes import gmt_as_iso, rendered, term_key
from bbj_pipeline.sources.wordpress.shortcodes import may_have_shortcodes, remove_shortcodes, repair

__all__ = ["parse_post"]

_UNNAMED = "uncategorized"
"""The slug of the category WordPress gives to posts that have none."""


def parse_post(raw: RawDocument, public_url: str | None, read: ReadResource) -> Topic | Reject:
    """Parse one post. Rejects: ``not-json``, ``not-published``, ``protected``, ``no-content``, ``empty``, ``no-text``, and the
    codes of the HTML parser."""
    try:
        post = json.loads(raw.content)
    except (ValueError, RecursionError):
        return Reject(raw.key, "not-json", "the stored document is not JSON")
    if not isinstance(post, Mapping):
        return Reject(raw.key, "not-json", "the stored document is not a JSON object")
    problem = _unusable(post)
    if problem is not None:
        return Reject(raw.key, *problem)
    try:
        html = rendered(post, "content") or ""
        root = parse_fragment(repair(html))
        if may_have_shortcodes(html):
            remove_shortcodes(root)
        blocks = to_blocks(root, PROFILE)
        title = _inline_text(rendered(post, "title") or "")
        section_path, keywords = _sections(post, raw, read)
    except MarkupError as error:
        return Reject(raw.key, error.code, error.reason)
    if not blocks:
        return Reject(raw.key, "no-text", "the post holds media only: no text could be read")
    changed = gmt_as_iso(post.get("modified_gmt")) or gmt_as_iso(post.get("date_gmt"))
    kind = post.get("type")
    metadata: dict[str, Any] = {"type": kind if isinstance(kind, str) else None, "last_updated": changed, "keywords": keywords}
    metadata["links"] = links_of(root)
    headings = (block.text for block in blocks if block.type == "heading")
    return Topic(
        kind="wordpress",
        key=raw.key,
        title=title or next(headings, "") or _slug(post).strip() or raw.key,
        blocks=blocks,
        url=_url(raw, public_url),
        section_path=section_path,
        metadata={name: value for name, value in metadata.items() if value},
        raw_key=raw.key,
        raw_sha256=raw.sha256,
    )


def _unusable(post: Mapping[str, Any]) -> tuple[str, str] | None:
    status = post.get("status")
    if isinstance(status, str) and status != "publish":
        return "not-published", f"its status is {status!r}"
    content = post.get("content")
    if True in (post.get("protected"), content.get("protected") if isinstance(content, Mapping) else None):
        return "protected", "the post needs a password: the site gives no content"
    html = rendered(post, "content")
    if html is None:
        return "no-content", "the response was trimmed: it has no content.rendered; record it without _fields"
    if not html.strip():
        return "empty", "content.rendered is empty"
    return None


def _slug(post: Mapping[str, Any]) -> str:
    slug = post.get("slug")
    return clean_text(slug) if isinstance(slug, str) else ""


def _url(raw: RawDocument, public_url: str | None) -> str | None:
    if public_url is None:
        return raw.url
    return public_address(public_url, url_path(raw.url) if raw.url else raw.key)


def _sections(post: Mapping[str, Any], raw: RawDocument, read: ReadResource) -> tuple[tuple[str, ...], list[str]]:
    """Return the path of the first category, ancestors first, and the names of all other categories and tags.

    A custom type without categories stands under its own name.
    """
    paths = [path for term in _listed(post, "categories") if (path := _term_path(term, "category", raw, read))]
    tags = [path[-1] for term in _listed(post, "tags") if (path := _term_path(term, "post_tag", raw, read))]
    kind = post.get("type")
    own = (kind,) if isinstance(kind, str) and kind not in ("post", "page") else ()
    section_path = paths[0] if paths else own
    names = dict.fromkeys([*(path[-1] for path in paths[1:]), *tags])
    return section_path, [name for name in names if name not in section_path]


def _listed(post: Mapping[str, Any], name: str) -> list[Any]:
    value = post.get(name)
    return value if isinstance(value, list) else []


def _term_path(term: Any, taxonomy: str, raw: RawDocument, read: ReadResource) -> tuple[str, ...]:
    """Return the names from the outermost ancestor to ``term``, an id or (some themes) the term itself."""
    if isinstance(term, Mapping):
        return _named(term)
    names: list[str] = []
    key = term_key(taxonomy, term)
    seen: set[str] = set()
    while key in raw.dependencies and key not in seen:
        seen.add(key)
        try:
            record = json.loads(read(key))
        except (KeyError, ValueError, RecursionError):  # refused at the export: a term without a name
            break
        if not isinstance(record, Mapping):
            break
        names[:0] = _named(record)
        key = term_key(taxonomy, record.get("parent"))
    return tuple(names)


def _named(term: Mapping[str, Any]) -> tuple[str, ...]:
    name = term.get("name")
    if not isinstance(name, str) or term.get("slug") == _UNNAMED:
        return ()
    return (_inline_text(name),)


def _inline_text(html: str) -> str:
    """Return the text of a title or name, which WordPress gives as HTML."""
    return text_of(parse_fragment(html)) if "<" in html or "&" in html else " ".join(clean_text(html).split())
