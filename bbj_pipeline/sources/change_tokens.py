"""Tells whether an export changed: cheaply by its listing, certainly by its content; on disk or in any fsspec store.

The listing token only says *look again*; what is done about it is decided by the content digest, so a copied or touched
export that holds the same bytes is the same export. Tokens are compared with earlier tokens, never with a clock.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec

__all__ = ["Look", "content_digest", "look_at"]

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


def look_at(location: Path | str, marker: str | None = None) -> Look:
    """Look at a folder or one file, given as path or fsspec URL; ``marker`` lies in the folder, or beside the file.

    Listed are names, sizes and what else the file system says of a file's state. Raises ``OSError`` when the store does not
    answer.
    """
    store, root = _open(location)
    token = hashlib.sha256()
    marked = None
    seen = False
    for name, entry in _entries(store, root, marker):
        state = _state(entry)
        if name is None:
            marked = hashlib.sha256(state.encode()).hexdigest()
            continue
        token.update(f"{name}\0{state}\n".encode(errors="surrogateescape"))
        seen = True
    return Look(token.hexdigest() if seen else None, marked)


def content_digest(location: Path | str, marker: str | None = None) -> str:
    """Return a hash of names and bytes at ``location``, without the marker; raises ``OSError`` when a file goes away meanwhile.

    Where the store keeps a hash of each file's bytes, that hash stands for them.
    """
    store, root = _open(location)
    digest = hashlib.sha256()
    for name, entry in _entries(store, root, marker):
        if name is None:
            continue
        digest.update(f"{name}\0{entry['size']}\n".encode(errors="surrogateescape"))
        known = next((str(entry[key]) for key in _CONTENT_HASHES if entry.get(key)), None)
        if known is not None:
            digest.update(known.encode())
            continue
        with store.open(entry["name"], "rb") as source:
            while piece := source.read(_READ_BYTES):
                digest.update(piece)
    return digest.hexdigest()


def _open(location: Path | str) -> tuple[Any, str]:
    store, root = fsspec.core.url_to_fs(str(location))
    store.invalidate_cache()  # a cached listing would hide what came since
    return store, str(root)


def _entries(store: Any, root: str, marker: str | None) -> Iterator[tuple[str | None, Mapping[str, Any]]]:
    """Yield (relative name, entry) of all regular files, sorted; links are not followed. The marker has no name."""
    try:
        if store.isfile(root):
            yield posixpath.basename(root), store.info(root)
            beside = posixpath.join(posixpath.dirname(root), marker) if marker else None
            if beside and store.isfile(beside):
                yield None, store.info(beside)
            return
    except FileNotFoundError:  # it went away between two questions: the next look sees the new state
        return
    found = store.find(root, detail=True)
    for path in sorted(found):
        entry = found[path]
        if entry.get("type") != "file" or entry.get("islink"):
            continue
        name = path.removeprefix(root).lstrip("/")
        yield (None if name == marker else name), entry


def _state(entry: Mapping[str, Any]) -> str:
    return "\0".join(f"{key}={entry[key]}" for key in _STATES if entry.get(key) is not None)
