"""Copies an export from an fsspec store (S3, GCS, Azure …) to the folder or archive on disk that the sources read.

Only what changed is copied, each file replaced as a whole. What the files mean is not known here; what is copied is bounded and
stays inside the target.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path, PurePosixPath
from typing import Any

from bbj_pipeline.errors import ConfigurationError, RejectedInput, SourceUnavailable
from bbj_pipeline.sources.change_tokens import Entry, list_export

__all__ = ["MAX_MIRROR_BYTES", "mirror"]

MAX_MIRROR_BYTES = 4 * 1024**3
"""Bytes of one export: what an archive may unpack to."""

_PIECE = 1 << 20


def mirror(url: str, target: Path, marker: str | None = None) -> int:
    """Make ``target`` a copy of the folder or file at ``url``; return how many files were copied.

    A file whose state in the store is the one it was copied from is left alone. Raises ``SourceUnavailable`` when the store
    does not answer or holds nothing there (the copy stays as it was), ``RejectedInput`` for an export that is too large or has
    names that lead out of it, and ``ConfigurationError`` for a store that this installation cannot read.
    """
    try:
        store, entries, is_folder = list_export(url, marker)
        if not entries:
            raise SourceUnavailable(f"no export at {url}", remedy='correct "mirror" in sources.yaml, or put the export there')
        _check(url, entries)
        return _copy(store, entries, target, is_folder=is_folder)
    except (ImportError, ValueError) as error:
        raise ConfigurationError(f"{url} cannot be read ({error})", remedy="install the fsspec package of this store") from None
    except OSError as error:
        raise SourceUnavailable(f"{url} could not be copied ({error})", remedy="run again when the store answers") from None


def _check(url: str, entries: list[Entry]) -> None:
    total = sum(entry.size for entry in entries)
    if total > MAX_MIRROR_BYTES:
        raise RejectedInput(
            f"{url} holds {total:,} bytes, {MAX_MIRROR_BYTES:,} are allowed", remedy="point to the export alone"
        )
    for entry in entries:
        parts = PurePosixPath(entry.name).parts
        if ".." in parts or entry.name.startswith("/") or "\\" in entry.name or "\0" in entry.name:
            raise RejectedInput(f"{url} has the unsafe name {entry.name!r}", remedy="rename it in the store")


def _copy(store: Any, entries: list[Entry], target: Path, *, is_folder: bool) -> int:
    (target if is_folder else target.parent).mkdir(parents=True, exist_ok=True)
    states = target.with_name(f".{target.name}.mirrored")
    known = _known(states)
    copied = 0
    for entry in entries:
        file = target / entry.name if is_folder else target
        if known.get(entry.name) != entry.state or not file.is_file():
            file.parent.mkdir(parents=True, exist_ok=True)
            _fetch(store, entry, file)
            copied += 1
    current = {entry.name: entry.state for entry in entries}
    if is_folder:
        for name in known.keys() - current.keys():  # only what was copied here is removed again
            (target / name).unlink(missing_ok=True)
    _replace(states, json.dumps(current).encode())
    return copied


def _known(states: Path) -> dict[str, str]:
    """Return the state from which each file was copied; a file that cannot be read only makes everything be copied again."""
    try:
        found: dict[str, str] = json.loads(states.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return found


def _fetch(store: Any, entry: Entry, file: Path) -> None:
    part = file.with_name(f".{file.name}.part")
    try:
        with store.open(entry.path, "rb") as source, part.open("wb") as sink:
            shutil.copyfileobj(source, sink, _PIECE)
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)


def _replace(path: Path, content: bytes) -> None:
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(content)
    os.replace(part, path)
