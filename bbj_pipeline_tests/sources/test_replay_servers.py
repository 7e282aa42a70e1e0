"""The loopback servers answer as the originals do: a static host, and a WordPress REST API."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
import requests

from bbj_pipeline.sources.replay import serve, serve_site, serve_wordpress
from bbj_pipeline.sources.replay.site import site_answer
from bbj_pipeline_tests.sources.traffic import Traffic

LATER, EPOCH = "Wed, 01 Jan 2110 00:00:00 GMT", "Thu, 01 Jan 1970 00:00:00 GMT"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    root = tmp_path / "site"
    (root / "guide" / "deep").mkdir(parents=True)
    (root / "index.html").write_text("<p>home")
    (root / "about.html").write_text("<p>about")
    (root / "guide" / "index.html").write_text("<p>guide")
    (root / "guide" / "a b.html").write_text("<p>blank")
    (root / "404.html").write_text("<p>not here")
    (root / "robots.txt").write_text("User-agent: *\n")
    (tmp_path / "secret.html").write_text("<p>secret")
    os.symlink(tmp_path / "secret.html", root / "leak.html")
    return root


def get(url: str, **headers: str) -> requests.Response:
    return requests.get(url, headers=headers, timeout=10, allow_redirects=False)


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("/base/", 200, "<p>home"), ("/base/index.html", 200, "<p>home"), ("/base/about", 200, "<p>about"),
        ("/base/about.html", 200, "<p>about"), ("/base/about/", 200, "<p>about"), ("/base/guide", 200, "<p>guide"),
        ("/base/guide/", 200, "<p>guide"), ("/base/guide/a%20b?x=1", 200, "<p>blank"), ("/base/nothing", 404, "<p>not here"),
        ("/", 404, "<p>not here"), ("/robots.txt", 200, "User-agent: *\n"), ("/base/guide/deep/", 404, "<p>not here"),
    ],
)  # fmt: skip
def test_a_static_site_is_found_as_on_a_static_host(site: Path, path: str, status: int, body: str) -> None:
    """Pages are found with and without extension and slash, below the base path; the rest is the site's own 404."""
    with serve_site(site, base_path="/base/") as origin:
        reply = get(origin + path)
    assert (reply.status_code, reply.text) == (status, body)


@pytest.mark.parametrize(
    "path", ["/base/../secret.html", "/base/%2e%2e/secret", "/base/leak.html", "/base/%00", "/base//etc/passwd"]
)
def test_nothing_outside_the_folder_is_served(site: Path, path: str) -> None:
    """Neither dots nor links lead out of the folder."""
    with serve_site(site, base_path="/base/") as origin:
        session = requests.Session()
        prepared = session.prepare_request(requests.Request("GET", origin))
        prepared.url = origin + path  # as written: requests would tidy the dots away
        reply = session.send(prepared, timeout=10)
        session.close()
    assert reply.status_code == 404
    assert "secret" not in reply.text


def test_the_base_without_its_slash_redirects(site: Path) -> None:
    """``/base`` sends the browser to ``/base/``, so that relative links work."""
    with serve_site(site, base_path="base") as origin:
        reply = get(f"{origin}/base")
    assert (reply.status_code, reply.headers["Location"]) == (301, "/base/")


def test_etag_and_last_modified_allow_a_conditional_request(site: Path) -> None:
    """The same content has the same ETag and is not sent twice."""
    with serve_site(site) as origin:
        first = get(f"{origin}/about")
        second = get(f"{origin}/about", **{"If-None-Match": first.headers["ETag"]})
    assert "GMT" in first.headers["Last-Modified"]
    assert (second.status_code, second.content) == (304, b"")


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"If-Modified-Since": LATER}, 304), ({"If-Modified-Since": EPOCH}, 200),
        ({"If-Modified-Since": "soon"}, 200), ({"If-None-Match": '"other"', "If-Modified-Since": LATER}, 200),
    ],
)  # fmt: skip
def test_a_date_is_asked_about_as_rfc_9110_says(site: Path, asked: dict[str, str], status: int) -> None:
    """If-Modified-Since is answered, nonsense is ignored, and an ETag that does not match decides alone."""
    with serve_site(site) as origin:
        assert get(f"{origin}/about", **asked).status_code == status


def test_one_of_several_etags_is_enough_and_weak_ones_count(site: Path) -> None:
    """If-None-Match is a list, compared weakly."""
    with serve_site(site) as origin:
        etag = get(f"{origin}/about").headers["ETag"]
        assert get(f"{origin}/about", **{"If-None-Match": f'"x", W/{etag}'}).status_code == 304


def test_an_observer_is_told_what_was_sent(site: Path) -> None:
    """Target, status and bytes of the body as they went over the wire."""
    traffic = Traffic()
    with serve(lambda target: site_answer(site.resolve(), "/", target), traffic) as origin:
        first = get(f"{origin}/about", **{"Accept-Encoding": "identity"})
        get(f"{origin}/about", **{"If-None-Match": first.headers["ETag"]})
    assert traffic.answers == [("/about", 200, len("<p>about")), ("/about", 304, 0)]


def test_only_loopback_is_bound(site: Path) -> None:
    """A replay is not reachable from outside, and each has a port of its own."""
    with serve_site(site) as one, serve_site(site) as other:
        assert one != other
        assert one.startswith("http://127.0.0.1:")


def objects() -> list[dict[str, Any]]:
    posts: list[dict[str, Any]] = [{"id": n, "type": "post", "title": {"rendered": str(n)}} for n in range(1, 251)]
    return [*posts, {"id": 900, "type": "recipe"}, {"id": 5, "taxonomy": "category", "name": "News"}]


def test_wordpress_pages_have_totals_and_an_end() -> None:
    """250 posts are three pages of at most 100 with totals in headers; the fourth is WordPress' own error."""
    with serve_wordpress(objects()) as origin:
        root = f"{origin}/wp-json/wp/v2"
        pages = [get(f"{root}/posts?per_page=100&page={n}&orderby=id&order=asc") for n in (1, 2, 3, 4)]
    assert [len(page.json()) for page in pages[:3]] == [100, 100, 50]
    assert [page.headers["X-WP-Total"] + "/" + page.headers["X-WP-TotalPages"] for page in pages[:3]] == ["250/3"] * 3
    assert (pages[3].status_code, pages[3].json()["code"]) == (400, "rest_post_invalid_page_number")
    assert [item["id"] for page in pages[:3] for item in page.json()] == list(range(1, 251))


def test_wordpress_lists_its_types_and_refuses_what_it_does_not_have() -> None:
    """Types come with their REST bases, single objects by id, unknown routes and parameters as WordPress' errors."""
    with serve_wordpress(objects(), base_path="/blog") as origin:
        root = f"{origin}/blog/wp-json/wp/v2"
        types = get(f"{root}/types").json()
        assert {slug: entry["rest_base"] for slug, entry in types.items()} == {
            "post": "posts", "page": "pages", "recipe": "recipe",
        }  # fmt: skip
        assert get(f"{root}/pages").json() == []
        assert get(f"{root}/recipe/900").json()["id"] == 900
        assert get(f"{root}/categories").json()[0]["name"] == "News"
        assert get(f"{root}/posts/901").status_code == 404
        assert get(f"{root}/nothing").json()["code"] == "rest_no_route"
        assert get(f"{root}/posts?per_page=101").json()["code"] == "rest_invalid_param"
        assert get(f"{origin}/wp-json/wp/v2/posts").status_code == 404


def test_wordpress_gives_what_changed_and_the_fields_that_are_asked_for() -> None:
    """``modified_after`` is exclusive and in UTC, ``_fields`` trims each object, and a date that is none is refused."""
    posts = [
        {"id": n, "type": "post", "title": {"rendered": "T"}, "modified_gmt": f"2025-01-0{n}T10:00:00"} for n in range(1, 6)
    ]
    with serve_wordpress(posts) as origin:
        root = f"{origin}/wp-json/wp/v2/posts?order=asc&orderby=id"
        changed = get(f"{root}&modified_after=2025-01-03T10:00:00Z")
        keys = get(f"{root}&_fields=id,modified_gmt&per_page=2")
        refused = get(f"{root}&modified_after=yesterday")
    assert ([item["id"] for item in changed.json()], changed.headers["X-WP-Total"]) == ([4, 5], "2")
    assert keys.json() == [{"id": n, "modified_gmt": f"2025-01-0{n}T10:00:00"} for n in (1, 2)]
    assert (refused.status_code, refused.json()["code"]) == (400, "rest_invalid_param")


def test_answers_are_compressed_when_asked_for() -> None:
    """A client that accepts gzip gets gzip, with the plain content's ETag."""
    with serve_wordpress(objects()) as origin:
        url = f"{origin}/wp-json/wp/v2/types"
        with requests.get(url, headers={"Accept-Encoding": "gzip"}, timeout=10, stream=True) as reply:
            raw = reply.raw.read(decode_content=False)
        plain = get(url, **{"Accept-Encoding": "identity"})
    assert json.loads(gzip.decompress(raw)) == plain.json()
    assert reply.headers["ETag"] == plain.headers["ETag"]
