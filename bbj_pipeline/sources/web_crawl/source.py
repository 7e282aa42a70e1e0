"""The ``web_crawl`` kind: its options, and the choice between a folder, a live site and a replayed one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from bbj_pipeline.records import RawDocument, Reject, Topic, Unfetched
from bbj_pipeline.sources.contract import NOTHING_EARLIER, EarlierExport, InputFiles, ReadResource, Source
from bbj_pipeline.sources.http import HttpClient, NetworkOptions, origin_of, public_address, recorded_folder
from bbj_pipeline.sources.http.spool import Spool
from bbj_pipeline.sources.replay import serve_site
from bbj_pipeline.sources.web_crawl.addresses import Scope
from bbj_pipeline.sources.web_crawl.choice import Choice
from bbj_pipeline.sources.web_crawl.crawl import Bounds, Crawl
from bbj_pipeline.sources.web_crawl.folder import list_pages, read_pages, site_address
from bbj_pipeline.sources.web_crawl.parse import parse_page

__all__ = ["WebCrawlOptions", "WebCrawlSource"]

_UNKNOWN_SITE = "http://replay.invalid/"
"""The public address of a built site that does not say where it belongs (RFC 2606: never resolves)."""


class WebCrawlOptions(NetworkOptions):
    """Options of one HTML site."""

    allowed_hosts: tuple[str, ...] = Field(default=(), description="Further hosts (host or host:port) that belong to the site.")
    max_pages: int = Field(default=5_000, ge=1, le=200_000, description="Pages read at most.")
    max_depth: int = Field(default=25, ge=0, le=1_000, description="Links followed at most, counted from start or sitemap.")
    max_page_bytes: int = Field(default=16 * 1024 * 1024, ge=1_024, description="Bytes of one page at most.")
    concurrency: int = Field(
        default=4, ge=1, le=16, description="Requests under way at a time; the pause between two requests is kept all the same."
    )
    versions: tuple[str, ...] = Field(
        default=(),
        description="Docusaurus versions whose pages are documents (such as current, 2.1.0); all when empty. "
        "Pages of other versions are kept as resources, pages without a version are documents.",
    )
    locales: tuple[str, ...] = Field(
        default=(), description="Languages whose pages are documents (de stands for de-AT too); all when empty."
    )
    exclude: tuple[str, ...] = Field(
        default=(),
        description="Paths (from the start or the host's root) that are not read, as in robots.txt: /docs/next/, /*/tags$.",
    )

    @field_validator("allowed_hosts")
    @classmethod
    def _hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(origin_of(f"https://{host}").removeprefix("https://") for host in value)

    @field_validator("exclude")
    @classmethod
    def _rooted(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in value:
            if not pattern.startswith(("/", "*")):
                raise ValueError(f"{pattern!r} must begin with / or *")
        return value

    @property
    def choice(self) -> Choice:
        """Which pages are documents."""
        return Choice(self.versions, self.locales, self.exclude)


class WebCrawlSource(Source[WebCrawlOptions]):
    """A site of HTML pages: Docusaurus, or any other."""

    kind = "web_crawl"
    title = "Web crawl"
    parser_version = "4"
    options_type = WebCrawlOptions

    def files(self, options: WebCrawlOptions) -> AbstractContextManager[InputFiles] | None:
        """List the pages of a built site; a site, live or replayed, is asked."""
        return None if options.path is None else nullcontext(list_pages(recorded_folder(options, "web_crawl"), options.choice))

    def export(
        self, options: WebCrawlOptions, earlier: EarlierExport = NOTHING_EARLIER
    ) -> Iterator[RawDocument | Reject | Unfetched]:
        """Yield one document a page. Key: the relative path in a folder (``path``), the URL path otherwise.

        The error page, the search page, a page under a second address and pages of versions or locales that are not chosen
        are resources: part of the site, no topics. So are robots.txt and the sitemaps of a live site, by their URLs.
        """
        opened = self.files(options)
        if opened is not None:
            with opened as files:
                yield from read_pages(files, options.public_url, options.choice)
        elif options.url is not None:
            yield from _crawled(options, options.url, {}, earlier)
        elif options.replay is not None:
            folder = recorded_folder(options, "web_crawl")
            start = _public_start(options, folder)
            with serve_site(folder, base_path=urlsplit(start).path) as served:
                scope = Scope(start, frozenset(options.allowed_hosts))
                routes = {origin: served for origin in scope.origins if origin.partition("//")[2] == scope.host}
                yield from _crawled(options, start, routes, earlier)

    def parse(self, raw: RawDocument, options: WebCrawlOptions, read: ReadResource) -> Iterator[Topic | Reject]:
        """Yield the topic of one page, or the reject that says why there is none."""
        yield parse_page(raw)


def _crawled(
    options: WebCrawlOptions, start: str, routes: Mapping[str, str], earlier: EarlierExport
) -> Iterator[RawDocument | Reject | Unfetched]:
    scope = Scope(start, frozenset(options.allowed_hosts))
    # the configured host may be private; a further host only when it is written as an address
    trusted = frozenset(origin for origin in scope.origins if _is_configured(origin, scope.host))
    bounds = Bounds(options.max_pages, options.max_depth, options.max_page_bytes, options.concurrency)
    with (
        Spool() as spool,
        HttpClient(scope.origins, trusted=trusted, routes=routes, limits=options.limits, delay=options.pause) as client,
    ):
        for record in Crawl(client, scope, bounds, options.choice, spool, earlier).records():
            if isinstance(record, RawDocument) and record.url is not None and options.public_url is not None:
                yield replace(record, url=public_address(options.public_url, scope.inside(record.key)))
            else:
                yield record


def _is_configured(origin: str, host: str) -> bool:
    own = origin.partition("//")[2]
    name = urlsplit(origin).hostname or ""
    return own == host or name == "localhost" or ":" in name or name.replace(".", "").isdecimal()


def _public_start(options: WebCrawlOptions, folder: Path) -> str:
    """Return the address a replayed site pretends to have: the one its pages were built for, since their links begin with
    its path; for a site that does not say, ``public_url`` up to ``{path}``."""
    own = site_address(folder)
    if own is not None or options.public_url is None:
        return own or _UNKNOWN_SITE
    start = options.public_url.partition("{")[0].partition("?")[0]
    return start if start.endswith("/") else start + "/"
