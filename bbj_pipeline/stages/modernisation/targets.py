"""All known documents, and which of them a link target or a name means.

A target is resolved as its reader's browser would, then by keys of the same instance; a name by titles, in the reader's own
instance before others. What is not one document is said, never guessed.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from bbj_pipeline.records import DocumentId
from bbj_pipeline.stages.modernisation.addresses import is_address, is_page, key_form, name_form, names_of, url_form

__all__ = ["LINKED_KINDS", "KnownDocument", "Library", "Resolution"]

LINKED_KINDS = frozenset({"flare", "mdx", "web_crawl", "wordpress"})
"""Kinds whose documents are pages of one site each: a link inside it that leads nowhere is broken."""
_LISTINGS = ("category/", "tag/", "author/", "page/", "feed", "wp-content/", "wp-json", "wp-login", "wp-admin", "comments/")
"""Pages of a WordPress site that are no posts."""


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """A published document as far as links and names need it; a lower ``rank`` is preferred where names collide."""

    id: DocumentId
    title: str
    url: str | None = None
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Resolution:
    """The document a target means, or why it means none: ``external``, ``dangling`` or ``ambiguous`` with the candidates."""

    id: DocumentId | None = None
    reason: str = ""
    candidates: tuple[DocumentId, ...] = ()


class Library:
    """The published documents by identity, address and name."""

    def __init__(self, documents: Iterable[KnownDocument]) -> None:
        self._documents = {document.id: document for document in documents}
        self._by_url: dict[str, list[DocumentId]] = defaultdict(list)
        self._by_key: dict[tuple[str, str, str], DocumentId] = {}
        self._by_name: dict[str, dict[DocumentId, int]] = defaultdict(dict)
        self._hosts: dict[tuple[str, str], set[str]] = defaultdict(set)
        for document in self._documents.values():
            self._index(document)

    def __contains__(self, item: DocumentId) -> bool:
        return item in self._documents

    def __getitem__(self, item: DocumentId) -> KnownDocument:
        return self._documents[item]

    def __iter__(self) -> Iterator[DocumentId]:
        return iter(self._documents)

    def instances(self) -> set[tuple[str, str]]:
        """Return (kind, instance) of all that have a document."""
        return {(item.kind, item.instance) for item in self._documents}

    def resolve(self, source: DocumentId, target: str) -> Resolution:
        """Return the document that ``target``, a link or a name in ``source``, means."""
        return self._linked(source, target) if is_address(target) else self._named(source, target)

    def _index(self, document: KnownDocument) -> None:
        owner = document.id
        self._by_key.setdefault((owner.kind, owner.instance, key_form(owner.key)), owner)
        if document.url:
            self._by_url[url_form(document.url)].append(owner)
            self._hosts[owner.kind, owner.instance].add(urlsplit(document.url).netloc.lower())
        for level, name in enumerate(dict.fromkeys(names_of(document.title, owner.key, owner.kind))):
            if name:
                self._by_name[name].setdefault(owner, level)

    def _linked(self, source: DocumentId, target: str) -> Resolution:
        parts = urlsplit(target)
        if not is_page(parts.path):
            return Resolution(reason="external")
        url = self._documents[source].url if source in self._documents else None
        absolute = urljoin(url, target) if url else target
        if parts.scheme or parts.netloc or (url and urlsplit(absolute).netloc):
            found = self._by_url.get(url_form(absolute), [])
            own = [item for item in found if (item.kind, item.instance) == (source.kind, source.instance)]
            if own or found:
                return Resolution((own or self._preferred(found))[0])
        if parts.scheme or parts.netloc:
            hosts = self._hosts.get((source.kind, source.instance), set())
            is_own = source.kind in LINKED_KINDS and parts.netloc.lower() in hosts
            return Resolution(reason="dangling" if is_own and not _is_listing(source.kind, parts.path) else "external")
        for key in _keys(source.key, parts.path):
            if found_key := self._by_key.get((source.kind, source.instance, key)):
                return Resolution(found_key)
        linked = source.kind in LINKED_KINDS and not _is_listing(source.kind, parts.path)
        return Resolution(reason="dangling" if linked else "external")

    def _named(self, source: DocumentId, name: str) -> Resolution:
        form = name_form(name)
        levels = {item: level for item, level in self._by_name.get(form, {}).items() if item != source}
        if not levels:
            return Resolution(reason="dangling")
        best = min(levels.values())
        found = [item for item, level in levels.items() if level == best]
        own = [item for item in found if (item.kind, item.instance) == (source.kind, source.instance)]
        candidates = own or self._preferred(found)
        if len(candidates) > 1:
            return Resolution(reason="ambiguous", candidates=tuple(sorted(candidates)))
        return Resolution(candidates[0])

    def _preferred(self, found: Sequence[DocumentId]) -> list[DocumentId]:
        """Return those of the most preferred source."""
        best = min(self._documents[item].rank for item in found)
        return sorted(item for item in found if self._documents[item].rank == best)


def _is_listing(kind: str, path: str) -> bool:
    return kind == "wordpress" and (path.strip("/") == "" or path.lstrip("/").startswith(_LISTINGS))


def _keys(key: str, path: str) -> Iterator[str]:
    """Yield the keys, in ``key_form``, that a path in the document ``key`` may mean, the likeliest first."""
    folder = posixpath.dirname(key)
    if path.startswith("/"):
        rest = path.lstrip("/").split("/")
        for count in range(len(rest)):  # a site is often built under a base path that its keys do not have
            yield key_form("/".join(rest[count:]))
        top = key.split("/")[0]
        yield key_form(f"{top}/{path.lstrip('/')}")
        return
    for base in (folder, posixpath.splitext(key)[0]):  # a page's address may end in a slash, and then is a folder itself
        joined = posixpath.normpath(posixpath.join(base, path))
        if not joined.startswith(".."):
            yield key_form("" if joined == "." else joined)
    while folder and not path.startswith("."):  # some sites resolve all links from the root of their documents
        folder = posixpath.dirname(folder)
        yield key_form(posixpath.join(folder, path))
