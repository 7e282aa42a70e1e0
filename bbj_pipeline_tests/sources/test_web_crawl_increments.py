"""The second crawl of a site: conditional requests over real HTTP on loopback, answers and bytes counted at the server."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbj_pipeline.records import RawDocument, Topic, Unfetched
from bbj_pipeline.sources.replay import Answer, serve
from bbj_pipeline.sources.replay.site import site_answer
from bbj_pipeline.sources.web_crawl import SOURCE, WebCrawlOptions
from bbj_pipeline_tests.paths import CORPORA
from bbj_pipeline_tests.sources.sites import chain, keyed, page, served
from bbj_pipeline_tests.sources.traffic import Traffic, as_earlier


def test_an_unchanged_site_sends_no_body_a_second_time() -> None:
    """Every page of the second crawl is a 304 without a byte, its links are followed, and the records are the same."""
    with served(chain()) as site:
        first = site.crawl()
        assert site.traffic.statuses() == {200: 4}
        second = site.crawl(first)
        assert site.traffic.statuses() == {304: 4}
        assert sum(size for _, status, size in site.traffic.answers if status == 304) == 0
    assert second == first
    assert [item.validators for item in second] == [item.validators for item in first]


def test_what_changed_came_went_or_failed_is_told_apart() -> None:
    """A changed page has its new bytes, a new one comes, a gone one is not listed, a failing one is Unfetched."""
    pages = {**chain(), "/": page("home", "/a", "/gone", "/failing", "/same"), "/gone": page("gone"), "/failing": page("f"),
             "/same": page("same")}  # fmt: skip
    with served(pages) as site:
        first = site.crawl()
        pages |= {"/b": page("b changed", "/c", "/new"), "/new": page("new"), "/failing": Answer(503)}
        del pages["/gone"]
        second = keyed(site.crawl(first))
        assert site.traffic.statuses() == {304: 4, 200: 2, 404: 1, 503: 1}
    assert second["/b"].content == pages["/b"]
    assert second["/new"].content == pages["/new"]
    assert "/gone" not in second
    assert isinstance(second["/failing"], Unfetched)
    unchanged = keyed(first)
    assert all(second[key] == unchanged[key] for key in ("/", "/a", "/c", "/same"))


def test_pages_behind_a_failing_page_are_read() -> None:
    """What a page linked to when it last came is followed, so one 500 does not make a whole chapter unknown."""
    pages = chain()
    with served(pages) as site:
        first = site.crawl()
        pages["/a"] = Answer(500)
        pages["/c"] = page("c changed")
        second = keyed(site.crawl(first))
    assert isinstance(second["/a"], Unfetched)
    assert second["/b"] == keyed(first)["/b"]
    assert second["/c"].content == pages["/c"]


def test_last_modified_alone_is_enough() -> None:
    """A server without ETags is asked with If-Modified-Since."""
    then = {"ETag": "", "Last-Modified": "Mon, 03 Mar 2025 10:00:00 GMT"}
    pages: dict[str, Answer | bytes] = {"/": Answer(200, page("home"), headers=then)}
    with served(pages) as site:
        first = site.crawl()
        assert site.crawl(first) == first
        assert site.traffic.statuses() == {304: 1}
        pages["/"] = Answer(200, page("later"), headers={**then, "Last-Modified": "Tue, 04 Mar 2025 10:00:00 GMT"})
        (changed,) = site.crawl(first)
    assert changed.content == page("later")


def test_a_moved_page_is_asked_for_under_its_new_address() -> None:
    """A redirect is followed to a 304: the validators belong to the address the bytes came from."""
    pages: dict[str, Answer | bytes] = {
        "/": page("home", "/old"), "/old": Answer(301, headers={"Location": "/new"}), "/new": page("new"),
    }  # fmt: skip
    with served(pages) as site:
        first = site.crawl()
        assert site.crawl(first) == first
        assert site.traffic.statuses() == {304: 2, 301: 1}


def test_robots_and_sitemaps_are_asked_for_conditionally() -> None:
    """They cost no byte while they are the same, still count by what they said, and are read anew when they change."""
    entries = "".join(
        f"<url><loc>/{name}</loc><lastmod>2025-03-0{number}</lastmod></url>" for number, name in enumerate("ab", 1)
    )
    with served({"/": page("home"), "/a": page("a"), "/b": page("b"), "/c": page("c")}) as site:
        site.pages["/robots.txt"] = b"User-agent: *\nDisallow: /b\nSitemap: /map.xml\n"
        site.pages["/map.xml"] = f"<urlset>{entries}</urlset>".encode()
        first = site.crawl()
        second = site.crawl(first)
        assert {status for _, status, _ in site.traffic.answers} == {304}
        assert site.traffic.size == 0
        assert second == first
        found = keyed(second)
        assert found["/a"].last_modified == "2025-03-01T00:00:00Z"
        assert found["/b"].code == "robots-disallowed"
        listings = {key: item for key, item in found.items() if key.startswith("http")}
        assert {key.removeprefix(site.origin): item.role for key, item in listings.items()} == {
            "/robots.txt": "resource",
            "/map.xml": "resource",
        }
        site.pages["/robots.txt"] = b"User-agent: *\nSitemap: /map.xml\n"
        site.pages["/map.xml"] = f"<urlset>{entries}<url><loc>/c</loc></url></urlset>".encode()
        third = site.crawl(second)
        assert third == site.crawl()
    assert {"/", "/a", "/b", "/c"} <= keyed(third).keys()


def test_a_broken_sitemap_that_did_not_change_is_broken_still() -> None:
    """304 for a sitemap that could not be used does not make it usable: it is named each time."""
    with served({"/": page("home"), "/sitemap.xml": b"<urlset><url>"}) as site:
        first = site.crawl()
        assert isinstance(keyed(first)["/sitemap.xml"], Unfetched)
        assert site.crawl(first) == first


def test_validators_of_another_site_are_not_sent() -> None:
    """A mirror under another address is read in full: an ETag says something about one URL only."""
    with served(chain()) as one, served(chain()) as other:
        first = one.crawl()
        other.crawl(first)
        assert other.traffic.statuses() == {200: 4}


def test_not_modified_without_a_question_is_no_page() -> None:
    """A server that answers 304 to a plain request gives nothing: the page is Unfetched, not empty."""
    with served({"/": page("home", "/x"), "/x": Answer(304)}) as site:
        found = keyed(site.crawl())
    assert isinstance(found["/x"], Unfetched)


def test_a_page_under_a_second_address_is_kept_as_a_resource() -> None:
    """It says which document it copies, is no topic, and costs no body the second time."""
    canonical = '<link rel="canonical" href="/a">'
    with served({"/": page("home", "/a.html"), "/a.html": page("a", head=canonical), "/a": page("a", head=canonical)}) as site:
        first = site.crawl()
        site.crawl(first)
        assert site.traffic.statuses() == {304: 3}
    copy = keyed(first)["/a.html"]
    assert (copy.role, copy.metadata["copy_of"]) == ("resource", "/a")


def test_a_lowered_bound_counts_for_known_pages_too() -> None:
    """The result is what it would be without the earlier export."""
    with served({"/": page("home", "/big"), "/big": page("x" * 4000)}) as site:
        first = site.crawl()
        second = keyed(site.crawl(first, max_page_bytes=2048))
    assert second["/big"].code == "too-large"


PAGES = st.dictionaries(
    st.integers(1, 9),
    st.tuples(st.sampled_from(["page", "gone", "moved", "pdf"]), st.integers(0, 3), st.lists(st.integers(0, 9), max_size=4)),
    max_size=9,
)


def drawn(pages: dict[int, tuple[str, int, list[int]]]) -> dict[str, Answer | bytes]:
    """A site of linked, moved, removed and foreign pages; the home page leads to the first three."""
    site: dict[str, Answer | bytes] = {"/": page("home", "/1", "/2", "/3")}
    for number, (kind, text, targets) in pages.items():
        links = [f"/{target or ''}" for target in targets]
        site[f"/{number}"] = {
            "page": Answer(200, page(f"page {number}, edition {text}", *links)),
            "gone": Answer(410),
            "moved": Answer(301, headers={"Location": links[0] if links else "/"}),
            "pdf": Answer(200, b"%PDF", "application/pdf"),
        }[kind]
    return site


@settings(max_examples=25, deadline=None)
@given(PAGES, PAGES)
def test_an_incremental_crawl_is_the_crawl(before: dict, after: dict) -> None:  # type: ignore[type-arg]
    """Whatever a site becomes, the second crawl gives what a first one would give, and no unchanged page twice."""
    with served({}) as site:
        site.pages |= drawn(before)
        first = site.crawl()
        site.pages.clear()
        site.pages |= drawn(after)
        second = site.crawl(first)
        sent = [target for target, status, _ in site.traffic.answers if status == 200]
        assert second == site.crawl()
    known = {item.key: item for item in first}
    unchanged = {item.key for item in second if isinstance(item, RawDocument) and known.get(item.key) == item}
    assert not unchanged & set(sent)


# -- the real sites -------------------------------------------------------------------------------------------------------


def parsed(found: list[object], options: WebCrawlOptions) -> dict[str, Topic]:
    """Topics of an export by their path below the site's root, whatever the key's form."""
    topics = {}
    for raw in found:
        assert isinstance(raw, RawDocument), raw
        if raw.role == "document":
            (topic,) = SOURCE.parse(raw, options, lambda key: b"")
            assert isinstance(topic, Topic), topic
            topics[topic.key.removesuffix(".html").removesuffix("index").strip("/")] = topic
    return topics


@pytest.mark.parametrize("site", ["bbj-ai-strategy-site", "bbj-beginner-course-site"])
def test_the_second_crawl_of_a_real_site_equals_its_folder_and_costs_no_page(site: str) -> None:
    """Crawled from a loopback server, the first and the second crawl give the topics of the folder; the second by 304 alone."""
    folder = CORPORA / "web_crawl" / site
    base = {"bbj-ai-strategy-site": "/bbj-ai-strategy/", "bbj-beginner-course-site": "/BBj-Beginner-Course/"}[site]
    by_path = WebCrawlOptions.model_validate({"path": folder})
    expected = parsed(list(SOURCE.export(by_path)), by_path)
    traffic = Traffic()
    with serve(lambda target: site_answer(folder.resolve(), base, target), traffic) as origin:
        live = WebCrawlOptions.model_validate({"url": origin + base, "delay": 0})
        first = list(SOURCE.export(live))
        pages = traffic.statuses()[200]
        traffic.reset()
        second = list(SOURCE.export(live, as_earlier(first)))
    assert second == first
    assert traffic.statuses()[304] == pages
    assert traffic.statuses()[200] == 0
    crawled = {key.removeprefix(base.strip("/")).strip("/"): topic for key, topic in parsed(second, live).items()}
    assert set(crawled) == set(expected)
    for key, topic in expected.items():
        other = crawled[key]
        assert (topic.blocks, topic.title, topic.section_path) == (other.blocks, other.title, other.section_path), key


@pytest.mark.parametrize("site", ["bbj-ai-strategy-site", "bbj-beginner-course-site"])
def test_the_second_replay_of_a_real_site_is_the_first(site: str) -> None:
    """Public addresses, dates and bytes are the same although the port of the replay is another one."""
    options = WebCrawlOptions.model_validate({"replay": CORPORA / "web_crawl" / site})
    first = list(SOURCE.export(options))
    second = list(SOURCE.export(options, as_earlier(first)))
    assert second == first
    assert [item.validators for item in second if isinstance(item, RawDocument)] == [
        item.validators for item in first if isinstance(item, RawDocument)
    ]
