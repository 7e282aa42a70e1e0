"""Tells whether an export on disk changed: cheaply by its listing, certainly by its content.

The listing token only says *look again*; what is done about it is decided by the content digest, so a copied or touched
export that holds the same bytes is the same export.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["content_digest", "listing_token"]

_READ_BYTES = 1 << 20


def listing_token(path: Path) -> str | None:
    """Return a hash of names, sizes and modification times below ``path`` (a folder or one file); ``None`` if it is missing."""
    digest = hashlib.sha256()
    seen = False
    for name, file in _files(path):
        try:
            status = file.stat()
        except FileNotFoundError:  # removed while it was listed: the next look sees the new state
            continue
        digest.update(f"{name}\0{status.st_size}\0{status.st_mtime_ns}\n".encode(errors="surrogateescape"))
        seen = True
    return digest.hexdigest() if seen else None


def content_digest(path: Path) -> str:
    """Return a hash of names and bytes below ``path``; raises ``OSError`` when a file goes away while it is read."""
    digest = hashlib.sha256()
    for name, file in _files(path):
        digest.update(f"{name}\0{file.stat().st_size}\n".encode(errors="surrogateescape"))
        with file.open("rb") as source:
            while piece := source.read(_READ_BYTES):
                digest.update(piece)
    return digest.hexdigest()


def _files(path: Path) -> Iterator[tuple[str, Path]]:
    """Yield (relative name, file) of all regular files, sorted; links are not followed."""
    if path.is_file():
        yield path.name, path
        return
    for folder, folders, names in os.walk(path, followlinks=False):
        folders.sort()
        for name in sorted(names):
            file = Path(folder, name)
            if file.is_file() and not file.is_symlink():
                yield file.relative_to(path).as_posix(), file
