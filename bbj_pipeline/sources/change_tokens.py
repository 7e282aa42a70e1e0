"""Tells whether an export changed: cheaply by its listing, certainly by its content; on disk or in any fsspec store.

The listing token only says *look again*; what is done about it is decided by the content digest, so a copied or touched
export that holds the same bytes is the same export. Tokens are compared with earlier tokens, never with a clock.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec

__all__ = ["Entry", "Look", "content_digest", "list_export", "look_at"]

_READ_BYTES = 1 << 20
_STATES = ("size", "mtime", "created", "ino", "ETag", "etag", "md5Hash", "LastModified", "last_modified", "version_id")
"""What file systems say of a file that changes when its bytes do, as far as each of them says it."""
_CONTENT_HASHES = ("ETag", "etag", "md5Hash")
"""What object stores say that only changes with the bytes: spares reading them all over the network."""


@dataclass(frozen=True, slots=True)
class Look:
    """One look at an export: a token of its listing and one of its marker file; ``None`` for what is not there."""

    listing: str | None
    marker: str | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of an export: name relative to the export, path in the store, size, state, and the bytes' hash if told."""

    name: str
    path: str
    size: int
    state: str
    content_hash: str | None


def look_at(location: Path | str, marker: str | None = None) -> Look:
    """Look at a folder or one file, given as path or fsspec URL; ``marker`` lies in the folder, or beside the file.

    Listed are names, sizes and what else the file system says of a file's state. Raises ``OSError`` when the store does not
    answer.
    """
    _, entries, is_folder = list_export(location, marker)
    token = hashlib.sha256()
    for entry in entries:
        token.update(f"{entry.name}\0{entry.state}\n".encode(errors="surrogateescape"))
    marked = _marker_state(str(location), is_folder, marker) if marker else None
    return Look(token.hexdigest() if entries else None, marked)


def content_digest(location: Path | str, marker: str | None = None) -> str:
    """Return a hash of names and bytes at ``location``, without the marker; raises ``OSError`` when a file goes away meanwhile.

    Where the store keeps a hash of each file's bytes, that hash stands for them.
    """
    store, entries, _ = list_export(location, marker)
    digest = hashlib.sha256()
    for entry in entries:
        digest.update(f"{entry.name}\0{entry.size}\n".encode(errors="surrogateescape"))
        if entry.content_hash is not None:
            digest.update(entry.content_hash.encode())
            continue
        with store.open(entry.path, "rb") as source:
            while piece := source.read(_READ_BYTES):
                digest.update(piece)
    return digest.hexdigest()


def list_export(location: Path | str, marker: str | None = None) -> tuple[Any, list[Entry], bool]:
    """Return the store, all regular files at ``location`` without the marker, by name, and whether they lie in a folder.

    Links are not followed. There are no files when there is nothing at ``location``.
    """
    store, root = fsspec.core.url_to_fs(str(location))
    store.invalidate_cache()  # a cached listing would hide what came since
    try:
        if store.isfile(root):
            return store, [_entry(posixpath.basename(root), store.info(root))], False
    except FileNotFoundError:  # it went away between two questions: the next look sees the new state
        return store, [], False
    found = store.find(root, detail=True)
    files = ((path.removeprefix(root).lstrip("/"), entry) for path, entry in sorted(found.items()))
    listed = [_entry(name, entry) for name, entry in files if name != marker and _is_regular(entry)]
    return store, listed, True


def _marker_state(location: str, is_folder: bool, marker: str) -> str | None:
    store, root = fsspec.core.url_to_fs(location)
    path = posixpath.join(root if is_folder else posixpath.dirname(root), marker)
    return _state(store.info(path)) if store.isfile(path) else None


def _is_regular(entry: Mapping[str, Any]) -> bool:
    return entry.get("type") == "file" and not entry.get("islink")


def _entry(name: str, entry: Mapping[str, Any]) -> Entry:
    told = next((str(entry[key]) for key in _CONTENT_HASHES if entry.get(key)), None)
    return Entry(name, entry["name"], int(entry["size"] or 0), _state(entry), told)


def _state(entry: Mapping[str, Any]) -> str:
    return "\0".join(f"{key}={entry[key]}" for key in _STATES if entry.get(key) is not None)
