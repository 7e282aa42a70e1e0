"""When two URLs are the same page, which pages belong to a crawl, and which are no documents. Pure functions on strings."""

from __future__ import annotations

import mimetypes
from dataclasses import dataclass
from urllib.parse import unquote, urljoin, urlsplit

from bbj_pipeline.sources.http import origin_of

__all__ = ["Scope", "clean_path", "is_page_address", "is_utility_page", "joined"]

_MAX_URL = 2_000
_PAGE_TYPES = ("text/html", "application/xhtml+xml")
_TYPES = mimetypes.MimeTypes()
"""Python's own table alone: the machine's mime.types knows extensions such as ``.2`` (a manual page) and differs everywhere."""
_INDEXES = ("index.html", "index.htm", "index.xhtml")
_UTILITY_NAMES = frozenset(("404", "search"))


def joined(base: str, reference: str) -> str | None:
    """Resolve a reference of a page; ``None`` when it is no http(s) URL or absurdly long. The fragment is dropped."""
    try:
        url = urljoin(base, reference.strip())
        origin_of(url)
    except ValueError:
        return None
    url = url.partition("#")[0]
    return url if len(url) <= _MAX_URL else None


def clean_path(path: str) -> str:
    """Return the one form of a URL path (decoded): no doubled or trailing slash, no ``index.html``; the root is ``/``."""
    parts = [part for part in unquote(path).split("/") if part]
    if parts and parts[-1].lower() in _INDEXES:
        parts.pop()
    return "/" + "/".join(parts)


@dataclass(frozen=True, slots=True)
class Scope:
    """What a crawl that begins at ``start`` may read: everything below it on its host, and the further ``hosts`` whole.

    The key of a page is its clean URL path; on a further host ``//host/path``. Query strings do not make another page.
    """

    start: str
    hosts: frozenset[str] = frozenset()

    @property
    def host(self) -> str:
        """Host of the start URL, with its port when that is not the default one."""
        return _host(self.start)

    @property
    def base(self) -> str:
        """The clean path everything on the start host must lie below."""
        path = urlsplit(self.start).path
        folder = path if path.endswith("/") or "." not in path.rpartition("/")[2] else path.rpartition("/")[0]
        return clean_path(folder)

    @property
    def origins(self) -> frozenset[str]:
        """The origins that may be asked: http and https of every host."""
        hosts = {self.host, *self.hosts}
        return frozenset(f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts)

    def key(self, url: str) -> str | None:
        """Return the key of the page at ``url``, or ``None`` when it is outside the crawl."""
        path = clean_path(urlsplit(url).path)
        host = _host(url)
        if host == self.host:
            return path if self.base == "/" or path == self.base or path.startswith(self.base + "/") else None
        return f"//{host}{path}" if host in self.hosts else None

    def inside(self, key: str) -> str:
        """Return the path of a page relative to the start, for public URLs."""
        if key.startswith("//"):
            return key.partition("/")[2].lstrip("/").partition("/")[2]
        return key if self.base == "/" else key[len(self.base) :]


def _host(url: str) -> str:
    return origin_of(url).partition("//")[2]


def is_page_address(url: str) -> bool:
    """Say whether a link may lead to a page: its path has no extension, an unknown one, or one of HTML."""
    guessed = _TYPES.guess_type(urlsplit(url).path, strict=False)[0]
    return guessed is None or guessed in _PAGE_TYPES or "php" in guessed


def is_utility_page(path: str) -> bool:
    """Say whether a page, by its path below the site's root, is the error page or the search page of a generated site.

    Both stand at the root, or one level down where the site has languages; a topic ``guide/chapter/search`` is a topic. A file
    ``404.html`` is an error page wherever it stands.
    """
    parts = [part for part in path.strip("/").split("/") if part]
    if parts and parts[-1].lower() in _INDEXES:
        parts.pop()
    if not parts or len(parts) > 2 or (len(parts) == 2 and not _is_language(parts[0])):
        return bool(parts) and parts[-1].lower() in ("404.html", "404.htm")
    return parts[-1].lower().removesuffix(".html").removesuffix(".htm") in _UTILITY_NAMES


def _is_language(name: str) -> bool:
    language, _, region = name.partition("-")
    return len(language) == 2 and language.isalpha() and len(region) in (0, 2, 4)
