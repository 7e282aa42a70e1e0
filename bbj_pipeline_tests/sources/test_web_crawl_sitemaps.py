"""Sitemaps: what a crawl reads of them, and those that were made to break it."""

from __future__ import annotations

import gzip
import subprocess
import sys
import tracemalloc
import zlib
from pathlib import Path

import pytest

from bbj_pipeline.records import Unfetched
from bbj_pipeline.sources.replay import Answer
from bbj_pipeline.sources.web_crawl.sitemap import iso_utc, parse_sitemap
from bbj_pipeline_tests.paths import ROOT
from bbj_pipeline_tests.sources.test_web_crawl import crawl, documents, page, sitemap

MEGABYTE = 1024**2
MOST_KILOBYTES = 350 * 1024
"""Of a process that reads a bomb: the interpreter, the 50 MB that a sitemap may have, and a copy; a tree of it takes 2 GB."""


def bomb(head: bytes, repeated: bytes, times: int) -> bytes:
    """Return a gzip of ``head`` and then ``repeated`` again and again, without ever holding what it unpacks to."""
    pack = zlib.compressobj(9, wbits=-15)
    first = pack.compress(head) + pack.flush(zlib.Z_FULL_FLUSH)
    block = pack.compress(repeated) + pack.flush(zlib.Z_FULL_FLUSH)
    return b"\x1f\x8b\x08\0\0\0\0\0\0\x03" + first + block * times


def test_sitemap_indexes_and_gzip_are_read() -> None:
    """Pages no link leads to come by an index that names a gzipped sitemap; lastmod is kept as UTC."""
    answers: dict[str, Answer | bytes] = {"/": page("home"), "/hidden": page("hidden"), "/lost": page("lost")}

    def handler(target: str) -> Answer:
        if target == "/robots.txt":
            return Answer(200, b"Sitemap: /index.xml\n")
        if target == "/index.xml":
            return Answer(200, sitemap("/one.xml.gz", "/one.xml.gz", "/gone.xml", tag="sitemap"))
        if target == "/one.xml.gz":
            entry = sitemap("/hidden", "/lost").replace(
                b"</loc></url>", b"</loc><lastmod>2025-03-01T12:00:00+02:00</lastmod></url>"
            )
            return Answer(200, gzip.compress(entry), "application/gzip")
        found = answers.get(target, Answer(404))
        return found if isinstance(found, Answer) else Answer(200, found)

    found = crawl(handler)
    assert documents(found) == {"/", "/hidden", "/lost"}
    assert found["/hidden"].last_modified == "2025-03-01T10:00:00Z"


def test_a_gzip_bomb_costs_what_a_sitemap_may_have() -> None:
    """A megabyte that unpacks to a gigabyte is named and not unpacked; the pages that links lead to are read all the same."""
    packed = bomb(b"<urlset>", b" " * MEGABYTE, 1_024)
    assert len(packed) < 2 * MEGABYTE
    site = {
        "/robots.txt": b"Sitemap: /bomb.xml.gz\n",
        "/bomb.xml.gz": Answer(200, packed, "application/gzip"),
        "/": page("home", "/a"),
        "/a": page("a"),
    }
    tracemalloc.start()
    try:
        found = crawl(site)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert documents(found) == {"/", "/a"}
    assert isinstance(found["/bomb.xml.gz"], Unfetched)
    assert "over 52,428,800 bytes uncompressed" in found["/bomb.xml.gz"].reason
    assert peak < 200 * MEGABYTE


def test_a_bomb_of_elements_costs_no_tree(tmp_path: Path) -> None:
    """Twelve million empty elements within the bytes allowed are refused while they are read, in a bounded memory."""
    place = tmp_path / "sitemap.xml.gz"
    place.write_bytes(gzip.compress(b"<urlset>" + b"<a/>" * 12_000_000 + b"</urlset>", 1))
    program = (
        "import re, sys\n"
        "from bbj_pipeline.sources.web_crawl.sitemap import parse_sitemap\n"
        "try:\n    parse_sitemap(open(sys.argv[1], 'rb').read())\n"
        "except ValueError as error:\n    print(error)\n"
        "print(re.search('VmHWM:\\\\s+([0-9]+)', open('/proc/self/status').read())[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(place)], cwd=ROOT, capture_output=True, check=True, timeout=120)
    said, kilobytes = done.stdout.decode().splitlines()
    assert said == "over 1,000,000 elements"
    assert int(kilobytes) < MOST_KILOBYTES


def test_a_full_sitemap_is_read_whole() -> None:
    """All 50,000 addresses that the protocol allows are read, from a gzip of several members too."""
    addresses = tuple(f"https://example.org/{number}" for number in range(50_000))
    content = sitemap(*addresses)
    halves = gzip.compress(content[:1_000_000], 1) + gzip.compress(content[1_000_000:], 1)
    assert tuple(url for url, _ in parse_sitemap(content).pages) == addresses
    assert parse_sitemap(halves) == parse_sitemap(content)


def test_an_index_without_end_is_named() -> None:
    """Sitemaps that name further ones for ever end at a bound, and what was not read is said."""

    def handler(target: str) -> Answer:
        if target.startswith("/sitemap"):
            number = int("0" + target.removeprefix("/sitemap").removesuffix(".xml"))
            return Answer(200, sitemap(f"/sitemap{number + 1}.xml", tag="sitemap"))
        return Answer(200, page("home")) if target == "/" else Answer(404)

    found = crawl(handler)
    assert documents(found) == {"/"}
    assert isinstance(found["/sitemap200.xml"], Unfetched)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html/>",
        b"<urlset>",
        b"\x1f\x8bbroken",
        gzip.compress(b" " * 53_000_000, 1),
        gzip.compress(b"<urlset/>", mtime=0)[:-4],
        gzip.compress(b"<urlset><url><loc>https://example.org/</loc></url></urlset>", mtime=0)
        + gzip.compress(b"<url/>", mtime=0),
        b"<urlset>" + b"<url><loc>https://example.org/</loc></url>" * 50_001 + b"</urlset>",
        b'<!DOCTYPE a [<!ENTITY x "y">]><urlset>&x;',
    ],
)
def test_what_is_no_sitemap_is_said(content: bytes) -> None:
    """Broken, foreign and oversized files raise with a reason, never a half-read list."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the reasons differ, that there is one is the promise
        parse_sitemap(content)
    assert str(caught.value)


def test_no_entity_of_a_sitemap_is_expanded(tmp_path: Path) -> None:
    """External entities are not read."""
    secret = tmp_path / "secret"
    secret.write_text("https://secret.example.org/")
    text = f'<!DOCTYPE u [<!ENTITY x SYSTEM "file://{secret}">]><urlset><url><loc>&x;</loc></url></urlset>'
    assert "secret" not in repr(parse_sitemap(text.encode()))


@pytest.mark.parametrize(
    ("value", "iso"),
    [
        ("2025-05-01", "2025-05-01T00:00:00Z"),
        ("2025-05-01T10:00:00.5+02:00", "2025-05-01T08:00:00Z"),
        ("May", None),
        (None, None),
        ("", None),
    ],
)
def test_dates_become_utc(value: str | None, iso: str | None) -> None:
    """W3C dates become one form; others are none."""
    assert iso_utc(value) == iso
