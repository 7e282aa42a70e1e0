"""A root folder on local disk or any fsspec store, with whole-file atomic replacement.

Knows paths and bytes only; what the files mean belongs to ``blobs`` and ``stage_files``.
"""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import IO, Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from bbj_pipeline.errors import ConfigurationError, SourceUnavailable

__all__ = ["FileStore"]


class FileStore:
    """Files below one root URL (a local folder or any fsspec URL such as ``s3://bucket/prefix``)."""

    def __init__(self, root: str) -> None:
        try:
            self._fs, self._root = fsspec.core.url_to_fs(root)
        except (ImportError, ValueError) as error:
            raise ConfigurationError(
                f"no file system for BBJ_STORE_URL {root!r} ({error})", remedy="install the fsspec package of this store"
            ) from None
        self._local = isinstance(self._fs, LocalFileSystem)

    def locate(self, path: str) -> str:
        """Return the full location of ``path``, for people and links."""
        return f"{self._root}/{path}"

    def exists(self, path: str) -> bool:
        """Tell whether the file is there."""
        return bool(self._fs.exists(self.locate(path)))

    def size(self, path: str) -> int | None:
        """Return a file's size in bytes, or ``None`` when there is none."""
        try:
            if self._local:
                return os.stat(self.locate(path)).st_size
            size: int | None = self._fs.size(self.locate(path))
        except FileNotFoundError:
            return None
        return size

    def sizes(self, prefix: str, paths: Sequence[str]) -> Iterator[int | None]:
        """Yield the size of each of ``paths``, all below ``prefix``, as ``size`` does.

        A store that is no disk is asked for a listing of ``prefix`` once, not for each file.
        """
        if self._local:
            yield from map(self.size, paths)
        elif paths:
            self._fs.invalidate_cache()  # a listing of earlier would show what was removed since
            known = {name: entry["size"] for name, entry in self._fs.find(self.locate(prefix), detail=True).items()}
            yield from (known.get(self.locate(path)) for path in paths)

    def remove_stale(self, folder: str, *, older_than: float) -> None:
        """Remove temporary files in ``folder`` that no living writer can own: older than so many seconds."""
        try:
            found: list[dict[str, Any]] = self._fs.ls(self.locate(folder), detail=True)
        except FileNotFoundError:
            return
        for entry in found:
            name = str(entry["name"])
            if name.endswith(".tmp"):
                with contextlib.suppress(FileNotFoundError):
                    if time.time() - self._modified(name, entry) > older_than:
                        self._fs.rm_file(name)

    def read(self, path: str) -> bytes:
        """Return a file's bytes; raises ``KeyError`` when there is none."""
        try:
            content: bytes = self._fs.cat_file(self.locate(path))
        except FileNotFoundError:
            raise KeyError(path) from None
        return content

    def open(self, path: str) -> IO[bytes]:
        """Open a file for reading; raises ``FileNotFoundError``."""
        opened: IO[bytes] = self._fs.open(self.locate(path), "rb")
        return opened

    def write(self, path: str, content: bytes) -> None:
        """Write a whole file; readers see the old one or the new one."""
        temporary = self.temporary(path)
        with self.create(temporary) as out:
            out.write(content)
        self.replace(temporary, path)

    def temporary(self, path: str) -> str:
        """Return a fresh name beside ``path``, so that replacing it is a rename on the same device."""
        return f"{path}.{uuid.uuid4().hex}.tmp"

    def create(self, path: str) -> IO[bytes]:
        """Open a new file for writing, with its folders."""
        location = self.locate(path)
        try:
            if self._local:
                self._fs.makedirs(location.rsplit("/", 1)[0], exist_ok=True)
            opened: IO[bytes] = self._fs.open(location, "wb")
        except OSError as error:
            raise SourceUnavailable(
                f"cannot write {location} ({error.strerror or error})", remedy="check BBJ_STORE_URL"
            ) from None
        return opened

    def replace(self, temporary: str, path: str) -> None:
        """Put a finished temporary file in its place (a rename on local disk, one copy on an object store)."""
        self._fs.mv(self.locate(temporary), self.locate(path))

    def discard(self, path: str) -> None:
        """Remove a file if it is there."""
        with contextlib.suppress(FileNotFoundError):
            self._fs.rm_file(self.locate(path))

    def files(self, prefix: str) -> Iterator[tuple[str, int, float]]:
        """Yield path (relative to the root), size in bytes and time of last change (seconds) of all files below ``prefix``."""
        found: dict[str, dict[str, Any]] = self._fs.find(self.locate(prefix), detail=True)
        for location, entry in found.items():
            yield str(location)[len(self._root) + 1 :], int(entry["size"] or 0), self._modified(location, entry)

    def _modified(self, location: str, entry: dict[str, Any]) -> float:
        """Return the time of a file's last change; a local listing has it, others are asked."""
        known = entry.get("mtime")
        return float(known) if known is not None else float(self._fs.modified(location).timestamp())
