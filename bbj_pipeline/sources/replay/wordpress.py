"""A WordPress REST API (namespace ``wp/v2``) over a list of recorded objects, as a site with pretty permalinks answers.

Covers what an indexer asks: types, taxonomies, collections with paging, ordering by id, ``modified_after`` and ``_fields``,
single objects, and the errors WordPress gives for each (https://developer.wordpress.org/rest-api/). Nothing is written and
nobody is authenticated.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from bbj_pipeline.sources.replay.server import Answer, serve

__all__ = ["REST_BASES", "Recorded", "WordPressReplay", "serve_wordpress"]

REST_BASES = {"post": "posts", "page": "pages", "attachment": "media", "category": "categories", "post_tag": "tags"}
"""The collections whose name in a URL differs from the type's or taxonomy's own name."""

_MAX_PER_PAGE = 100
_ROOT = "/wp-json/wp/v2"


class Recorded(Sequence[Mapping[str, Any]]):
    """Posts that need not be in memory, and then the terms, as one sequence; a post without a type is a post."""

    def __init__(self, posts: Mapping[str, Mapping[str, Any]], terms: Sequence[Mapping[str, Any]]) -> None:
        self._posts, self._keys, self._terms = posts, tuple(posts), terms

    def __getitem__(self, place: Any) -> Any:
        count = len(self._keys)
        return {"type": "post", **self._posts[self._keys[place]]} if place < count else self._terms[place - count]

    def __len__(self) -> int:
        return len(self._keys) + len(self._terms)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a recorded object stands, and when it changed."""

    position: int
    changed: datetime | None


@contextmanager
def serve_wordpress(objects: Sequence[Mapping[str, Any]], *, base_path: str = "/") -> Iterator[str]:
    """Serve posts, pages, custom types and terms found in ``objects`` and give the origin; the API lies below ``base_path``."""
    replay = WordPressReplay(objects, base_path="/" + base_path.strip("/") if base_path.strip("/") else "")
    with serve(replay.answer) as origin:
        yield origin


class WordPressReplay:
    """Answers request targets from recorded objects, grouped by their own ``type`` or ``taxonomy``.

    Of ``objects`` only their places are kept; each is looked up when an answer holds it.
    """

    def __init__(self, objects: Sequence[Mapping[str, Any]], *, base_path: str = "") -> None:
        self._root = base_path + _ROOT
        self._types = ["post", "page"]
        self._taxonomies = ["category", "post_tag"]
        self._objects = objects
        self._collections: dict[str, dict[int, _Place]] = {}
        for position, item in enumerate(objects):
            self._add(item, position)

    def _add(self, item: Mapping[str, Any], position: int) -> None:
        name = str(item.get("taxonomy") or item.get("type"))
        known = self._taxonomies if item.get("taxonomy") else self._types
        if name not in known:
            known.append(name)
        place = _Place(position, _moment(item.get("modified_gmt")))
        self._collections.setdefault(REST_BASES.get(name, name), {})[int(item["id"])] = place

    def answer(self, target: str) -> Answer:
        """Answer one request target."""
        parts = urlsplit(target)
        path = unquote(parts.path).rstrip("/")
        if not path.startswith(self._root + "/"):
            return _error(404, "rest_no_route", "No route was found matching the URL and request method.")
        name, _, identity = path[len(self._root) + 1 :].partition("/")
        if name == "types":
            return _json({slug: _described(slug) for slug in self._types})
        if name == "taxonomies":
            return _json({slug: _described(slug) for slug in self._taxonomies})
        known = {REST_BASES.get(slug, slug) for slug in (*self._types, *self._taxonomies)}
        if name not in known:
            return _error(404, "rest_no_route", "No route was found matching the URL and request method.")
        collection = self._collections.get(name, {})
        if identity:
            place = collection.get(int(identity)) if identity.isdecimal() else None
            invalid = _error(404, "rest_post_invalid_id", "Invalid post ID.")
            return _json(self._objects[place.position]) if place is not None else invalid
        return self._page([collection[number] for number in sorted(collection)], parse_qs(parts.query))

    def _page(self, items: list[_Place], query: Mapping[str, list[str]]) -> Answer:
        """Cut one page out of ``items`` (ascending by id); the default order is descending, as in WordPress by date."""
        per_page, page = (_whole(query.get(name, [default])[-1]) for name, default in (("per_page", "10"), ("page", "1")))
        if per_page is None or not 1 <= per_page <= _MAX_PER_PAGE or page is None or page < 1:
            return _error(400, "rest_invalid_param", "Invalid parameter(s): per_page, page")
        after = query.get("modified_after", [""])[-1]
        since = _moment(after)
        if after and since is None:
            return _error(400, "rest_invalid_param", "Invalid parameter(s): modified_after")
        if since is not None:
            items = [item for item in items if item.changed is None or item.changed > since]
        if query.get("order", ["desc"])[-1] != "asc":
            items = items[::-1]
        pages = -(-len(items) // per_page)
        if page > max(1, pages):
            message = "The page number requested is larger than the number of pages available."
            return _error(400, "rest_post_invalid_page_number", message)
        totals = {"X-WP-Total": str(len(items)), "X-WP-TotalPages": str(pages)}
        chosen = [self._objects[place.position] for place in items[(page - 1) * per_page : page * per_page]]
        names = [name.strip() for name in query.get("_fields", [""])[-1].split(",") if name.strip()]
        return _json([_trimmed(item, names) for item in chosen] if names else chosen, totals)


def _described(slug: str) -> dict[str, Any]:
    base = REST_BASES.get(slug, slug)
    return {"name": slug, "slug": slug, "rest_base": base, "rest_namespace": "wp/v2"}


def _trimmed(item: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the named fields of an object; of ``title.rendered`` the whole title is close enough."""
    wanted = {name.partition(".")[0] for name in names}
    return {name: value for name, value in item.items() if name in wanted}


def _moment(value: Any) -> datetime | None:
    """Read a date as WordPress writes it (UTC, no zone) or as ``modified_after`` takes it (ISO 8601)."""
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _whole(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 10 else None


def _json(value: Any, headers: Mapping[str, str] | None = None) -> Answer:
    content = json.dumps(value, ensure_ascii=True).encode("ascii")
    return Answer(200, content, "application/json; charset=UTF-8", headers or {})


def _error(status: int, code: str, message: str) -> Answer:
    content = json.dumps({"code": code, "message": message, "data": {"status": status}}).encode()
    return Answer(status, content, "application/json; charset=UTF-8")
