"""Lists and reads the files of an export folder safely: sorted keys, no way out of the root, no file over the size limit.

Shared by all kinds whose export is a folder. No format is known here, and nothing is kept between two openings.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from bbj_pipeline.errors import SourceUnavailable
from bbj_pipeline.records import RawDocument, Reject, Unfetched, clean_text
from bbj_pipeline.sources.contract import MAX_DOCUMENT_BYTES, InputFiles

__all__ = ["FIRST_BYTES", "FolderFiles", "by_key", "inside", "public_url_of", "raw_document", "read_now"]

FIRST_BYTES = 64
"""Bytes that are read of a file that is only looked into."""

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)

FoundT = TypeVar("FoundT")


@dataclass(frozen=True, slots=True)
class _File:
    """A listed file: where it lies, whether it is a link, and whether it is read whole or only looked into."""

    path: str
    is_link: bool
    whole: bool


class FolderFiles:
    """The files below ``root`` whose key (relative path with ``/``) is ``wanted``; see ``contract.InputFiles``.

    Hidden files and folders are passed over, and so are folders named in ``skipped``. Linked folders are not followed; with
    ``tells_links`` one that leads out of the root is a reject. With ``looks_into_others`` the other files are listed too, but
    only their first bytes are read, and of one that may not or cannot be read none. Raises ``SourceUnavailable`` when a folder
    cannot be listed: an incomplete listing is no listing.
    """

    def __init__(
        self,
        root: Path,
        wanted: Callable[[str], bool],
        *,
        looks_into_others: bool = False,
        tells_links: bool = False,
        skipped: frozenset[str] = frozenset(),
    ) -> None:
        self._root = root.resolve()
        self._skipped = skipped
        self._tells_links = tells_links
        self.refused: dict[str, Reject] = {}
        self._files: dict[str, _File] = {}
        listed = list(self._list())
        self._take((name, path, is_link) for name, path, is_link in listed if wanted(name))
        if looks_into_others:
            self._take(((name, path, is_link) for name, path, is_link in listed if not wanted(name)), whole=False)
        self._keys = sorted({*self._files, *self.refused})

    def all_keys(self) -> list[str]:
        """Return the keys of all files, sorted; those that may not be read are among them."""
        return self._keys

    def read(self, key: str) -> bytes | Reject | Unfetched:
        """Return the bytes of a file, why it may never be read, or why it could not be read now.

        A file that is not what the listing saw, a link in its place for one, could not be read now.
        """
        refused = self.refused.get(key)
        if refused is not None:
            return refused
        file = self._files[key]
        found = self._read(key, file)
        return found if file.whole or isinstance(found, bytes) else b""

    def digest(self) -> str | None:
        """Return a hash of the keys and of what ``read`` gives of each; ``None`` when one could not be read now."""
        digest = hashlib.sha256()
        for key in self._keys:
            found = self.read(key)
            if isinstance(found, bytes):
                digest.update(f"{key}\0{len(found)}\0".encode())
                digest.update(found)
            elif isinstance(found, Reject):
                digest.update(f"{key}\0{found.code}\0{found.reason}\0".encode())
            else:
                return None
        return digest.hexdigest()

    def _list(self) -> Iterator[tuple[str, str, bool]]:
        """Yield relative name and path of each file, and whether it is a link."""
        waiting = [("", str(self._root))]
        while waiting:
            above, folder = waiting.pop()
            try:
                with os.scandir(folder) as entries:
                    found = list(entries)
            except OSError as error:
                reason = f"cannot list {folder} ({error.strerror})"
                raise SourceUnavailable(reason, remedy="make the folder readable, then run again") from None
            for entry in found:
                if entry.name.startswith("."):
                    continue
                name, is_link = above + entry.name, entry.is_symlink()
                if not _is_folder(entry):
                    yield name, entry.path, is_link
                elif not is_link and entry.name not in self._skipped:
                    waiting.append((name + "/", entry.path))
                elif is_link and self._tells_links and not inside(self._root, Path(entry.path)):
                    self._refuse(clean_text(name), "outside-root", "the folder link leads out of the export")

    def _take(self, found: Iterable[tuple[str, str, bool]], *, whole: bool = True) -> None:
        for key, file in by_key((name, _File(path, is_link, whole)) for name, path, is_link in found):
            if not isinstance(file, Reject):
                self._files[key] = file
            elif whole:
                self.refused[key] = file

    def _refuse(self, key: str, code: str, reason: str) -> None:
        self.refused[key] = Reject(key, code, reason)

    def _read(self, key: str, file: _File) -> bytes | Reject | Unfetched:
        # What is no link lies in the root, since no linked folder was entered; it is opened only as long as it is none.
        if file.is_link and not inside(self._root, Path(file.path)):
            return Reject(key, "outside-root", "the link leads out of the export's folder")
        try:
            state = os.stat(file.path)
            if not stat.S_ISREG(state.st_mode):  # asked before opening: a device would answer for ever
                return Reject(key, "not-a-file", "neither a regular file nor a link to one")
            if not file.whole:
                return _first_bytes(file.path, FIRST_BYTES, file.is_link)[:FIRST_BYTES]
            if state.st_size > MAX_DOCUMENT_BYTES:
                return Reject(key, "too-large", f"{state.st_size:,} bytes; at most {MAX_DOCUMENT_BYTES:,} are read")
            content = _first_bytes(file.path, state.st_size, file.is_link)
        except OSError as error:
            if file.is_link and isinstance(error, FileNotFoundError):
                return Reject(key, "not-a-file", "neither a regular file nor a link to one")
            return Unfetched(key, f"cannot be read: {error.strerror or error}")
        return content if len(content) == state.st_size else Unfetched(key, "was written to while it was read")


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a loop of links
        return False


def _first_bytes(path: str, count: int, is_link: bool) -> bytes:
    """Return up to ``count`` bytes of a file, and one more where it is longer: memory is set aside for no more."""
    descriptor = os.open(path, _FLAGS if is_link else _FLAGS | _NO_LINK)
    try:
        content = os.read(descriptor, count + 1)
        while len(content) < count and (more := os.read(descriptor, count + 1 - len(content))):
            content += more
        return content
    finally:
        os.close(descriptor)


def raw_document(key: str, found: bytes | Reject | Unfetched, media_type: str) -> RawDocument | Reject | Unfetched:
    """Return what ``read`` gave as a document, if it gave bytes.

    It has no ``last_modified``: a copy or a rebuild gives every file a new time, and content decides what changed, not clocks.
    """
    return RawDocument(key=key, content=found, media_type=media_type) if isinstance(found, bytes) else found


def read_now(files: InputFiles, key: str) -> bytes | Reject:
    """Return the bytes of a file that decides how others read, or why it may never be read.

    Raises ``SourceUnavailable`` when it could not be read now: without it the others would seem changed.
    """
    found = files.read(key)
    if isinstance(found, Unfetched):
        raise SourceUnavailable(f"{key} {found.reason}", remedy="make the file readable; others depend on it")
    return found


def by_key(found: Iterable[tuple[str, FoundT]]) -> list[tuple[str, FoundT | Reject]]:
    """Return what was found by clean key, sorted; of names that differ only in Unicode's normal form all but one are rejects.

    ``found`` gives a file's name as the system spells it, as a relative path with ``/``, and what is known of it.
    """
    files: dict[str, FoundT | Reject] = {}
    for name, file in sorted(found, key=itemgetter(0)):
        key = clean_text(name)
        if key not in files:
            files[key] = file
            continue
        twin = next(twin for number in range(2, len(files) + 3) if (twin := f"{key} ({number})") not in files)
        files[twin] = Reject(twin, "duplicate-key", f"another file has the same name in Unicode's normal form: {key}")
    return sorted(files.items(), key=itemgetter(0))


def inside(real_root: Path, path: Path) -> bool:
    """Say whether ``path`` lies in ``real_root`` when all links are followed; a loop of links lies nowhere."""
    try:
        return path.resolve().is_relative_to(real_root)
    except (OSError, RuntimeError):
        return False


def public_url_of(template: str | None, key: str) -> str | None:
    """Return the public URL of a document: ``template`` with ``{path}`` replaced by the URL-quoted key."""
    return template.replace("{path}", quote(clean_text(key))) if template else None
