"""Small sites that a test may change between two crawls of the same loopback server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from bbj_pipeline.sources.replay import Answer, serve
from bbj_pipeline.sources.web_crawl import SOURCE, WebCrawlOptions
from bbj_pipeline_tests.sources.traffic import Traffic, as_earlier


def page(text: str, *links: str, head: str = "") -> bytes:
    anchors = "".join(f'<a href="{link}">link</a>' for link in links)
    return f"<html><head><title>{text}</title>{head}</head><body><nav>{anchors}</nav><main><p>{text}</p></main>".encode()


@dataclass
class Site:
    """Pages that a test may change between two crawls of the same server."""

    pages: dict[str, Answer | bytes]
    traffic: Traffic = field(default_factory=Traffic)
    origin: str = ""

    def answer(self, target: str) -> Answer:
        found = self.pages.get(target, Answer(404))
        return found if isinstance(found, Answer) else Answer(200, found)

    def crawl(self, earlier: Any = (), **options: Any) -> list[Any]:
        self.traffic.reset()
        values = {"url": f"{self.origin}/", "attempts": 1, "delay": 0, **options}
        return list(SOURCE.export(WebCrawlOptions.model_validate(values), as_earlier(earlier)))


@contextmanager
def served(pages: dict[str, Answer | bytes]) -> Iterator[Site]:
    site = Site(pages)
    with serve(site.answer, site.traffic) as origin:
        site.origin = origin
        yield site


def keyed(found: list[Any]) -> dict[str, Any]:
    return {item.key: item for item in found}


def chain() -> dict[str, Answer | bytes]:
    """A site without a sitemap: each page is known only from the one before."""
    return {"/": page("home", "/a"), "/a": page("a", "/b"), "/b": page("b", "/c"), "/c": page("c")}
