"""Reads a built site from a folder: one document an HTML file, keyed by its relative path.

Assets beside the pages (scripts, styles, images) are no documents and are not listed. Nothing is requested here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from bbj_pipeline.errors import SourceUnavailable
from bbj_pipeline.records import RawDocument, Reject
from bbj_pipeline.sources.folder import by_key, inside, refusal
from bbj_pipeline.sources.http import public_address
from bbj_pipeline.sources.http.urls import url_path
from bbj_pipeline.sources.markup import MarkupError, parse_document
from bbj_pipeline.sources.web_crawl.addresses import clean_path
from bbj_pipeline.sources.web_crawl.choice import Choice, labels_of
from bbj_pipeline.sources.web_crawl.page import canonical_url
from bbj_pipeline.sources.web_crawl.sitemap import parse_sitemap

__all__ = ["read_folder", "site_address"]

_SUFFIXES = (".html", ".htm", ".xhtml")


def read_folder(root: Path, public_url: str | None, choice: Choice) -> Iterator[RawDocument | Reject]:
    """Yield the pages below ``root`` sorted by key; the error page, the search page and pages not chosen are resources."""
    real_root = root.resolve()
    changed = _sitemap_dates(real_root)
    for key, path in by_key(_pages(real_root)):
        if not choice.reads(clean_path(key).removesuffix(".html")):
            continue
        if isinstance(path, Reject):
            yield path
            continue
        problem = refusal(real_root, path)
        if problem:
            yield Reject(key, *problem)
            continue
        try:
            content = path.read_bytes()
        except OSError as error:
            raise SourceUnavailable(
                f"cannot read {path} ({error.strerror})", remedy="make the folder readable, then run again"
            ) from None
        canonical, labels = _described(content)
        url = public_address(public_url, _public_path(key)) if public_url else canonical
        yield RawDocument(
            key,
            content,
            "text/html",
            "document" if choice.is_document(key, labels) else "resource",
            url=url,
            last_modified=changed.get(clean_path(url_path(canonical))) if canonical else None,
            metadata=labels,
        )


def site_address(root: Path) -> str | None:
    """Return the public address of a built site: the canonical URL of its home page, or the shortest one of its sitemap."""
    home = root / "index.html"
    if home.is_file() and inside(root.resolve(), home):
        canonical, _ = _described(home.read_bytes())
        if canonical is not None:
            return canonical if canonical.endswith("/") else canonical + "/"
    listed = sorted((len(url), url) for url, _ in _sitemap_pages(root))
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


def _sitemap_pages(root: Path) -> tuple[tuple[str, str | None], ...]:
    path = root / "sitemap.xml"
    try:
        return parse_sitemap(path.read_bytes()).pages if inside(root.resolve(), path) else ()
    except (OSError, ValueError):
        return ()  # a folder is complete without one


def _sitemap_dates(root: Path) -> dict[str, str]:
    return {clean_path(url_path(url)): changed for url, changed in _sitemap_pages(root) if changed}


def _pages(root: Path) -> Iterator[tuple[str, Path]]:
    def fail(error: OSError) -> None:
        raise SourceUnavailable(f"cannot list {error.filename}", remedy="make the folder readable, then run again")

    for folder, folders, names in os.walk(root, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "node_modules"]
        for name in names:
            if name.lower().endswith(_SUFFIXES) and not name.startswith("."):
                path = Path(folder, name)
                yield path.relative_to(root).as_posix(), path
