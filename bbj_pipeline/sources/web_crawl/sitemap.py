"""Reads sitemaps and sitemap indexes (sitemaps.org 0.9), plain or gzipped. Nothing is fetched here."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from datetime import UTC, datetime

from lxml import etree

__all__ = ["Sitemap", "iso_utc", "parse_sitemap"]

_MAX_BYTES = 50 * 1024 * 1024
"""sitemaps.org: a sitemap has at most 50 MB uncompressed and 50,000 URLs."""
_MAX_URLS = 50_000


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The pages a sitemap lists, each with its last change (ISO 8601 UTC) or ``None``, and the sitemaps an index lists."""

    pages: tuple[tuple[str, str | None], ...] = ()
    sitemaps: tuple[str, ...] = ()


def parse_sitemap(content: bytes) -> Sitemap:
    """Parse a sitemap; raises ``ValueError`` when it is neither a sitemap nor an index, or over the protocol's bounds."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, huge_tree=False)
    try:
        root = etree.fromstring(_decompressed(content).strip(), parser)
    except etree.XMLSyntaxError as error:
        raise ValueError(f"not well-formed: {error}") from None
    name = etree.QName(root).localname
    if name not in ("urlset", "sitemapindex"):
        raise ValueError(f"expected urlset or sitemapindex, found {name}")
    entries = [_entry(element) for element in list(root.iterchildren(etree.Element))[:_MAX_URLS]]
    located = [(url, changed) for url, changed in entries if url]
    if name == "urlset":
        return Sitemap(pages=tuple(located))
    return Sitemap(sitemaps=tuple(url for url, _ in located))


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
    if not content.startswith(b"\x1f\x8b"):
        return content
    stream = zlib.decompressobj(wbits=31)
    try:
        plain = stream.decompress(content, _MAX_BYTES)
    except zlib.error as error:
        raise ValueError(f"broken gzip: {error}") from None
    if stream.unconsumed_tail:
        raise ValueError(f"over {_MAX_BYTES:,} bytes uncompressed")
    return plain
