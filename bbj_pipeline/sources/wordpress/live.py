"""Lists a WordPress site through ``/wp-json/wp/v2/…``: configured post types, all pages of each, and the terms that name
their categories.

The end of a collection is what the site answers, never what a header says: proxies drop headers. Nothing is parsed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from bbj_pipeline.errors import ConfigurationError, SourceUnavailable
from bbj_pipeline.records import Unfetched
from bbj_pipeline.sources.http import Gone, HttpClient, Refused, Reply
from bbj_pipeline.sources.replay.wordpress import REST_BASES
from bbj_pipeline.sources.wordpress.dump import Objects

__all__ = ["read_site"]

PER_PAGE = 100
"""The most WordPress gives in one page (WP_REST_Controller::get_collection_params)."""
_MAX_PAGES = 10_000
_PAST_THE_END = "rest_post_invalid_page_number"
_TAXONOMIES = ("category", "post_tag")
_PASSES = 3


@dataclass(frozen=True, slots=True)
class _Api:
    """Builds addresses of one site: below ``/wp-json``, or with ``?rest_route=`` where permalinks are plain."""

    client: HttpClient
    site: str
    plain: bool = False

    def get(self, name: str, **query: int | str) -> Reply:
        """Ask for a collection; 400 and the answers of a closed collection come back as replies, not as errors."""
        if self.plain:
            url = f"{self.site}/?{urlencode({'rest_route': f'/wp/v2/{name}', **query}, safe='/')}"
        else:
            url = f"{self.site}/wp-json/wp/v2/{name}" + (f"?{urlencode(query)}" if query else "")
        return self.client.get(url, accept="application/json", statuses=(400, 401, 403))


def read_site(client: HttpClient, site: str, types: tuple[str, ...]) -> tuple[Objects, list[Unfetched]]:
    """Read all documents of ``types`` (names or REST bases) and the terms of the site at ``site``.

    The second value names collections of which fewer objects came than the site says it has. Raises ``SourceUnavailable``
    when a listing cannot be completed and ``ConfigurationError`` for a type the site does not have.
    """
    api, known = _discover(client, site.rstrip("/").removesuffix("/wp-json"))
    objects = Objects()
    unfetched = []
    for name in types:
        base = known.get(name, REST_BASES.get(name, name))
        missing = _read_collection(api, base, name, known, objects)
        if missing:
            unfetched.append(Unfetched(f"type/{name}", missing))
    for taxonomy in _TAXONOMIES:
        _read_terms(api, REST_BASES[taxonomy], objects)
    return objects, unfetched


def _discover(client: HttpClient, site: str) -> tuple[_Api, Mapping[str, str]]:
    """Find out how the API is addressed, and the REST base of each type if the site tells."""
    for plain in (False, True):
        api = _Api(client, site, plain)
        try:
            reply = api.get("types")
        except Gone:
            continue
        except Refused as error:
            raise SourceUnavailable(error.reason, remedy="check the URL and the access of the site") from None
        if reply.status != 200:
            return api, {}  # security plug-ins close this list and leave the collections open
        try:
            described = reply.json()
        except ValueError:
            continue
        if isinstance(described, Mapping):
            entries = {slug: entry for slug, entry in described.items() if isinstance(entry, Mapping)}
            return api, {slug: str(entry.get("rest_base") or slug) for slug, entry in entries.items()}
    raise SourceUnavailable(
        f"{site} has no WordPress REST API", remedy="check the URL; the API must be reachable at /wp-json or ?rest_route="
    )


def _read_collection(api: _Api, base: str, name: str, known: Mapping[str, str], objects: Objects) -> str | None:
    """Read one collection until as many different objects came as the site counts; say what is missing otherwise.

    A document deleted between two pages moves its followers one place forward and hides one of them: hence the passes.
    """
    seen: set[Any] = set()
    total = 0
    for _ in range(_PASSES):
        total = 0
        try:
            for number, (items, counted) in enumerate(_pages(api, base), start=1):
                seen.update(item.get("id") if isinstance(item, Mapping) else None for item in items)
                for position, item in enumerate(items):
                    objects.add(item, f"type/{name}#{number}.{position}")
                total = counted or total
        except Gone:
            remedy = f'set "types" to types of this site: {", ".join(sorted(known)) or "see /wp-json/wp/v2/types"}'
            raise ConfigurationError(f"{api.site} has no collection {base!r}", remedy=remedy) from None
        if len(seen) >= total:
            return None
    return f"the site counts {total} objects and gave {len(seen)}"


def _read_terms(api: _Api, base: str, objects: Objects) -> None:
    """Read the terms of a taxonomy; a site that does not publish them loses section names, no document."""
    try:
        for number, (items, _) in enumerate(_pages(api, base, optional=True), start=1):
            for position, item in enumerate(items):
                objects.add(item, f"taxonomy/{base}#{number}.{position}")
    except Gone:
        return


def _pages(api: _Api, base: str, *, optional: bool = False) -> Iterator[tuple[list[Any], int]]:
    """Yield the pages of a collection with the total the site states (0: it does not), until one has nothing new."""
    seen: set[str] = set()
    for page in range(1, _MAX_PAGES + 1):
        reply = _ask(api, base, page)
        body = _decoded(reply, base)
        total = reply.headers.get("x-wp-total", "")
        counted = int(total) if total.isdecimal() else 0
        if reply.status == 400 and isinstance(body, Mapping) and body.get("code") == _PAST_THE_END:
            return
        if reply.status != 200 or not isinstance(body, list):
            if optional and reply.status in (400, 401, 403):
                return
            code = body.get("code") if isinstance(body, Mapping) else type(body).__name__
            raise SourceUnavailable(
                f"page {page} of {base} at {api.site} answers {reply.status} ({code})",
                remedy="check that the collection is public, then run again",
            )
        fresh = {_identity(item) for item in body} - seen
        if not fresh:
            if len(seen) == PER_PAGE and body and counted != len(seen):
                raise SourceUnavailable(
                    f"{api.site} gives page 1 of {base} again as page {page}",
                    remedy="the site or a cache ignores the page number; record a dump and read it with path",
                )
            return
        seen |= fresh
        yield body, counted
    raise SourceUnavailable(f"{base} at {api.site} does not end after {_MAX_PAGES} pages", remedy="check the site")


def _ask(api: _Api, base: str, page: int) -> Reply:
    try:
        return api.get(base, per_page=PER_PAGE, page=page, orderby="id", order="asc")
    except Refused as error:
        raise SourceUnavailable(f"{base}: {error.reason}", remedy="check the URL and the access of the site") from None


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
