"""Reads a live site, several pages at a time, with results in the order of the queue whatever the order of the answers.

404 and 410 mean that a page is gone; a page that did not come this time is ``Unfetched`` and nothing is known of it. A page
the earlier export holds is asked for conditionally. Bodies wait on disk until the listing is complete. Parsing to blocks is
not done here.
"""

from __future__ import annotations

import hashlib
import logging
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from bbj_pipeline.errors import SourceUnavailable
from bbj_pipeline.records import RawDocument, Reject, Unfetched
from bbj_pipeline.sources.contract import EarlierExport
from bbj_pipeline.sources.http import Gone, HttpClient, Refused, SiteFault
from bbj_pipeline.sources.http.spool import Spool
from bbj_pipeline.sources.markup import MarkupError, parse_document, text_of
from bbj_pipeline.sources.web_crawl.addresses import Scope
from bbj_pipeline.sources.web_crawl.asking import Answer, ask
from bbj_pipeline.sources.web_crawl.choice import Choice, labels_of
from bbj_pipeline.sources.web_crawl.frontier import Frontier, Listing, Place
from bbj_pipeline.sources.web_crawl.page import canonical_url, content_root, links

__all__ = ["Bounds", "Crawl"]

log = logging.getLogger(__name__)

_PAGE_TYPES = frozenset(("text/html", "application/xhtml+xml", ""))
_ACCEPT = "text/html,application/xhtml+xml"
_SITE_IS_DOWN = 5
"""So many pages in a row without an answer, each after all its attempts, are a site that is down, not bad pages."""
_DEPLOYMENT_IS_BROKEN = 5
"""So many pages that are linked and all answer 404, while the start page answers, are sooner a fault than pages taken away."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far a crawl goes: pages, links from the start or a sitemap, bytes of one page, requests at a time."""

    pages: int
    depth: int
    page_bytes: int
    concurrency: int


@dataclass(frozen=True, slots=True)
class _Page:
    """A page that was read: where its bytes wait, what it says of itself, and a hash of its content's text."""

    url: str
    ticket: tuple[int, int]
    validators: Mapping[str, str]
    charset: str | None
    labels: dict[str, str] = field(default_factory=dict)
    canonical: str | None = None
    text_hash: str = ""


@dataclass
class Crawl:
    """One crawl from ``scope.start``; use ``records`` once."""

    client: HttpClient
    scope: Scope
    bounds: Bounds
    choice: Choice
    spool: Spool
    earlier: EarlierExport
    _pages: dict[str, _Page] = field(default_factory=dict)
    _gone: set[str] = field(default_factory=set)
    _failures: int = 0

    def __post_init__(self) -> None:
        self._frontier = Frontier(self.client, self.scope, self.choice, self.bounds.depth, self.spool, self.earlier)

    def records(self) -> Iterator[RawDocument | Reject | Unfetched]:
        """Read the site, then yield its pages sorted by key.

        Raises ``SourceUnavailable`` when the start page or robots.txt does not come, or the site stops answering.
        """
        self._frontier.open()
        self._read_pages()
        problems = self._frontier.problems
        while self._frontier:
            key = self._frontier.take().key
            problems[key] = Unfetched(key, f"the crawl stops after {self.bounds.pages} pages; raise max_pages")
        if not self._pages:
            raise SourceUnavailable(f"no page of {self.scope.start} could be read", remedy="check robots.txt and the URL")
        self._judge_gone()
        listings = self._frontier.listings
        for key in sorted(self._pages.keys() | problems.keys() | listings.keys()):
            if key in self._pages:
                yield self._raw(key, self._pages[key])
            else:
                yield problems[key] if key in problems else self._listing(key, listings[key])

    # -- reading ----------------------------------------------------------------------------------------------------------

    def _read_pages(self) -> None:
        """Keep some requests under way and take their answers in the order of the queue.

        What is asked for next depends on answers already taken, never on which of the others came first.
        """
        waiting: deque[tuple[Place, Future[Answer]]] = deque()
        pool = ThreadPoolExecutor(self.bounds.concurrency, thread_name_prefix="crawl")
        try:
            while True:
                room = min(self.bounds.concurrency, self.bounds.pages - len(self._pages)) - len(waiting)
                for _ in range(min(room, len(self._frontier))):
                    place = self._frontier.take()
                    waiting.append((place, pool.submit(self._fetch, place.url)))
                if not waiting:
                    return
                self._visit(*waiting.popleft())
        finally:
            pool.shutdown(cancel_futures=True)

    def _fetch(self, url: str) -> Answer:
        """Ask for a page, in a thread of the pool; unchanged means the bytes of the earlier export."""
        return ask(self.client, url, self._earlier_of, accept=_ACCEPT, max_bytes=self.bounds.page_bytes)

    def _earlier_of(self, url: str) -> RawDocument | None:
        key = self.scope.key(url)
        document = self.earlier.get(key) if key is not None else None
        return document if document is not None and len(document.content) <= self.bounds.page_bytes else None

    # -- one page ---------------------------------------------------------------------------------------------------------

    def _visit(self, place: Place, coming: Future[Answer]) -> None:
        try:
            answer = coming.result()
        except Gone:
            if place.url == self.scope.start:
                raise SourceUnavailable(f"there is no page at {place.url}", remedy='check "url" in sources.yaml') from None
            self._gone.add(place.key)
        except Refused as error:
            self._refused(place, error)
        except SourceUnavailable as error:
            self._failed(place, error)
        else:
            self._failures = 0
            self._accept(place, answer)

    def _refused(self, place: Place, error: Refused) -> None:
        if place.url == self.scope.start:
            raise SourceUnavailable(error.reason, remedy='check "url" and "allowed_hosts" in sources.yaml') from None
        if error.code.startswith("http-"):  # 401, 403 and the like: guards and limits come and go
            self._missed(place, error.reason)
        elif error.code != "host-not-allowed" or place.key in self._frontier.listed:
            self._frontier.problems[place.key] = Reject(place.key, error.code, error.reason)

    def _failed(self, place: Place, error: SourceUnavailable) -> None:
        self._failures += 1
        patience = isinstance(error, SiteFault) and (error.retry_after or 0.0) > self.client.limits.retry_wait
        if place.url == self.scope.start or patience or self._failures >= _SITE_IS_DOWN:
            raise error
        self._missed(place, error.what)

    def _missed(self, place: Place, reason: str) -> None:
        """Note a page that did not come; what it linked to when it last came is read all the same."""
        self._frontier.problems[place.key] = Unfetched(place.key, reason)
        document = self._earlier_of(place.url)
        if document is not None:
            url = document.validators.get("url", place.url)
            self._read(Answer(url, "", document.metadata.get("charset"), document.content, {}), place.depth)

    def _accept(self, place: Place, answer: Answer) -> None:
        final = self.scope.key(answer.url)
        if final is None or not self._frontier.wants(final):
            if place.key == self.scope.key(self.scope.start):
                raise SourceUnavailable(f"{self.scope.start} moved to {answer.url}", remedy='correct "url" in sources.yaml')
            return  # moved out of the crawl, on an allowed host
        if final != place.key:
            self._frontier.moved(final)
        if final in self._pages:
            return
        if answer.media_type not in _PAGE_TYPES:
            reason = f"the server calls it {answer.media_type}"
            self._frontier.problems[final] = Reject(final, "not-html", reason)
            return
        self._pages[final] = self._read(answer, place.depth)

    def _read(self, answer: Answer, depth: int) -> _Page:
        """Put the page aside and queue what it links to."""
        ticket = self.spool.put(answer.content)
        try:
            root = parse_document(answer.content, encoding=answer.charset).root
        except MarkupError:  # the parser will say so; there is nothing to follow
            return _Page(answer.url, ticket, answer.validators, answer.charset)
        canonical = canonical_url(root, answer.url)
        for target in (*([canonical] if canonical else []), *links(root, answer.url)):
            self._frontier.add(target, depth + 1)
        text_hash = hashlib.sha256(text_of(content_root(root)).encode()).hexdigest()
        return _Page(answer.url, ticket, answer.validators, answer.charset, labels_of(root), canonical, text_hash)

    def _judge_gone(self) -> None:
        """Say which addresses answered 404 or 410. Where nothing but the start page is left, doubt that they are gone.

        If they are many, or the sitemap lists them, they are then ``Unfetched``. What an earlier export held decides nothing
        here: fewer are gone, and how many may go at once is judged where rows are deleted.
        """
        gone = sorted(self._gone - self._pages.keys())
        if not gone:
            return
        shown = ", ".join(gone[:5]) + (", …" if len(gone) > 5 else "")
        log.warning("%s: %d addresses that are linked or listed answer 404 or 410: %s", self.scope.start, len(gone), shown)
        alone = len({page.text_hash for page in self._pages.values()}) == 1  # the start page, by all of its addresses
        if alone and (len(gone) >= _DEPLOYMENT_IS_BROKEN or any(key in self._frontier.listed for key in gone)):
            reason = "404, like every page but the start page: sooner a broken deployment than pages that were taken away"
            self._frontier.problems.update({key: Unfetched(key, reason) for key in gone})

    # -- what is handed on ------------------------------------------------------------------------------------------------

    def _listing(self, url: str, listing: Listing) -> RawDocument:
        """Return robots.txt or a sitemap: no document, kept so that the next crawl may ask whether it changed."""
        content = self.spool.get(listing.ticket)
        return RawDocument(url, content, listing.media_type, "resource", validators=listing.validators)

    def _original_of(self, key: str, page: _Page) -> str | None:
        """Return the key of the page that is this one's canonical form and really says the same, if there is one."""
        own = self.scope.key(page.canonical) if page.canonical else None
        original = self._pages.get(own) if own is not None and own != key else None
        return own if original is not None and original.text_hash == page.text_hash else None

    def _raw(self, key: str, page: _Page) -> RawDocument:
        original = self._original_of(key, page)
        metadata = {"charset": page.charset, "copy_of": original, **page.labels}
        is_document = original is None and self.choice.is_document(self.scope.inside(key), page.labels)
        return RawDocument(
            key,
            self.spool.get(page.ticket),
            "text/html",
            "document" if is_document else "resource",
            url=page.canonical if page.canonical and self.scope.key(page.canonical) == key else page.url,
            last_modified=self._frontier.listed.get(key),
            metadata={name: value for name, value in metadata.items() if value},
            validators=page.validators,
        )
