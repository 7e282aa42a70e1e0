"""Addresses and names in the one form in which they are compared: of URLs, of keys, and of what documents are called."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

__all__ = ["is_address", "is_page", "key_form", "name_form", "names_of", "url_form"]

_PAGE_SUFFIXES = (".htm", ".html", ".xhtml", ".md", ".mdx", ".php")
_ADDRESS = re.compile(r"^\S*(?:/|\.(?:html?|xhtml|mdx?)(?:[#?]|$))\S*$|^https?:", re.IGNORECASE)
_NUMBERED = re.compile(r"^\d+\s*[-_.]+\s*(?=\D)")
_SUBTITLE = re.compile(r"\s+(?:[-–—:])\s+|:\s")
_KIND_WORD = re.compile(
    r"\s+(?:verbs?|functions?|mnemonics?|statements?|methods?|commands?|class|interface|object|event|property)$", re.IGNORECASE
)
_CALL = re.compile(r"\([^()]*\)$")


def is_address(target: str) -> bool:
    """Tell a link target from a name: it has a slash or a page's suffix, and no white space."""
    return _ADDRESS.match(target) is not None


def is_page(path: str) -> bool:
    """Tell whether a path may be a document's: no suffix, or a page's; pictures, archives and style sheets are not."""
    suffix = posixpath.splitext(path)[1].lower()
    return not re.fullmatch(r"\.[a-z][a-z0-9]{0,5}", suffix) or suffix in _PAGE_SUFFIXES


def url_form(url: str) -> str:
    """Return host and path of a URL without scheme, suffix, ``index`` and trailing slash, unquoted, in lower case."""
    parts = urlsplit(url)
    return f"{parts.netloc.lower()}/{_bare_path(parts.path)}".rstrip("/")


def key_form(key: str) -> str:
    """Return a document key as ``url_form`` has paths, without the numbers that only order files (``02-windows``)."""
    path = _bare_path(key)
    return "/".join(_NUMBERED.sub("", part) for part in path.split("/"))


def name_form(name: str) -> str:
    """Return a name as it is compared: no call's parentheses, ``.`` for ``::``, single spaces, lower case."""
    return _CALL.sub("", " ".join(name.split()).replace("::", ".").strip(" .,:;")).casefold()


def names_of(title: str, key: str, kind: str) -> Iterator[str]:
    """Yield what a document is called, in the form of ``name_form``, the fullest name first.

    ``CTRL() Function - Return …`` is also ``CTRL() Function`` and ``CTRL``; ``BBjSysGui::addWindow`` also ``addWindow``; a
    JavaDoc class also has its package.
    """
    yield name_form(title)
    if kind == "javadoc":
        yield name_form(key)
    short = _SUBTITLE.split(title, maxsplit=1)[0]
    yield name_form(short)
    bare = _KIND_WORD.sub("", short)
    yield name_form(bare)
    if re.fullmatch(r"[\w.:]+(?:\(\))?", bare) and ("::" in bare or "." in bare):
        yield name_form(re.split(r"::|\.", bare)[-1])


def _bare_path(path: str) -> str:
    bare = unquote(path).casefold().strip("/")
    stem, suffix = posixpath.splitext(bare)
    if suffix in _PAGE_SUFFIXES:
        bare = stem
    return "" if bare == "index" else bare.removesuffix("/index")
