"""A crawl with several requests under way: the same result in any order, the pauses a site asks for, each host's rules."""

import random
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from bbj_pipeline.errors import SourceUnavailable
from bbj_pipeline.records import Unfetched
from bbj_pipeline.sources.replay import Answer, serve
from bbj_pipeline.sources.web_crawl import SOURCE, WebCrawlOptions
from bbj_pipeline_tests.sources.sites import keyed, page, served


@dataclass
class Gauge:
    """A site of linked pages that answers after a random pause and counts what is under way."""

    count: int
    links: int = 3
    longest: float = 0.01
    now: int = 0
    most: int = 0
    begun: list[float] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    robots: bytes | None = None

    def answer(self, target: str) -> Answer:
        if target == "/robots.txt" and self.robots is not None:
            return Answer(200, self.robots)
        if target in ("/robots.txt", "/sitemap.xml"):
            return Answer(404)
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
            self.begun.append(time.monotonic())
        time.sleep(random.random() * self.longest)
        with self.lock:
            self.now -= 1
        number = int(target.strip("/") or 0)
        if number % 7 == 5:
            return Answer(404)
        return Answer(200, page(f"page {number}", *(f"/{number * self.links + n}" for n in range(self.links + 1))))


def crawl(gauge: Gauge, **options: Any) -> list[Any]:
    with serve(gauge.answer) as origin:
        settings = WebCrawlOptions.model_validate({"url": f"{origin}/", "attempts": 1, "delay": 0, **options})
        found = list(SOURCE.export(settings))
    return [(type(item), item.key, getattr(item, "content", None), getattr(item, "reason", None)) for item in found]


@pytest.mark.parametrize("bounds", [{"max_pages": 40}, {"max_depth": 3}])
def test_the_result_does_not_depend_on_the_order_of_the_answers(bounds: dict[str, int]) -> None:
    """One request at a time or eight, with answers in any order: the same pages, the same bounds, the same reasons."""
    alone, together = Gauge(0), Gauge(0)
    expected = crawl(alone, concurrency=1, **bounds)
    assert crawl(together, concurrency=8, **bounds) == expected
    assert alone.most == 1
    assert 1 < together.most <= 8
    assert len(together.begun) == len(alone.begun)


def test_the_delay_is_kept_by_all_requests_together() -> None:
    """Four requests may be under way, but each begins its delay after the one before."""
    gauge = Gauge(0, longest=0.2)
    crawl(gauge, concurrency=4, delay=0.08, max_pages=12)
    begun = sorted(gauge.begun)
    assert gauge.most > 1
    # the moments are taken at the server: a little jitter is the machine's
    assert begun[-1] - begun[0] >= 0.08 * (len(begun) - 1) - 0.15


def test_crawl_delay_of_robots_is_kept() -> None:
    """A site that asks for a longer pause gets it."""
    gauge = Gauge(0, robots=b"User-agent: *\nCrawl-delay: 0.15\n")
    crawl(gauge, concurrency=4, max_pages=5)
    begun = sorted(gauge.begun)
    assert begun[-1] - begun[0] >= 0.15 * (len(begun) - 1) - 0.15


def test_a_site_that_asks_for_an_hour_of_patience_is_left_alone() -> None:
    """The crawl ends, says how long to wait, and the remaining pages are not asked for."""
    links = [f"/p{number}" for number in range(50)]
    pages: dict[str, Answer | bytes] = {"/": page("home", *links)}
    pages |= {link: Answer(429, headers={"Retry-After": "3600"}) for link in links}
    with served(pages) as site, pytest.raises(SourceUnavailable) as caught:
        site.crawl(concurrency=2)
    assert caught.value.retry_after == 3600
    assert site.traffic.statuses()[429] <= 3


def test_a_slow_page_times_out_alone() -> None:
    """A page that does not come in time is Unfetched; the others, under way at the same time, come."""

    def answer(target: str) -> Answer:
        if target == "/slow":
            time.sleep(1.4)
        elif target.startswith("/p"):
            time.sleep(0.15)
        return Answer(200, page(target, "/slow", *(f"/p{n}" for n in range(12)))) if "." not in target else Answer(404)

    with serve(answer) as origin:
        settings = WebCrawlOptions.model_validate(
            {"url": f"{origin}/", "attempts": 1, "delay": 0, "timeout": 0.8, "concurrency": 4}
        )
        found = keyed(list(SOURCE.export(settings)))
    assert {key for key, item in found.items() if isinstance(item, Unfetched)} == {"/slow"}
    assert len(found) == 14


def test_each_host_has_its_own_robots() -> None:
    """The rules of the start host are not those of a further one; a host whose rules do not come is not read, and named."""
    with served({}) as api, served({}) as broken, served({}) as site:
        closed = api.origin.removeprefix("http:")
        api.pages |= {"/robots.txt": b"User-agent: *\nDisallow: /closed\n", "/open": page("o"), "/closed": page("c")}
        broken.pages |= {"/robots.txt": Answer(500), "/x": page("x")}
        site.pages |= {
            "/robots.txt": b"User-agent: *\nDisallow: /open\n",
            "/": page("home", f"{api.origin}/open", f"{api.origin}/closed", f"{broken.origin}/x", "/open"),
            "/open": page("not for us"),
        }  # fmt: skip
        hosts = [other.origin.removeprefix("http://") for other in (api, broken)]
        found = keyed(site.crawl(allowed_hosts=hosts))
        failed = broken.origin.removeprefix("http:") + "/robots.txt"
    rules = {f"{own.origin}/robots.txt" for own in (site, api)}
    assert set(found) == {"/", f"{closed}/open", failed, *rules}
    assert {found[url].role for url in rules} == {"resource"}
    assert isinstance(found[failed], Unfetched)
    assert broken.traffic.targets() == ["/robots.txt"]
