"""Reads sitemaps and sitemap indexes (sitemaps.org 0.9), plain or gzipped. Nothing is fetched here."""

from __future__ import annotations

import gzip
import io
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime

from lxml import etree

__all__ = ["Sitemap", "iso_utc", "parse_sitemap"]

_MAX_BYTES = 50 * 1024 * 1024
"""sitemaps.org: a sitemap has at most 50 MB uncompressed and 50,000 URLs."""
_MAX_URLS = 50_000
_MAX_ELEMENTS = 1_000_000
"""Twenty for each URL: four are the protocol's, the others are translations and pictures."""
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The pages a sitemap lists, each with its last change (ISO 8601 UTC) or ``None``, and the sitemaps an index lists."""

    pages: tuple[tuple[str, str | None], ...] = ()
    sitemaps: tuple[str, ...] = ()


def parse_sitemap(content: bytes) -> Sitemap:
    """Parse a sitemap; raises ``ValueError`` when it is neither a sitemap nor an index, or over the protocol's bounds."""
    plain = io.BytesIO(_decompressed(content).strip())
    name, located = "", []
    elements = etree.iterparse(
        plain, ("start", "end"), resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, huge_tree=False
    )
    try:
        for number, (event, element) in enumerate(elements):
            if number >= 2 * _MAX_ELEMENTS:
                raise ValueError(f"over {_MAX_ELEMENTS:,} elements")
            if not name:
                name = _kind_of(element)
            elif event == "end" and (parent := element.getparent()) is not None and parent.getparent() is None:
                located.append(_entry(element))
                element.clear()
                while element.getprevious() is not None:  # what is read is let go: the tree is as large as one entry
                    del parent[0]
    except etree.XMLSyntaxError as error:
        raise ValueError(f"not well-formed: {error}") from None
    if len(located) > _MAX_URLS:
        raise ValueError(f"over {_MAX_URLS:,} entries")
    located = [(url, changed) for url, changed in located if url]
    if name == "urlset":
        return Sitemap(pages=tuple(located))
    return Sitemap(sitemaps=tuple(url for url, _ in located))


def _kind_of(root: etree._Element) -> str:
    name = etree.QName(root).localname
    if name not in ("urlset", "sitemapindex"):
        raise ValueError(f"expected urlset or sitemapindex, found {name}")
    return name


def iso_utc(value: str | None) -> str | None:
    """Turn a W3C date or date-time into ISO 8601 in UTC to the second; ``None`` when it is not one."""
    if not value:
        return None
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    try:
        return aware.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat() + "Z"
    except OverflowError:
        return None


def _entry(element: etree._Element) -> tuple[str, str | None]:
    values = {etree.QName(child).localname: (child.text or "").strip() for child in element.iterchildren(etree.Element)}
    return values.get("loc", ""), iso_utc(values.get("lastmod"))


def _decompressed(content: bytes) -> bytes:
    """Unpack every member of a gzip, at most so many bytes that the bound is seen to be passed."""
    if not content.startswith(_GZIP):
        return content
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as members:
            plain = members.read(_MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"broken gzip: {error}") from None
    if len(plain) > _MAX_BYTES:
        raise ValueError(f"over {_MAX_BYTES:,} bytes uncompressed")
    return plain
