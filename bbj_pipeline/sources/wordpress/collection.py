"""Reads one collection of a WordPress REST API to its end: page after page, around objects that the site cannot give.

The end of a collection is what the site answers, never what a header says: proxies drop headers. A page that always fails is
read in smaller and smaller ones until the object that breaks it stands alone. What the objects are is not known here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from bbj_pipeline.errors import SourceUnavailable
from bbj_pipeline.sources.http import Gone, HttpClient, Refused, Reply, SiteFault

__all__ = ["Api", "Collection", "CollectionRefused", "read_collection"]

_SIZES = (100, 50, 25, 5, 1)
"""Objects a page: the most WordPress gives (WP_REST_Controller::get_collection_params), then parts that divide it evenly."""
_MAX_PAGES = 10_000
_PASSES = 3
_PAST_THE_END = "rest_post_invalid_page_number"
_ONE_OBJECT = frozenset({500, 502, 504, None})
"""Answers one broken or heavy object may cause; 429 and 503 are the whole site's."""
_SITE_IS_DOWN = 5
"""So many single objects in a row that do not come are a site that is down, not bad objects."""
_PART_ATTEMPTS = 2
"""Parts of a page that failed after all attempts are tried no more often than this."""


class CollectionRefused(SourceUnavailable):
    """The site does not give this collection, or not with this query."""


@dataclass(frozen=True, slots=True)
class Api:
    """Builds addresses of one site: below ``/wp-json``, or with ``?rest_route=`` where permalinks are plain."""

    client: HttpClient
    site: str
    plain: bool = False

    def get(self, name: str, *, is_part: bool = False, **query: int | str) -> Reply:
        """Ask for a collection; 400 and the answers of a closed collection come back as replies, not as errors."""
        attempts = min(_PART_ATTEMPTS, self.client.limits.attempts) if is_part else None
        if self.plain:
            url = f"{self.site}/?{urlencode({'rest_route': f'/wp/v2/{name}', **query}, safe='/')}"
        else:
            url = f"{self.site}/wp-json/wp/v2/{name}" + (f"?{urlencode(query, safe=',:')}" if query else "")
        return self.client.get(url, accept="application/json", statuses=(400, 401, 403), attempts=attempts)


@dataclass
class Collection:
    """What came of a collection: objects by id, those without one by their place, and what did not come.

    ``items`` may be kept on disk: only ids are looked at here, and an object is put in as soon as its page came.
    ``lost`` are ids of objects the site fails to give; ``lost_places`` their places (from 1, by id) where it does not even
    say the id. ``missing`` says how far the objects fall short of the site's own count, if they do.
    """

    items: MutableMapping[int, Mapping[str, Any]] = field(default_factory=dict)
    strangers: dict[str, Any] = field(default_factory=dict)
    lost: set[int] = field(default_factory=set)
    lost_places: set[int] = field(default_factory=set)
    missing: str | None = None


def read_collection(
    api: Api, base: str, items: MutableMapping[int, Mapping[str, Any]] | None = None, **query: str
) -> Collection:
    """Read a collection into ``items`` until as many different objects came as the site counts, in a few passes at most.

    An object deleted between two pages moves its followers one place forward and hides one of them: hence the passes.
    Raises ``Gone`` when there is no such collection, ``CollectionRefused`` when the site answers the query with an error of
    its own, and ``SourceUnavailable`` when the end cannot be reached.
    """
    found = Collection() if items is None else Collection(items)
    for _ in range(_PASSES):
        pages = _Pages(api, base, query)
        for number, page in enumerate(pages, start=1):
            for position, item in enumerate(page):
                _file(item, f"{number}.{position}", found)
        came = len(found.items) + len(found.strangers) + len(pages.lost)
        found.missing = f"the site counts {pages.total} objects and gave {came}" if came < pages.total else None
        found.lost, found.lost_places = _identified(api, base, query, pages.lost, found)
        if found.missing is None:
            break
    return found


def _file(item: Any, place: str, found: Collection) -> None:
    identity = item.get("id") if isinstance(item, Mapping) else None
    if not isinstance(identity, int):
        found.strangers[place] = item
        return
    try:
        found.items[identity] = item
    except RecursionError:  # too deep to be written down; whoever files it says so
        found.strangers[place] = item


def _identified(
    api: Api, base: str, query: Mapping[str, str], places: list[int], found: Collection
) -> tuple[set[int], set[int]]:
    """Ask for the ids alone of the objects at ``places``: what breaks an object is its content."""
    ids: set[int] = set()
    unknown: set[int] = set()
    for place in places:
        try:
            reply = api.get(base, is_part=True, **_query(place, 1, {**query, "_fields": "id"}))
            body = reply.json() if reply.status == 200 else None
        except (SourceUnavailable, Refused, Gone, ValueError, RecursionError):
            body = None
        identity = body[0].get("id") if isinstance(body, list) and body and isinstance(body[0], Mapping) else None
        if not isinstance(identity, int) or identity in found.items:  # the places moved meanwhile
            unknown.add(place)
        else:
            ids.add(identity)
    return ids, unknown


def _query(page: int, size: int, query: Mapping[str, str]) -> dict[str, int | str]:
    return {"per_page": size, "page": page, "orderby": "id", "order": "asc", **query}


@dataclass
class _Pages:
    """The pages of one pass; ``total`` is the site's own count (0: it does not say), ``lost`` places that did not come.

    ``_number`` is the page read last, in the size of ``_level``.
    """

    api: Api
    base: str
    query: Mapping[str, str]
    total: int = 0
    lost: list[int] = field(default_factory=list)
    _level: int = 0
    _number: int = 0
    _failures: int = 0
    _ended: bool = False

    def __iter__(self) -> Iterator[list[Any]]:
        """Yield pages until the site answers that there is no further one, or one has nothing new."""
        seen: set[str] = set()
        full = True
        for _ in range(_MAX_PAGES):
            known, size = len(self.lost), _SIZES[self._level]
            self._number += 1
            items = self._page(self._number, self._level, divisible=full)
            fresh = {_identity(item) for item in items} - seen
            if not fresh and len(self.lost) == known:
                if not self._ended and len(seen) == _SIZES[self._level] and items and self.total != len(seen):
                    raise SourceUnavailable(
                        f"{self.api.site} gives page 1 of {self.base} again as page {self._number}",
                        remedy="the site or a cache ignores the page number; record a dump and read it with path",
                    )
                return
            seen |= fresh
            full = full and len(items) + len(self.lost) - known == size
            yield items
            if self._ended:
                return
        raise SourceUnavailable(
            f"{self.base} at {self.api.site} does not end after {_MAX_PAGES} pages", remedy="check the site"
        )

    def _page(self, number: int, level: int, *, divisible: bool = True) -> list[Any]:
        """Return the objects of one page; of one that fails, the objects of its parts.

        A page is divided only while all before it were full: where a site gives less than it was asked for, the places of
        the parts are not known.
        """
        size = _SIZES[level]
        try:
            reply = self.api.get(self.base, is_part=level > self._level, **_query(number, size, self.query))
        except Refused as error:
            raise SourceUnavailable(f"{self.base}: {error.reason}", remedy="check the URL and the access of the site") from None
        except SiteFault as fault:
            if fault.status not in _ONE_OBJECT or fault.retry_after is not None or not divisible:
                raise
            if size > 1:
                return self._parts(number, level + 1)
            self._failures += 1
            if self._failures >= _SITE_IS_DOWN:
                raise
            self.lost.append(number)
            return []
        self._failures = 0
        return self._items(reply, number, level)

    def _parts(self, number: int, level: int) -> list[Any]:
        """Return the objects of a page by its parts. If all of them come, no object is broken: the pages were too large."""
        ratio = _SIZES[level - 1] // _SIZES[level]
        items: list[Any] = []
        lost = len(self.lost)
        for part in range((number - 1) * ratio + 1, number * ratio + 1):
            known = len(self.lost)
            found = self._page(part, level)
            items += found
            self._ended = self._ended or not (found or len(self.lost) > known)
            if self._ended:
                return items
        if len(self.lost) == lost and level == self._level + 1:
            self._level, self._number = level, number * ratio
        return items

    def _items(self, reply: Reply, number: int, level: int) -> list[Any]:
        body = _decoded(reply, self.base)
        stated = reply.headers.get("x-wp-total", "")
        if stated.isdecimal():
            self.total = int(stated)
        if reply.status == 200 and isinstance(body, list):
            return body
        code = body.get("code") if isinstance(body, Mapping) else type(body).__name__
        if reply.status == 400 and code == _PAST_THE_END:
            self._ended = True
            return []
        if number == 1 and level == self._level < len(_SIZES) - 1 and _names_per_page(body):
            self._level += 1  # the site allows fewer objects a page than WordPress does
            return self._page(1, self._level)
        raise CollectionRefused(
            f"page {number} of {self.base} at {self.api.site} answers {reply.status} ({code})",
            remedy="check that the collection is public, then run again",
        )


def _names_per_page(body: Any) -> bool:
    """Say whether an error of the API is about the size of a page."""
    data = body.get("data") if isinstance(body, Mapping) else None
    named = data.get("params") if isinstance(data, Mapping) else None
    return isinstance(named, Mapping) and "per_page" in named


def _decoded(reply: Reply, base: str) -> Any:
    try:
        return reply.json()
    except (ValueError, RecursionError):
        raise SourceUnavailable(
            f"{base} answers {reply.status} with {reply.media_type or 'something'} that is not JSON",
            remedy="a proxy, a login or an error page stands before the API; open the URL in a browser",
        ) from None


def _identity(item: Any) -> str:
    return str(item.get("id")) if isinstance(item, Mapping) else repr(item)
