"""What a crawl may and should read: its queue, fed by sitemaps and links, within each host's robots.txt and the bounds.

robots.txt and sitemaps are read here, pages are not. The order of the queue depends on the site alone.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from bbj_pipeline.errors import SourceUnavailable
from bbj_pipeline.records import Reject, Unfetched
from bbj_pipeline.sources.contract import EarlierExport
from bbj_pipeline.sources.http import USER_AGENT, Gone, HttpClient, Refused, origin_of
from bbj_pipeline.sources.http.spool import Spool
from bbj_pipeline.sources.http.urls import url_path
from bbj_pipeline.sources.web_crawl.addresses import Scope, is_page_address, joined
from bbj_pipeline.sources.web_crawl.asking import ask
from bbj_pipeline.sources.web_crawl.choice import Choice
from bbj_pipeline.sources.web_crawl.robots import NOTHING_ALLOWED, Robots, parse_robots
from bbj_pipeline.sources.web_crawl.sitemap import parse_sitemap

__all__ = ["Frontier", "Listing", "Place"]

log = logging.getLogger(__name__)

_AGENT = USER_AGENT.partition("/")[0]
_MAX_SITEMAPS = 200
_MAX_QUEUED = 500_000
_MAX_ROBOTS_BYTES = 5_000_000


@dataclass(frozen=True, slots=True)
class Place:
    """A page to be read: its key, its URL, and how many links it is away from the start or a sitemap."""

    key: str
    url: str
    depth: int


@dataclass(frozen=True, slots=True)
class Listing:
    """A robots.txt or a sitemap that the site can be asked about again: where its bytes wait, and its validators."""

    ticket: tuple[int, int]
    media_type: str
    validators: Mapping[str, str]


@dataclass
class Frontier:
    """The places of one crawl, each once; ``problems`` are those that will not be read, ``listed`` the sitemaps' dates.

    ``listings`` are the files that were read here, by URL: no page has a key of that form.
    """

    client: HttpClient
    scope: Scope
    choice: Choice
    max_depth: int
    spool: Spool
    earlier: EarlierExport
    problems: dict[str, Reject | Unfetched] = field(default_factory=dict)
    listed: dict[str, str | None] = field(default_factory=dict)
    listings: dict[str, Listing] = field(default_factory=dict)
    _queue: deque[Place] = field(default_factory=deque)
    _known: set[str] = field(default_factory=set)
    _robots: dict[str, Robots] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._queue)

    def open(self) -> None:
        """Queue the start page and every page of the sitemaps.

        Raises ``SourceUnavailable`` when robots.txt of the start host or a sitemap does not come.
        """
        self._read_robots(self.scope.start)
        self.add(self.scope.start, 0)
        self._read_sitemaps()

    def take(self) -> Place:
        """Remove and return the next place."""
        return self._queue.popleft()

    def moved(self, key: str) -> None:
        """Remember that a redirect led to ``key``: it need not be read again."""
        self._known.add(key)

    def wants(self, key: str) -> bool:
        """Say whether a page may be read as far as ``exclude`` goes, by its path from the start and from the host's root."""
        inside = self.scope.inside(key)
        return self.choice.reads(inside) and self.choice.reads(inside if key.startswith("//") else key)

    def add(self, url: str, depth: int, *, listed: bool = False) -> str | None:
        """Queue a page that belongs to the crawl and return its key; ``None`` when it does not."""
        target = joined(self.scope.start, url)
        key = self.scope.key(target) if target is not None else None
        if target is None or key is None or not is_page_address(target) or not self.wants(key):
            return None
        if key in self._known or len(self._known) >= _MAX_QUEUED:
            return key if key in self._known else None
        if not self._robots_of(target).allows(_request_path(target)):
            if listed:
                self.problems[key] = Reject(key, "robots-disallowed", "in the sitemap, but robots.txt forbids it")
            return None
        self._known.add(key)
        if len(self._known) == _MAX_QUEUED:
            reason = f"the site has more than {_MAX_QUEUED:,} addresses; no further one is followed"
            self.problems[key] = Unfetched(key, reason)
        elif depth > self.max_depth:
            self.problems[key] = Unfetched(key, f"more than {self.max_depth} links away from the start; raise max_depth")
        else:
            self._queue.append(Place(key, target.partition("?")[0], depth))
        return key

    # -- robots.txt -------------------------------------------------------------------------------------------------------

    def _robots_of(self, url: str) -> Robots:
        """Return the rules of a page's host; one whose robots.txt does not come allows nothing now, and that is said."""
        if _host(url) not in self._robots:
            try:
                self._read_robots(url)
            except SourceUnavailable as error:
                key = f"//{_host(url)}/robots.txt"
                self.problems[key] = Unfetched(key, f"{error.what}; no page of this host is read")
                self._robots[_host(url)] = NOTHING_ALLOWED
        return self._robots[_host(url)]

    def _read_robots(self, url: str) -> None:
        """Read robots.txt (RFC 9309): none means everything is allowed, a server that fails means nothing may be read now."""
        try:
            content = self._file(joined(url, "/robots.txt") or "", "text/plain", accept="*/*", max_bytes=_MAX_ROBOTS_BYTES)
            robots = parse_robots(content, _AGENT)
        except (Gone, Refused):
            robots = Robots()
        self._robots[_host(url)] = robots
        for origin in (f"{scheme}://{_host(url)}" for scheme in ("http", "https")):
            if origin not in self.client.routes:  # a replay asks nobody's server
                self.client.delays[origin] = robots.delay

    def _file(self, url: str, media_type: str, *, accept: str, max_bytes: int) -> bytes:
        """Read a file that is no page; one with validators is kept, so that the next crawl has only to ask for changes."""
        answer = ask(self.client, url, lambda _: self.earlier.get(url), accept=accept, max_bytes=max_bytes)
        if answer.validators:
            self.listings[url] = Listing(self.spool.put(answer.content), media_type, answer.validators)
        return answer.content

    # -- sitemaps ---------------------------------------------------------------------------------------------------------

    def _read_sitemaps(self) -> None:
        """Queue every page of the site's sitemaps; a broken one is reported and the links remain."""
        pending = deque(self._named_sitemaps())
        seen: set[str] = set()
        while pending:
            url = joined(self.scope.start, pending.popleft())
            if url is None or url in seen:
                continue
            if len(seen) == _MAX_SITEMAPS:
                key = url_path(url)
                self.problems[key] = Unfetched(key, f"not read, like all sitemaps after it: a site may have {_MAX_SITEMAPS}")
                break
            seen.add(url)
            try:
                accept, most = "application/xml,text/xml,*/*", self.client.limits.max_bytes
                found = parse_sitemap(self._file(url, "application/xml", accept=accept, max_bytes=most))
            except Gone:
                continue
            except (Refused, ValueError) as error:
                key = url_path(url)
                self.problems[key] = Unfetched(key, f"the sitemap cannot be used: {error}")
                continue
            pending.extend(found.sitemaps)
            for page, changed in found.pages:
                listed = self.add(page, 0, listed=True)
                if listed is not None:
                    self.listed.setdefault(listed, changed)

    def _named_sitemaps(self) -> list[str]:
        """Return the sitemaps robots.txt names, or the usual one. A site under a second address names those of the first."""
        base = self.scope.start if self.scope.start.endswith("/") else self.scope.start + "/"
        named = [joined(base, url) for url in self._robots_of(base).sitemaps]
        own = [url for url in named if url is not None and origin_of(url) in self.scope.origins]
        for url in sorted({url for url in named if url is not None} - set(own)):
            log.warning("%s is not read: its host is not one of allowed_hosts", url)
        return own or [joined(base, "sitemap.xml") or ""]


def _host(url: str) -> str:
    return origin_of(url).partition("//")[2]


def _request_path(url: str) -> str:
    """Return path and query as robots.txt rules are matched against."""
    return "/" + url.partition("//")[2].partition("/")[2]
