"""Reads a built site from a folder: one document an HTML file, keyed by its relative path.

Assets beside the pages (scripts, styles, images) are no documents and are not listed. Nothing is requested here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from bbj_pipeline.records import RawDocument, Reject
from bbj_pipeline.sources.contract import InputFiles
from bbj_pipeline.sources.folder import FolderFiles, read_now
from bbj_pipeline.sources.http import public_address
from bbj_pipeline.sources.http.urls import url_path
from bbj_pipeline.sources.markup import MarkupError, parse_document
from bbj_pipeline.sources.web_crawl.addresses import clean_path
from bbj_pipeline.sources.web_crawl.choice import Choice, labels_of
from bbj_pipeline.sources.web_crawl.page import canonical_url
from bbj_pipeline.sources.web_crawl.sitemap import parse_sitemap

__all__ = ["list_pages", "read_pages", "site_address"]

_SUFFIXES = (".html", ".htm", ".xhtml")
_HOME, _SITEMAP = "index.html", "sitemap.xml"
_PACKAGES = frozenset(("node_modules",))


def list_pages(root: Path, choice: Choice) -> FolderFiles:
    """List the pages below ``root`` that are chosen to be read, and the sitemap."""
    return FolderFiles(root, lambda key: _is_page(key, choice) or key == _SITEMAP, skipped=_PACKAGES)


def read_pages(files: InputFiles, public_url: str | None, choice: Choice) -> Iterator[RawDocument | Reject]:
    """Yield the pages sorted by key; the error page, the search page and pages that are no documents are resources.

    Raises ``SourceUnavailable`` when a page cannot be read now.
    """
    keys = files.all_keys()
    changed = _sitemap_dates(read_now(files, _SITEMAP)) if _SITEMAP in keys else {}
    for key in keys:
        content = read_now(files, key) if key != _SITEMAP else None
        if isinstance(content, Reject):
            yield content
        elif content is not None:
            yield _page(key, content, public_url, choice, changed)


def _page(key: str, content: bytes, public_url: str | None, choice: Choice, changed: Mapping[str, str]) -> RawDocument:
    canonical, labels = _described(content)
    return RawDocument(
        key,
        content,
        "text/html",
        "document" if choice.is_document(key, labels) else "resource",
        url=public_address(public_url, _public_path(key)) if public_url else canonical,
        last_modified=changed.get(clean_path(url_path(canonical))) if canonical else None,
        metadata=labels,
    )


def site_address(root: Path) -> str | None:
    """Return the public address of a built site: the canonical URL of its home page, or the shortest one of its sitemap."""
    files = FolderFiles(root, lambda key: key in (_HOME, _SITEMAP), skipped=_PACKAGES)
    found = {key: files.read(key) for key in files.all_keys()}
    home, sitemap = found.get(_HOME), found.get(_SITEMAP)
    if isinstance(home, bytes):
        canonical, _ = _described(home)
        if canonical is not None:
            return canonical if canonical.endswith("/") else canonical + "/"
    listed = sorted((len(url), url) for url, _ in _sitemap_pages(sitemap)) if isinstance(sitemap, bytes) else []
    return listed[0][1].rpartition("/")[0] + "/" if listed else None


def _described(content: bytes) -> tuple[str | None, dict[str, str]]:
    """Return a page's canonical URL and its labels."""
    try:
        root = parse_document(content).root
    except MarkupError:
        return None, {}
    return canonical_url(root), labels_of(root)


def _public_path(key: str) -> str:
    folder, _, name = key.rpartition("/")
    return (folder + "/" if folder else "") if name == "index.html" else key


def _is_page(key: str, choice: Choice) -> bool:
    return key.lower().endswith(_SUFFIXES) and choice.reads(clean_path(key).removesuffix(".html"))


def _sitemap_pages(content: bytes | Reject) -> tuple[tuple[str, str | None], ...]:
    try:
        return parse_sitemap(content).pages if isinstance(content, bytes) else ()
    except ValueError:
        return ()  # a folder is complete without one


def _sitemap_dates(content: bytes | Reject) -> dict[str, str]:
    return {clean_path(url_path(url)): changed for url, changed in _sitemap_pages(content) if changed}
