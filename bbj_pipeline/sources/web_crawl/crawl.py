"""Reads a live site, several pages at a time, with results in the order of the queue whatever the order of the answers.

404 and 410 mean that a page is gone; a page that did not come this time is ``Unfetched`` and nothing is known of it. A page
the earlier export holds is asked for conditionally. Bodies wait on disk until the listing is complete. Parsing to blocks is
not done here.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from bbj_pipeline.errors import SourceUnavailable
from bbj_pipeline.records import RawDocument, Reject, Unfetched
from bbj_pipeline.sources.contract import EarlierExport
from bbj_pipeline.sources.http import Gone, HttpClient, Refused, Reply, SiteFault
from bbj_pipeline.sources.http.spool import Spool
from bbj_pipeline.sources.markup import MarkupError, parse_document, text_of
from bbj_pipeline.sources.web_crawl.addresses import Scope
from bbj_pipeline.sources.web_crawl.choice import Choice, labels_of
from bbj_pipeline.sources.web_crawl.frontier import Frontier, Place
from bbj_pipeline.sources.web_crawl.page import canonical_url, content_root, links

__all__ = ["Bounds", "Crawl"]

_PAGE_TYPES = frozenset(("text/html", "application/xhtml+xml", ""))
_ACCEPT = "text/html,application/xhtml+xml"
_CHARSET = re.compile(r"charset\s*=\s*\"?([\w.:-]+)", re.I)
_SITE_IS_DOWN = 5
"""So many pages in a row without an answer, each after all its attempts, are a site that is down, not bad pages."""
_VALIDATORS = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
_MAX_VALIDATOR = 512


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far a crawl goes: pages, links from the start or a sitemap, bytes of one page, requests at a time."""

    pages: int
    depth: int
    page_bytes: int
    concurrency: int


@dataclass(frozen=True, slots=True)
class _Answer:
    """A page as it came, or as the earlier export holds it when the site says that it did not change."""

    url: str
    media_type: str
    charset: str | None
    content: bytes
    validators: Mapping[str, str]


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
    _failures: int = 0

    def __post_init__(self) -> None:
        self._frontier = Frontier(self.client, self.scope, self.choice, self.bounds.depth)

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
        for key in sorted(self._pages.keys() | problems.keys()):
            yield self._raw(key, self._pages[key]) if key in self._pages else problems[key]

    # -- reading ----------------------------------------------------------------------------------------------------------

    def _read_pages(self) -> None:
        """Keep some requests under way and take their answers in the order of the queue.

        What is asked for next depends on answers already taken, never on which of the others came first.
        """
        waiting: deque[tuple[Place, Future[_Answer]]] = deque()
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

    def _fetch(self, url: str) -> _Answer:
        """Ask for a page, in a thread of the pool; unchanged means the bytes of the earlier export."""
        known: dict[str, RawDocument] = {}

        def conditions(target: str) -> Mapping[str, str]:
            document = self._earlier_of(target)
            if document is None or document.validators.get("url") != target:
                return {}
            known[target] = document
            return {header: document.validators[name] for name, header in _VALIDATORS.items() if name in document.validators}

        reply = self.client.get(url, accept=_ACCEPT, max_bytes=self.bounds.page_bytes, conditions=conditions)
        if reply.status != 304:
            charset = _CHARSET.search(reply.headers.get("content-type", ""))
            return _Answer(reply.url, reply.media_type, charset[1] if charset else None, reply.content, _validators(reply))
        same = known[reply.url]
        charset_then = same.metadata.get("charset")
        return _Answer(reply.url, "", charset_then, same.content, {**same.validators, **_validators(reply)})

    def _earlier_of(self, url: str) -> RawDocument | None:
        key = self.scope.key(url)
        document = self.earlier.get(key) if key is not None else None
        return document if document is not None and len(document.content) <= self.bounds.page_bytes else None

    # -- one page ---------------------------------------------------------------------------------------------------------

    def _visit(self, place: Place, coming: Future[_Answer]) -> None:
        try:
            answer = coming.result()
        except Gone:
            if place.url == self.scope.start:
                raise SourceUnavailable(f"there is no page at {place.url}", remedy='check "url" in sources.yaml') from None
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
            self._read(_Answer(url, "", document.metadata.get("charset"), document.content, {}), place.depth)

    def _accept(self, place: Place, answer: _Answer) -> None:
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

    def _read(self, answer: _Answer, depth: int) -> _Page:
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

    # -- what is handed on ------------------------------------------------------------------------------------------------

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


def _validators(reply: Reply) -> dict[str, str]:
    """Return what the site wants to hear next time, and the URL it said that of: a validator is one URL's own."""
    named = {name: reply.headers.get(name, "") for name in _VALIDATORS}
    usable = {name: value for name, value in named.items() if 0 < len(value) <= _MAX_VALIDATOR}
    return {"url": reply.url, **usable} if usable else {}
