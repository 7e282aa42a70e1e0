"""Recognises what a JSON object of the WordPress REST API is, by its shape, and orders versions of one post.

Pure functions over decoded JSON. Nothing is read and nothing is fetched here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

__all__ = ["Shape", "canonical", "gmt_as_iso", "has_content", "rendered", "shape_of", "term_key", "term_record", "version_rank"]

Shape = Literal["document", "term", "media", "comment", "user", "description", "error", "unknown"]

_NOT_DOCUMENTS = frozenset(
    (
        *("revision", "nav_menu_item", "wp_block", "wp_template", "wp_template_part", "wp_navigation", "wp_global_styles"),
        *("wp_font_family", "wp_font_face", "custom_css", "customize_changeset"),
    )
)
"""Post types in which WordPress itself keeps parts of the site's appearance (wp-includes/post.php)."""


def shape_of(item: Mapping[str, Any]) -> Shape:
    """Say what ``item`` is. A document is anything published under its own link with a title: posts, pages, custom types.

    ``description`` is what the API says of itself: routes, types, taxonomies.
    """
    if "code" in item and "message" in item and "id" not in item:
        return "error"
    number, kind = item.get("id"), str(item.get("type"))
    numbered = isinstance(number, int) and not isinstance(number, bool)
    if "taxonomy" in item and "name" in item and numbered:
        return "term"
    if kind == "attachment" or "media_type" in item:
        return "media"
    if "author_name" in item or kind == "comment":
        return "comment"
    if "avatar_urls" in item and "title" not in item:
        return "user"
    if "routes" in item or "rest_base" in item or kind in _NOT_DOCUMENTS:
        return "description"
    if numbered and "title" in item and ("link" in item or "slug" in item):
        return "document"
    described = [value for value in item.values() if isinstance(value, Mapping)]
    if described and len(described) == len(item) and all("rest_base" in value for value in described):
        return "description"
    return "unknown"


def rendered(item: Mapping[str, Any], name: str) -> str | None:
    """Return the rendered HTML of a field (``{"rendered": …}`` or a bare string); ``None`` when the field is not there."""
    value = item.get(name)
    if isinstance(value, Mapping):
        value = value.get("rendered")
    return value if isinstance(value, str) else None


def has_content(item: Mapping[str, Any]) -> bool:
    """Say whether the object came with a body."""
    return bool((rendered(item, "content") or "").strip())


def version_rank(item: Mapping[str, Any]) -> tuple[bool, str, int]:
    """Order versions of one post: with content before without, then the later change, then the longer body."""
    changed = gmt_as_iso(item.get("modified_gmt")) or gmt_as_iso(item.get("date_gmt")) or ""
    return has_content(item), changed, len(rendered(item, "content") or "")


def gmt_as_iso(value: Any) -> str | None:
    """Turn a ``…_gmt`` field into ISO 8601 with ``Z``; ``None`` for the zero dates of drafts and for anything else."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value.removesuffix("Z"))
    except ValueError:
        return None
    return moment.replace(tzinfo=None, microsecond=0).isoformat() + "Z" if moment.year > 1 else None


def term_key(taxonomy: str, number: Any) -> str:
    """Return the key under which a term is a resource of its instance."""
    return f"term/{taxonomy}/{number}"


def term_record(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return what names a term. Its ``count`` is left out: it changes with every post and would make all of them changed."""
    return {name: item.get(name) for name in ("id", "taxonomy", "name", "slug", "parent")}


def canonical(value: Any) -> bytes:
    """Return JSON with sorted names and no white space; a lone surrogate stays the escape it was."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", errors="backslashreplace")
