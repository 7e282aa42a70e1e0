"""Lists and reads the files of an export folder safely: sorted keys, no way out of the root, no file over the size limit.

Shared by the kinds whose export is a folder. No format is known here, and nothing is cached between calls.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

from bbj_pipeline.errors import SourceUnavailable
from bbj_pipeline.records import RawDocument, Reject, Unfetched, clean_text
from bbj_pipeline.sources.contract import MAX_DOCUMENT_BYTES

__all__ = ["Other", "by_key", "inside", "public_url_of", "read_folder", "refusal"]

Other = Callable[[str, bytes], Reject | None]
"""Is shown the key and the first bytes of a file that is not wanted; a reject is reported, nothing is silence."""

_FIRST_BYTES = 64


def read_folder(
    root: Path, wanted: Callable[[str], bool], *, media_type: str, other: Other | None = None
) -> Iterator[RawDocument | Reject | Unfetched]:
    """Yield the files below ``root`` whose key (relative path with ``/``) is ``wanted``, sorted by key.

    With ``other`` the readable files that are not wanted are looked into, and what it refuses stands among them.
    Hidden files and folders are passed over. A symbolic link that leads out of the root and a file over
    ``MAX_DOCUMENT_BYTES`` are a ``Reject``; a file that cannot be read now is ``Unfetched``. Linked folders are not followed.
    Raises ``SourceUnavailable`` when a folder cannot be listed: an incomplete listing is no listing.
    """
    real_root = root.resolve()
    keys = list(_keys(root))
    listed = dict(by_key((key, root / key) for key in keys if wanted(key)))
    others = dict(by_key((key, root / key) for key in keys if not wanted(key))) if other else {}
    for key in sorted(listed.keys() | others.keys()):
        if key in listed:
            path = listed[key]
            yield path if isinstance(path, Reject) else _read(real_root, path, key, media_type)
        elif other and (refused := other(key, _first_bytes(real_root, others[key]))) is not None:
            yield refused


def by_key(found: Iterable[tuple[str, Path]]) -> list[tuple[str, Path | Reject]]:
    """Return files by clean key, sorted; of files whose names differ only in Unicode's normal form all but one are rejects.

    ``found`` gives a file's name as the system spells it, as a relative path with ``/``, and where the file lies.
    """
    files: dict[str, Path | Reject] = {}
    for name, path in sorted(found):
        key = clean_text(name)
        if key not in files:
            files[key] = path
            continue
        twin = next(twin for number in range(2, len(files) + 3) if (twin := f"{key} ({number})") not in files)
        files[twin] = Reject(twin, "duplicate-key", f"another file has the same name in Unicode's normal form: {key}")
    return sorted(files.items())


def inside(real_root: Path, path: Path) -> bool:
    """Say whether ``path`` lies in ``real_root`` when all links are followed; a loop of links lies nowhere."""
    try:
        return path.resolve().is_relative_to(real_root)
    except (OSError, RuntimeError):
        return False


def refusal(real_root: Path, path: Path) -> tuple[str, str] | None:
    """Return the code and reason why a file must not be read, or ``None``: a link out of the root, no file, or too large.

    Raises ``OSError`` when that cannot be found out now.
    """
    if not inside(real_root, path):
        return "outside-root", "the link leads out of the export's folder"
    if not path.is_file():
        return "not-a-file", "neither a regular file nor a link to one"
    size = path.stat().st_size
    if size > MAX_DOCUMENT_BYTES:
        return "too-large", f"{size:,} bytes; at most {MAX_DOCUMENT_BYTES:,} are read"
    return None


def public_url_of(template: str | None, key: str) -> str | None:
    """Return the public URL of a document: ``template`` with ``{path}`` replaced by the URL-quoted key."""
    return template.replace("{path}", quote(clean_text(key))) if template else None


def _keys(root: Path) -> Iterator[str]:
    def fail(error: OSError) -> None:
        raise SourceUnavailable(f"cannot list {error.filename} ({error.strerror})", remedy="make the folder readable")

    for folder, folders, names in os.walk(root, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        relative = Path(folder).relative_to(root)
        for name in names:
            if not name.startswith("."):
                yield (relative / name).as_posix()


def _first_bytes(real_root: Path, path: Path | Reject) -> bytes:
    """Return how a file begins; nothing of one that may not or cannot be read."""
    try:
        if isinstance(path, Reject) or not inside(real_root, path) or not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(_FIRST_BYTES)
    except OSError:
        return b""


def _read(real_root: Path, path: Path, key: str, media_type: str) -> RawDocument | Reject | Unfetched:
    try:
        refused = refusal(real_root, path)
        if refused is not None:
            return Reject(key, *refused)
        content = path.read_bytes()
    except OSError as error:
        return Unfetched(key, f"cannot be read: {error.strerror or error}")
    # No last_modified: a copy or a rebuild gives every file a new time, and content decides what changed, not clocks.
    return RawDocument(key=key, content=content, media_type=media_type)
