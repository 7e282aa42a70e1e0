"""The web_crawl source on small sites of our own: what is read, what is chrome, and sites that misbehave."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbj_pipeline.errors import SourceUnavailable
from bbj_pipeline.records import Block, RawDocument, Reject, Topic, Unfetched
from bbj_pipeline.settings import SAMPLES_DIR
from bbj_pipeline.sources.replay import Answer, serve
from bbj_pipeline.sources.web_crawl import SOURCE, WebCrawlOptions


def page(text: str, *links: str, head: str = "") -> bytes:
    anchors = "".join(f'<a href="{link}">link</a>' for link in links)
    html = f"<!doctype html><html><head><title>{text}</title>{head}</head><body><nav>{anchors}</nav><main><p>{text}</p></main>"
    return html.encode()


def crawl(site: Mapping[str, Answer | bytes] | Callable[[str], Answer], start: str = "/", **options: Any) -> dict[str, Any]:
    def lookup(target: str) -> Answer:
        assert isinstance(site, Mapping)
        found = site.get(target, Answer(404))
        return found if isinstance(found, Answer) else Answer(200, found)

    with serve(lookup if isinstance(site, Mapping) else site) as origin:
        settings = WebCrawlOptions.model_validate({"url": origin + start, "attempts": 1, "delay": 0, **options})
        return {item.key: item for item in SOURCE.export(settings)}


def documents(found: dict[str, Any]) -> set[str]:
    return {key for key, item in found.items() if getattr(item, "role", "") == "document"}


def parse(html: str | bytes, **raw: Any) -> Topic | Reject:
    content = html if isinstance(html, bytes) else html.encode()
    document = RawDocument("k", content, "text/html", **raw)
    (result,) = SOURCE.parse(document, WebCrawlOptions.model_validate({"path": "/x"}), lambda key: b"")
    return result


def blocks(html: str) -> list[tuple[str, str]]:
    result = parse(html)
    assert isinstance(result, Topic), result
    return [(block.type, block.text) for block in result.blocks]


def sitemap(*urls: str, tag: str = "url") -> bytes:
    name = "urlset" if tag == "url" else "sitemapindex"
    entries = "".join(f"<{tag}><loc>{url}</loc></{tag}>" for url in urls)
    return f'<?xml version="1.0"?><{name} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</{name}>'.encode()


# -- pages that are not there -----------------------------------------------------------------------------------------------


def test_a_site_of_which_only_the_start_page_is_left_is_doubted() -> None:
    """Every link and every listed page answers 404: they are not taken for gone, so nothing is deleted, and each is named."""
    missing = [f"/{number}" for number in range(6)]
    found = crawl({"/": page("home", *missing), "/index.html": page("home")})
    assert {key for key, item in found.items() if isinstance(item, Unfetched)} == set(missing)
    assert documents(found) == {"/"}
    listed = crawl({"/": page("home"), "/sitemap.xml": sitemap("/", "/lost")})
    assert isinstance(listed["/lost"], Unfetched)


def test_dead_links_of_a_living_site_are_gone_and_said(caplog: pytest.LogCaptureFixture) -> None:
    """Where other pages answer, or a small page has a few dead links, 404 means gone; the log names the addresses."""
    dead = [f"/{number}" for number in range(6)]
    found = crawl({"/": page("home", "/a", *dead), "/a": page("a"), "/sitemap.xml": sitemap("/3")})
    assert not any(isinstance(item, Unfetched) for item in found.values())
    assert "6 addresses that are linked or listed answer 404 or 410: /0, /1, /2, /3, /4, …" in caplog.text
    assert documents(crawl({"/": page("home", "/x", "/y")})) == {"/"}


# -- what belongs to a crawl ----------------------------------------------------------------------------------------------


def test_links_are_followed_inside_the_start_path() -> None:
    """Pages below the start come, each once; other paths, hosts, schemes and assets do not."""
    outside = ("/other", "https://elsewhere.example.org/docs/", "mailto:a@example.org", "javascript:x()", "/docs/logo.png")
    found = crawl(
        {
            "/docs/": page("home", "a", "a#part", "a?utm=1", "./a/", "/docs/b", *outside),
            "/docs/a": page("a", "../docs/b/index.html", "/docs"),
            "/docs/b": page("b", "a"),
            "/other": page("other"),
        },
        "/docs/",
    )
    assert set(found) == documents(found) == {"/docs", "/docs/a", "/docs/b"}


def test_base_href_moves_the_links() -> None:
    """Relative links are relative to ``base href`` where a page has one."""
    found = crawl({"/": page("home", "x", head='<base href="/deep/">'), "/deep/x": page("x")})
    assert documents(found) == {"/", "/deep/x"}


def test_a_page_is_one_document_under_its_canonical_url() -> None:
    """``/a.html`` that calls itself ``/a`` is ``/a``; a canonical link that lies about another page's text loses nothing."""
    own = '<link rel="canonical" href="/a">'
    liar = '<link rel="canonical" href="/">'
    found = crawl(
        {
            "/": page("home", "/a.html", "/b"),
            "/a.html": page("a", head=own),
            "/a": page("a", head=own),
            "/b": page("b", head=liar),
        }
    )
    assert documents(found) == {"/", "/a", "/b"}


def test_robots_rules_are_kept() -> None:
    """A forbidden page is not asked for; one that the sitemap lists all the same is named."""
    asked: list[str] = []
    site = {
        "/robots.txt": b"User-agent: *\nDisallow: /private\nAllow: /private/open\n",
        "/sitemap.xml": sitemap("/private/listed"),
        "/": page("home", "/private/x", "/private/open"),
        "/private/x": page("x"), "/private/open": page("open"), "/private/listed": page("l"),
    }  # fmt: skip

    def handler(target: str) -> Answer:
        asked.append(target)
        return Answer(200, site[target]) if target in site else Answer(404)

    found = crawl(handler)
    assert documents(found) == {"/", "/private/open"}
    assert found["/private/listed"].code == "robots-disallowed"
    assert not {"/private/x", "/private/listed"} & set(asked)


def test_robots_that_cannot_be_read_forbid_everything_now() -> None:
    """RFC 9309: a robots.txt that answers 5xx means that nothing may be read."""
    with pytest.raises(SourceUnavailable, match=r"robots\.txt answers 500"):
        crawl({"/robots.txt": Answer(500), "/": page("home")})


def test_the_error_page_and_the_search_page_are_no_documents() -> None:
    """They are part of the site (resources), not of its content."""
    found = crawl(
        {
            "/": page("home", "/search", "/404.html", "/guide/chapter/search"),
            "/search": page("s"),
            "/404.html": page("4"),
            "/guide/chapter/search": page("How to search"),
        }
    )
    assert documents(found) == {"/", "/guide/chapter/search"}
    assert {key for key, item in found.items() if item.role == "resource"} == {"/search", "/404.html"}


# -- sites that misbehave -------------------------------------------------------------------------------------------------


def test_gone_is_gone_and_failing_is_not() -> None:
    """404 and 410 are no documents any more; 500, time-outs and 403 leave what is known of a page in place."""
    found = crawl(
        {
            "/": page("home", "/gone", "/removed", "/broken", "/closed", "/fine"),
            "/removed": Answer(410), "/broken": Answer(500), "/closed": Answer(403), "/fine": page("fine"),
        }
    )  # fmt: skip
    assert documents(found) == {"/", "/fine"}
    unfetched = {key for key, item in found.items() if isinstance(item, Unfetched)}
    assert unfetched == {"/broken", "/closed"}
    assert set(found) == documents(found) | unfetched


def test_a_site_that_goes_down_is_unavailable() -> None:
    """Many pages in a row without an answer end the crawl; so does a start page that fails, is gone, or moved away."""
    links = [f"/p{number}" for number in range(20)]
    with pytest.raises(SourceUnavailable):
        crawl({"/": page("home", *links), **{link: Answer(503) for link in links}})
    with pytest.raises(SourceUnavailable, match="answers 500"):
        crawl({"/": Answer(500)})
    with pytest.raises(SourceUnavailable, match="there is no page"):
        crawl({})
    with pytest.raises(SourceUnavailable, match="moved to"):
        crawl({"/old/": Answer(301, headers={"Location": "/new/"}), "/new/": page("new")}, "/old/")
    with pytest.raises(SourceUnavailable, match="not one of the allowed hosts"):
        crawl({"/": Answer(301, headers={"Location": "http://169.254.169.254/"})})
    with pytest.raises(SourceUnavailable, match=r"no page of .* could be read"):
        crawl({"/robots.txt": b"User-agent: *\nDisallow: /\n", "/": page("home")})


def test_redirects_inside_the_site_are_one_page_and_loops_end() -> None:
    """A moved page has its new key; an endless redirect and one into a private network are rejects of that page alone."""
    found = crawl(
        {
            "/": page("home", "/old", "/new", "/loop", "/inside", "/away"),
            "/old": Answer(301, headers={"Location": "/new"}), "/new": page("new"),
            "/loop": Answer(302, headers={"Location": "/loop"}),
            "/inside": Answer(302, headers={"Location": "http://10.0.0.1/admin"}),
            "/away": Answer(302, headers={"Location": "https://example.org/"}),
        }
    )  # fmt: skip
    assert documents(found) == {"/", "/new"}
    assert {key: item.code for key, item in found.items() if isinstance(item, Reject)} == {
        "/loop": "too-many-redirects", "/inside": "private-address",
    }  # fmt: skip


def test_a_calendar_without_end_is_bounded_by_depth_and_said() -> None:
    """Each page links to the next for ever: the crawl stops at the bound and names the first page it did not read."""
    found = crawl(
        lambda target: Answer(200, page(target, f"{target.rstrip('/')}/n")) if "." not in target else Answer(404), max_depth=4
    )
    assert len(documents(found)) == 5
    assert "raise max_depth" in found["/n/n/n/n/n"].reason


def test_more_pages_than_allowed_are_said() -> None:
    """Beyond max_pages every known page is Unfetched: kept, and visible."""
    found = crawl({"/": page("home", *[f"/p{n}" for n in range(5)]), **{f"/p{n}": page(str(n)) for n in range(5)}}, max_pages=3)
    assert len(documents(found)) == 3
    assert sum(isinstance(item, Unfetched) and "max_pages" in item.reason for item in found.values()) == 3


def test_a_page_over_the_bound_and_a_file_that_is_no_page_are_rejects() -> None:
    """Both are named with their reason."""
    found = crawl(
        {"/": page("home", "/big", "/data"), "/big": b"<p>" + b"x" * 5000, "/data": Answer(200, b"%PDF", "application/pdf")},
        max_page_bytes=2048,
    )
    assert (found["/big"].code, found["/data"].code) == ("too-large", "not-html")


def test_a_broken_sitemap_is_reported_and_links_are_followed() -> None:
    """The pages come, and deletions are withheld: pages only the sitemap knows are not known now."""
    found = crawl({"/": page("home", "/a"), "/a": page("a"), "/sitemap.xml": b"<html>Oops"})
    assert documents(found) == {"/", "/a"}
    assert isinstance(found["/sitemap.xml"], Unfetched)


def test_the_charset_of_the_header_counts() -> None:
    """A page that declares nothing is read in the encoding the server names."""
    body = "<html><body><main><p>Zurück</p></main>".encode("cp1252")
    raw = crawl({"/": Answer(200, body, "text/html; charset=windows-1252")})["/"]
    (topic,) = SOURCE.parse(raw, WebCrawlOptions.model_validate({"path": "/x"}), lambda key: b"")
    assert isinstance(topic, Topic)
    assert topic.blocks == (Block("paragraph", "Zurück"),)


# -- folders --------------------------------------------------------------------------------------------------------------


def test_a_folder_is_read_file_by_file(tmp_path: Path) -> None:
    """Keys are relative paths; links that leave the folder are rejects; other files are no documents."""
    site = tmp_path / "site"
    (site / "guide").mkdir(parents=True)
    (tmp_path / "secret.html").write_text("<p>secret")
    for name in ("index.html", "guide/a b.html", "404.html"):
        (site / name).write_bytes(page(name))
    (site / "app.js").write_text("x")
    os.symlink(tmp_path / "secret.html", site / "leak.html")
    options = WebCrawlOptions.model_validate({"path": site, "public_url": "https://docs.example.org/{path}"})
    found = {item.key: item for item in SOURCE.export(options)}
    assert list(found) == ["404.html", "guide/a b.html", "index.html", "leak.html"]
    assert found["leak.html"].code == "outside-root"
    assert documents(found) == {"guide/a b.html", "index.html"}
    assert found["guide/a b.html"].url == "https://docs.example.org/guide/a%20b.html"
    assert found["index.html"].url == "https://docs.example.org/"


def test_a_site_that_does_not_know_its_address_is_replayed_under_the_public_one(tmp_path: Path) -> None:
    """``public_url`` gives base path and URLs; without it a name that never resolves stands in, never the loopback port."""
    (tmp_path / "index.html").write_bytes(page("home", "/base/a", "/a"))
    (tmp_path / "a.html").write_bytes(page("a"))
    options = WebCrawlOptions.model_validate({"replay": tmp_path, "public_url": "https://docs.example.org/base/{path}"})
    assert {item.key: item.url for item in SOURCE.export(options) if isinstance(item, RawDocument)} == {
        "/base": "https://docs.example.org/base/", "/base/a": "https://docs.example.org/base/a",
    }  # fmt: skip
    bare = list(SOURCE.export(WebCrawlOptions.model_validate({"replay": tmp_path})))
    assert [item.key for item in bare] == ["/", "/a"]
    assert "127.0.0.1" not in repr(bare)


def test_the_sample_course_is_read_completely() -> None:
    """Each page of the sample is a topic; replay and folder agree; no chrome of the site gets into the text."""
    folder = SAMPLES_DIR / "web_crawl" / "dwc-course"
    results: dict[str, list[Topic]] = {}
    for mode in ("path", "replay"):
        options = WebCrawlOptions.model_validate({mode: folder})
        results[mode] = []
        for raw in SOURCE.export(options):
            assert isinstance(raw, RawDocument), raw
            if raw.role == "document":
                (topic,) = SOURCE.parse(raw, options, lambda key: b"")
                assert isinstance(topic, Topic), topic
                results[mode].append(topic)
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*.html")} - {"404.html", "search.html"}
    assert {topic.key for topic in results["path"]} == files
    assert sorted((t.url or "", t.blocks) for t in results["path"]) == sorted(
        (t.url or "", t.blocks) for t in results["replay"]
    )
    text = "\n".join(block.text for topic in results["replay"] for block in topic.blocks)
    for chrome in ("Edit this page", "Last updated", "Previous", "Skip to main content", "On this page", "Copyright", "\u200b"):
        assert chrome not in text
    assert "Copy" not in text.split()
    assert all(topic.metadata["last_updated"].startswith("2025-") for topic in results["replay"])


# -- pages ----------------------------------------------------------------------------------------------------------------

DOCUSAURUS = (
    '<html><head><meta name=generator content="Docusaurus v3"><title>T | Site</title></head><body><div id=__docusaurus>{}'
)
ARTICLE = DOCUSAURUS.format(
    "<nav>Bar</nav><article><div class=theme-doc-markdown>{}</div><footer class=theme-doc-footer>Edit</footer></article>"
)


def test_code_of_docusaurus_has_lines_language_and_title() -> None:
    """Line ends exist only as ``br``; quotes and closing tags may be missing; the copy button is not code."""
    code = (
        '<div class="language-bbj codeBlockContainer_x theme-code-block"><div class=codeBlockTitle_OeMC>hello.bbj</div>'
        '<div class=codeBlockContent_y><pre class="prism-code language-bbj"><code>'
        "<span class=token-line><span>FOR i=1 TO 2</span><br></span>"
        "<span class=token-line><span>    PRINT </span><span>i</span><br></span>"
        "<span class=token-line><span></span><br></span><span class=token-line>NEXT i<br></span></code></pre>"
        "<div class=buttonGroup_z><button>Copy</button></div></div></div>"
    )
    result = parse(ARTICLE.format(f"<h1>T</h1><p>One<p>Two{code}"))
    assert isinstance(result, Topic)
    assert [block.type for block in result.blocks] == ["heading", "paragraph", "paragraph", "code"]
    block = result.blocks[-1]
    assert (block.text, block.language, block.title) == ("FOR i=1 TO 2\n    PRINT i\n\nNEXT i", "bbj", "hello.bbj")


def test_tabs_and_admonitions_of_docusaurus() -> None:
    """Hidden panels are content under their labels; an admonition is a note with its title; U+200B is nothing."""
    tabs = (
        "<div class=tabs-container><ul role=tablist class=tabs><li role=tab>GUI<li role=tab>DWC</ul><div>"
        "<div role=tabpanel><p>first</div><div role=tabpanel hidden><p>second</div></div></div>"
    )
    note = (
        '<div class="theme-admonition theme-admonition-tip admonition_xJq3 alert"><div class=admonitionHeading_Gvgb>'
        "<span class=admonitionIcon_R><svg></svg></span>Mind</div><div class=admonitionContent_BuS1><p>the gap</div></div>"
    )
    result = parse(ARTICLE.format(f"<h2 id=x>Part<a class=hash-link href=#x>\u200b</a></h2>{tabs}{note}"))
    assert isinstance(result, Topic)
    assert [(block.type, block.text) for block in result.blocks] == [
        ("heading", "Part"), ("paragraph", "GUI"), ("paragraph", "first"), ("paragraph", "DWC"), ("paragraph", "second"),
        ("note", "the gap"),
    ]  # fmt: skip
    assert (result.blocks[0].anchor, result.blocks[-1].title) == ("x", "Mind")


def test_any_other_site_is_read_without_its_frame() -> None:
    """``main`` without navigation, page header, footer and side notes; a call-out in ``aside`` is a note."""
    frame = "<header><p>Logo</p></header><nav>Menu</nav>{}<aside>Ads</aside><footer>Imprint</footer>"
    inner = "<header><h1>Title</h1></header><p>Text</p><aside class=callout><p>Careful</p></aside><nav>Pages</nav>"
    expected = [("heading", "Title"), ("paragraph", "Text"), ("note", "Careful")]
    assert blocks(f"<html><body>{frame.format(f'<main>{inner}</main>')}") == expected
    assert blocks(f"<html><body>{frame.format(f'<article>{inner}</article>')}") == expected
    assert blocks(f"<html><body>{frame.format('<p>Only</p>')}") == [("paragraph", "Only")]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "empty"),
        (b"plain", "not-markup"),
        (b"<html><body><nav>Menu</nav></body></html>", "no-text"),
        (b"\0" * 100, "empty"),
    ],
)
def test_a_page_without_text_says_why(content: bytes, code: str) -> None:
    """No page becomes an empty topic."""
    result = parse(content)
    assert isinstance(result, Reject)
    assert result.code == code


FRAGMENTS = st.sampled_from(
    (
        *("<p>", "</p>", "<pre>", "<main>", "<article>", "<table>", "<h1>", "</div>", "&#0;", "\ud800", "text "),
        *(
            "<aside class=callout>",
            "<div class=codeBlockTitle_x>",
            "<ul role=tablist>",
            "<div role=tabpanel>",
            "<time datetime=x>",
        ),
        *("<td rowspan=0 colspan=x>", "<base href=//>", "<link rel=canonical href='http://[x'>", "<a href='http://:x/'>"),
        '<meta name=generator content="Docusaurus">',
    )
)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200) | st.lists(FRAGMENTS, max_size=25).map(lambda p: "".join(p).encode("utf-8", "replace")))
def test_no_page_makes_the_parser_raise(content: bytes) -> None:
    """Whatever a site sends is a topic with text or a reject with a reason."""
    result = parse(content)
    assert result.reason if isinstance(result, Reject) else result.blocks


def test_the_title_and_dates_of_a_page() -> None:
    """The first ``h1`` is the title, else the page's title without the site's name; the page's own date wins."""
    result = parse(
        '<title>Guide | Site</title><meta property="article:modified_time" content="2025-01-02T03:04:05+01:00"><main><p>x',
        last_modified="2024-01-01T00:00:00Z",
    )
    assert isinstance(result, Topic)
    assert (result.title, result.metadata["last_updated"]) == ("Guide", "2025-01-02T02:04:05Z")
