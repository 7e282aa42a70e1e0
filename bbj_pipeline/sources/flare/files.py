"""The files of an export, from a folder or a ``.zip``, read one at a time and never beyond what is bounded and inside.

An archive is read member by member into memory; nothing is unpacked to disk. The keys of an archive that holds a single
folder are relative to that folder, so that they do not depend on whether the folder or its content was zipped. What a file
means is not known here.
"""

from __future__ import annotations

import hashlib
import lzma
import posixpath
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Protocol

from bbj_pipeline.errors import RejectedInput, SourceUnavailable
from bbj_pipeline.records import Reject, Unfetched, clean_text
from bbj_pipeline.sources.contract import MAX_DOCUMENT_BYTES, InputFiles
from bbj_pipeline.sources.folder import FolderFiles, read_now

__all__ = ["MAX_ARCHIVE_BYTES", "MAX_MEMBERS", "ExportFiles", "open_export", "read_needed"]

MAX_MEMBERS = 200_000
"""Members of an archive; the whole BBj documentation has 7,083 topics and some 20,000 files."""
MAX_ARCHIVE_BYTES = 4 * 1024**3
"""Bytes an archive may unpack to, declared and really read."""


class ExportFiles(InputFiles, Protocol):
    """The wanted files of one export. ``refused`` are those that may never be read, by key."""

    refused: dict[str, Reject]


def read_needed(files: ExportFiles, key: str) -> bytes | None:
    """Return a file that decides how others read, or ``None`` when it may never be read; raises as ``read_now``."""
    content = read_now(files, key)
    return content if isinstance(content, bytes) else None


@contextmanager
def open_export(path: Path | None, wanted: Callable[[str], bool]) -> Iterator[ExportFiles]:
    """Open a folder or a ``.zip``; ``wanted`` decides by a key which files belong to the export.

    Raises ``SourceUnavailable`` when there is nothing at ``path`` and ``RejectedInput`` for an archive that is broken, is no
    archive, or exceeds the bounds.
    """
    if path is None or not path.exists():
        raise SourceUnavailable(
            f"no Flare export at {path}", remedy='set "path" to the exported folder or .zip in sources.yaml'
        )
    if path.is_dir():
        yield FolderFiles(path, wanted, tells_links=True)
        return
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, ValueError, LookupError, EOFError, NotImplementedError, struct.error) as error:
        raise RejectedInput(
            f"{path} is not a usable .zip ({error})", remedy="export it again, or point to the folder"
        ) from None
    except OSError as error:
        raise SourceUnavailable(f"cannot open {path} ({error.strerror})", remedy="make the file readable") from None
    with archive:
        yield _ZipFiles(archive, path, wanted)


class _ZipFiles:
    def __init__(self, archive: zipfile.ZipFile, path: Path, wanted: Callable[[str], bool]) -> None:
        self._archive = archive
        self._path = path
        self._left = MAX_ARCHIVE_BYTES
        self._members: dict[str, zipfile.ZipInfo] = {}
        self.refused: dict[str, Reject] = {}
        members = [member for member in archive.infolist() if not member.is_dir()]
        declared = sum(member.file_size for member in members)
        if len(members) > MAX_MEMBERS or declared > MAX_ARCHIVE_BYTES:
            raise RejectedInput(
                f"{path} has {len(members):,} members of {declared:,} bytes in all", remedy="point to the unpacked folder"
            )
        named = [(clean_text(member.filename.replace("\\", "/")).removeprefix("./"), member) for member in members]
        top = _single_folder(key for key, _ in named)
        for key, member in named:
            self._list(key.removeprefix(top), member, wanted)

    def _list(self, key: str, member: zipfile.ZipInfo, wanted: Callable[[str], bool]) -> None:
        parts = PurePosixPath(key).parts
        if not wanted(key) or _is_hidden(parts):
            return
        if key.startswith("/") or PureWindowsPath(key).drive or ".." in parts:
            reject = Reject(key, "unsafe-path", "the member's name leads out of the archive")
        elif stat.S_ISLNK(member.external_attr >> 16):
            reject = Reject(key, "outside-root", "the member is a symbolic link")
        elif member.flag_bits & 1:
            reject = Reject(key, "encrypted", "the member is encrypted")
        elif member.file_size > MAX_DOCUMENT_BYTES:
            reject = _too_large(key)
        elif posixpath.normpath(key) in self._members:
            reject = Reject(f"{key} (2)", "duplicate-key", f"the archive has two members of this name: {key}")
        else:
            self._members[posixpath.normpath(key)] = member
            return
        self.refused[reject.key] = reject

    def digest(self) -> str | None:
        """Hash the archive's own bytes: they decide what every member is, and unpacking would take many times as long."""
        try:
            with self._path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            return None

    def all_keys(self) -> list[str]:
        return sorted({*self._members, *self.refused})

    def read(self, key: str) -> bytes | Reject | Unfetched:
        if key in self.refused:
            return self.refused[key]
        try:
            with self._archive.open(self._members[key]) as member:
                content = member.read(MAX_DOCUMENT_BYTES + 1)
        except (
            *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, struct.error),
            *(NotImplementedError, RuntimeError, ValueError, LookupError),  # zipfile's own: a method or key it does not know
        ) as error:
            return Reject(key, "corrupt-member", f"the archive's member cannot be unpacked ({error})")
        except OSError as error:
            if error.errno is None:  # bz2 says so of data that it cannot read
                return Reject(key, "corrupt-member", f"the archive's member cannot be unpacked ({error})")
            return Unfetched(key, f"cannot be read: {error.strerror or error}")
        self._left -= len(content)
        if self._left < 0:
            raise RejectedInput(f"{self._path} unpacks to more than {MAX_ARCHIVE_BYTES:,} bytes", remedy="export it again")
        return content if len(content) <= MAX_DOCUMENT_BYTES else _too_large(key)


def _single_folder(keys: Iterable[str]) -> str:
    """Return the folder, with a final ``/``, that all members of an archive lie in; empty when there is no such folder.

    ``Content`` is never it: there a project keeps its topics, and its name is part of their keys.
    """
    tops: set[str] = set()
    for key in keys:
        parts = PurePosixPath(key).parts
        if not _is_hidden(parts) and ".." not in parts:
            tops.add(parts[0] if len(parts) > 1 else "")
    top = tops.pop() if len(tops) == 1 else ""
    return f"{top}/" if top not in ("", "/", "Content") and not PureWindowsPath(top).drive else ""


def _is_hidden(parts: tuple[str, ...]) -> bool:
    return any(part.startswith(".") and part != ".." for part in parts) or "__MACOSX" in parts


def _too_large(key: str) -> Reject:
    return Reject(key, "too-large", f"more than {MAX_DOCUMENT_BYTES:,} bytes")
