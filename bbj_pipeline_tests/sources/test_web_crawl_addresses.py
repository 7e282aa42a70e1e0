"""Which addresses are pages of a site, which are the same page, and which of them robots.txt allows."""

from __future__ import annotations

import pytest

from bbj_pipeline.sources.web_crawl.addresses import Scope, clean_path, is_page_address, is_utility_page
from bbj_pipeline.sources.web_crawl.robots import parse_robots


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/", True), ("/a", False), ("/a/b", True), ("/a/b/c.pdf", False), ("/x/tmp/y", False), ("/end", False),
        ("/ending", True), ("/eq", True), ("/f%20g", False),
    ],
)  # fmt: skip
def test_robots_rules_match_by_length_wildcard_and_end(path: str, allowed: bool) -> None:
    """RFC 9309: the longest matching rule counts, allow wins a tie, ``*`` and ``$`` are special."""
    text = (
        b"User-agent: other\nDisallow: /\n\nUser-agent: bbj-pipeline\nUser-agent: more\nDisallow: /a\nAllow: /a/b\n"
        b"Disallow: /*.pdf$\nDisallow: /*/tmp/*\nDisallow: /end$\nDisallow: /eq\nAllow: /eq\nDisallow: /f g # comment\n"
        b"Crawl-delay: 2\n\nUser-agent: *\nDisallow:\n"
    )
    robots = parse_robots(text, "BBj-Pipeline")
    assert robots.allows(path) is allowed
    assert robots.delay == 2.0
    assert parse_robots(text, "someone").allows("/a")


def test_many_wildcards_cost_no_time() -> None:
    """A hostile pattern is matched without backtracking."""
    robots = parse_robots(b"User-agent: *\nDisallow: /" + b"*a" * 2000 + b"$", "x")
    assert robots.allows("/" + "a" * 1999 + "b")


@pytest.mark.parametrize(
    ("path", "clean"),
    [("", "/"), ("/", "/"), ("/a/", "/a"), ("//a//b/index.html", "/a/b"), ("/a%20b", "/a b"), ("/Index.HTML", "/")],
)
def test_one_page_has_one_path(path: str, clean: str) -> None:
    """Slashes, index files and quoting make no other page."""
    assert clean_path(path) == clean


def test_the_scope_of_a_crawl() -> None:
    """The start's folder on its host, further hosts whole, host names in any case, either scheme."""
    scope = Scope("https://Docs.example.org/course", frozenset({"api.example.org"}))
    assert scope.key("http://docs.EXAMPLE.org/course/a/") == "/course/a"
    assert scope.key("https://docs.example.org/courses") is None
    assert scope.key("https://api.example.org/x") == "//api.example.org/x"
    assert scope.key("https://evil.example.org/course") is None
    assert (scope.inside("/course/a"), scope.inside("//api.example.org/x/y")) == ("/a", "x/y")
    assert Scope("https://docs.example.org/v1/index.html").base == "/v1"


@pytest.mark.parametrize(
    ("path", "utility"),
    [("404.html", True), ("/search", True), ("search/index.html", True), ("de/404.html", True), ("zh-Hans/search.html", True),
     ("guide/search.html", False), ("guide/a/404.html", True), ("guide/404", False), ("", False), ("researching.html", False)],
)  # fmt: skip
def test_utility_pages_are_told_from_topics(path: str, utility: bool) -> None:
    """Error and search pages stand at the root or below a language; a chapter about searching is a chapter."""
    assert is_utility_page(path) is utility


def test_assets_are_told_from_pages() -> None:
    """Only what may be HTML is asked for; a version number is no extension."""
    pages = ("/a", "/a/", "/a.html", "/a.php", "/v1.2", "/BBjSysGui.addWindow")
    assets = ("/a.png", "/a.css", "/a.js", "/a.pdf", "/a.zip", "/sitemap.xml")
    assert all(is_page_address(f"https://x.example.org{path}") for path in pages)
    assert not any(is_page_address(f"https://x.example.org{path}") for path in assets)
