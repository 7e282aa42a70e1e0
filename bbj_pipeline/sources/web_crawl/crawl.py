"""Reads a live site by its sitemaps and links, within its robots.txt and the bounds of the instance.

404 and 410 mean that a page is gone; a page that did not come this time is ``Unfetched`` and nothing is known of it. Bodies
wait on disk until the listing is complete. Parsing to blocks is not done here.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from bbj_pipeline.errors import SourceUnavailable
from bbj_pipeline.records import RawDocument, Reject, Unfetched
from bbj_pipeline.sources.http import USER_AGENT, Gone, HttpClient, Refused, Reply
from bbj_pipeline.sources.http.spool import Spool
from bbj_pipeline.sources.http.urls import url_path
from bbj_pipeline.sources.markup import MarkupError, parse_document, text_of
from bbj_pipeline.sources.web_crawl.addresses import Scope, is_page_address, is_utility_page, joined
from bbj_pipeline.sources.web_crawl.page import canonical_url, content_root, links
from bbj_pipeline.sources.web_crawl.robots import Robots, parse_robots
from bbj_pipeline.sources.web_crawl.sitemap import parse_sitemap

__all__ = ["Bounds", "Crawl"]

_AGENT = USER_AGENT.partition("/")[0]
_PAGE_TYPES = frozenset(("text/html", "application/xhtml+xml", ""))
_ACCEPT = "text/html,application/xhtml+xml"
_CHARSET = re.compile(r"charset\s*=\s*\"?([\w.:-]+)", re.I)
_MAX_SITEMAPS = 200
_MAX_QUEUED = 500_000
_SITE_IS_DOWN = 5
"""So many pages in a row without an answer, each after all its attempts, are a site that is down, not bad pages."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far a crawl goes: pages, links from the start or a sitemap, bytes of one page."""

    pages: int
    depth: int
    page_bytes: int


@dataclass(frozen=True, slots=True)
class _Page:
    """A page that came: where its bytes wait, what it calls itself, and a hash of its content's text."""

    url: str
    ticket: tuple[int, int]
    charset: str | None
    canonical: str | None
    text_hash: str


@dataclass
class Crawl:
    """One crawl from ``scope.start``; use ``records`` once."""

    client: HttpClient
    scope: Scope
    bounds: Bounds
    spool: Spool
    _queue: deque[tuple[str, str, int]] = field(default_factory=deque)
    _queued: set[str] = field(default_factory=set)
    _listed: dict[str, str | None] = field(default_factory=dict)
    _pages: dict[str, _Page] = field(default_factory=dict)
    _others: dict[str, Reject | Unfetched] = field(default_factory=dict)
    _failures: int = 0

    def records(self) -> Iterator[RawDocument | Reject | Unfetched]:
        """Read the site, then yield its pages sorted by key.

        Raises ``SourceUnavailable`` when the start page or robots.txt does not come, or the site stops answering.
        """
        robots = self._robots()
        if not self.client.routes:  # a replay asks nobody's server
            self.client.delay = max(self.client.delay, robots.delay)
        self._enqueue(self.scope.start, 0, robots)
        self._read_sitemaps(robots)
        while self._queue:
            key, url, depth = self._queue.popleft()
            if len(self._pages) >= self.bounds.pages:
                reason = f"the crawl stops after {self.bounds.pages} pages; raise max_pages"
                self._others[key] = Unfetched(key, reason)
                continue
            self._visit(key, url, depth, robots)
        if not self._pages:
            raise SourceUnavailable(f"no page of {self.scope.start} could be read", remedy="check robots.txt and the URL")
        kept = {key: page for key, page in self._pages.items() if not self._is_copy(key, page)}
        for key in sorted(kept.keys() | (self._others.keys() - self._pages.keys())):
            yield self._raw(key, kept[key]) if key in kept else self._others[key]

    # -- what may and should be read --------------------------------------------------------------------------------------

    def _robots(self) -> Robots:
        """Read robots.txt (RFC 9309): none means everything is allowed, a server that fails means nothing may be read now."""
        url = joined(self.scope.start, "/robots.txt") or ""
        try:
            return parse_robots(self.client.get(url, max_bytes=5_000_000).content, _AGENT)
        except (Gone, Refused):
            return Robots()

    def _read_sitemaps(self, robots: Robots) -> None:
        """Queue every page of the site's sitemaps; a broken one is reported and the links remain."""
        base = self.scope.start if self.scope.start.endswith("/") else self.scope.start + "/"
        pending = deque(robots.sitemaps or [joined(base, "sitemap.xml") or ""])
        seen: set[str] = set()
        while pending and len(seen) < _MAX_SITEMAPS:
            url = joined(self.scope.start, pending.popleft())
            if url is None or url in seen:
                continue
            seen.add(url)
            try:
                found = parse_sitemap(self.client.get(url, accept="application/xml,text/xml,*/*").content)
            except Gone:
                continue
            except (Refused, ValueError) as error:
                key = url_path(url)
                self._others[key] = Unfetched(key, f"the sitemap cannot be used: {error}")
                continue
            pending.extend(found.sitemaps)
            for page, changed in found.pages:
                listed = self._enqueue(page, 0, robots, listed=True)
                if listed is not None:
                    self._listed.setdefault(listed, changed)

    def _enqueue(self, url: str, depth: int, robots: Robots, *, listed: bool = False) -> str | None:
        """Queue a page that belongs to the crawl and return its key."""
        target = joined(self.scope.start, url)
        key = self.scope.key(target) if target is not None else None
        if target is None or key is None or not is_page_address(target):
            return None
        if key in self._queued or len(self._queued) >= _MAX_QUEUED:
            return key if key in self._queued else None
        if not robots.allows(_request_path(target)):
            if listed:
                self._others[key] = Reject(key, "robots-disallowed", "in the sitemap, but robots.txt forbids it")
            return None
        self._queued.add(key)
        if len(self._queued) == _MAX_QUEUED:
            self._others[key] = Unfetched(key, f"the site has more than {_MAX_QUEUED:,} addresses; no further one is followed")
            return key
        if depth > self.bounds.depth:
            reason = f"more than {self.bounds.depth} links away from the start; raise max_depth"
            self._others[key] = Unfetched(key, reason)
            return key
        self._queue.append((key, target.partition("?")[0], depth))
        return key

    # -- one page ---------------------------------------------------------------------------------------------------------

    def _visit(self, key: str, url: str, depth: int, robots: Robots) -> None:
        try:
            reply = self.client.get(url, accept=_ACCEPT, max_bytes=self.bounds.page_bytes)
        except Gone:
            if depth == 0 and url == self.scope.start:
                raise SourceUnavailable(f"there is no page at {url}", remedy='check "url" in sources.yaml') from None
            return
        except Refused as error:
            self._refused(key, url, error)
            return
        except SourceUnavailable as error:
            self._failures += 1
            if url == self.scope.start or self._failures >= _SITE_IS_DOWN:
                raise
            self._others[key] = Unfetched(key, error.what)
            return
        self._failures = 0
        self._accept(key, reply, depth, robots)

    def _refused(self, key: str, url: str, error: Refused) -> None:
        if url == self.scope.start:
            raise SourceUnavailable(error.reason, remedy='check "url" and "allowed_hosts" in sources.yaml') from None
        if error.code.startswith("http-"):  # 401, 403 and the like: guards and limits come and go
            self._others[key] = Unfetched(key, error.reason)
        elif error.code != "host-not-allowed" or key in self._listed:
            self._others[key] = Reject(key, error.code, error.reason)

    def _accept(self, key: str, reply: Reply, depth: int, robots: Robots) -> None:
        final = self.scope.key(reply.url)
        if final is None:
            if key == self.scope.key(self.scope.start):
                raise SourceUnavailable(f"{self.scope.start} moved to {reply.url}", remedy='correct "url" in sources.yaml')
            return  # moved out of the crawl, on an allowed host
        if final != key:
            self._queued.add(final)
        if final in self._pages:
            return
        if reply.media_type not in _PAGE_TYPES:
            self._others[final] = Reject(final, "not-html", f"the server calls it {reply.media_type}")
            return
        charset = _CHARSET.search(reply.headers.get("content-type", ""))
        encoding = charset[1] if charset else None
        canonical, text_hash = None, ""
        try:
            root = parse_document(reply.content, encoding=encoding).root
        except MarkupError:
            pass  # the parser will say so; there is nothing to follow
        else:
            canonical = canonical_url(root, reply.url)
            text_hash = hashlib.sha256(text_of(content_root(root)).encode()).hexdigest()
            for target in (*([canonical] if canonical else []), *links(root, reply.url)):
                self._enqueue(target, depth + 1, robots)
        self._pages[final] = _Page(reply.url, self.spool.put(reply.content), encoding, canonical, text_hash)

    # -- what is handed on ------------------------------------------------------------------------------------------------

    def _is_copy(self, key: str, page: _Page) -> bool:
        """Say whether another page is this one's canonical form, and really says the same."""
        own = self.scope.key(page.canonical) if page.canonical else None
        original = self._pages.get(own) if own is not None and own != key else None
        return original is not None and original.text_hash == page.text_hash

    def _raw(self, key: str, page: _Page) -> RawDocument:
        url = page.canonical if page.canonical and self.scope.key(page.canonical) == key else page.url
        return RawDocument(
            key,
            self.spool.get(page.ticket),
            "text/html",
            "resource" if is_utility_page(self.scope.inside(key)) else "document",
            url=url,
            last_modified=self._listed.get(key),
            metadata={"charset": page.charset} if page.charset else {},
        )


def _request_path(url: str) -> str:
    """Return path and query as robots.txt rules are matched against."""
    return "/" + url.partition("//")[2].partition("/")[2]
