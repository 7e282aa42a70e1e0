"""Raw bytes by their SHA-256: written once, never changed, so that any earlier state can be rebuilt.

Nothing here knows what the bytes are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence

from bbj_pipeline.errors import RejectedInput
from bbj_pipeline.storage.file_store import FileStore

__all__ = ["BlobStore"]

_ASKED_EVERY = 50


class BlobStore:
    """Content-addressed storage under ``raw/`` of a file store."""

    def __init__(self, files: FileStore) -> None:
        self._files = files

    def put(self, sha256: str, content: bytes) -> bool:
        """Store ``content`` under its hash; return whether it was new. A stored blob of another size is written anew."""
        path = _path(sha256)
        if self._files.size(path) == len(content):
            return False
        self._files.write(path, content)
        return True

    def has_all(self, expected: Sequence[tuple[str, int]]) -> bool:
        """Tell whether all bytes are stored, given as hash and size; nothing is read.

        Bytes of the right size that are damaged are found when they are next read, see ``get``.
        """
        found = self._files.sizes("raw", [_path(sha256) for sha256, _ in expected])
        return all(size == wanted for size, (_, wanted) in zip(found, expected, strict=True))

    def get(self, sha256: str) -> bytes:
        """Return the bytes with this hash.

        Raises ``KeyError`` when they are not stored. Bytes that are no longer what their name says (a power cut, a bad disk)
        raise ``RejectedInput`` and are removed, so that the next export writes them anew; they never reach a parser.
        """
        content = self._files.read(_path(sha256))
        if hashlib.sha256(content).hexdigest() != sha256:
            self._files.discard(_path(sha256))
            raise RejectedInput(
                f"the stored bytes at {self.locate(sha256)} were damaged", remedy="run it again: the export writes them anew"
            )
        return content

    def prune(self, needed: Collection[str], *, older_than: float, dry_run: bool, stop: Callable[[], bool]) -> tuple[int, int]:
        """Remove bytes not ``needed`` that were written before ``older_than`` (seconds since 1970); return files and bytes.

        ``stop`` is asked before every few removals; once it says so, the rest stays.
        """
        removed = size = 0
        for path, length, modified in self._files.files("raw"):
            if path.rsplit("/", 1)[-1] in needed or modified >= older_than:
                continue
            if removed % _ASKED_EVERY == 0 and stop():
                break
            if not dry_run:
                self._files.discard(path)
            removed, size = removed + 1, size + length
        return removed, size

    def locate(self, sha256: str) -> str:
        """Return where the bytes lie, for people and links."""
        return self._files.locate(_path(sha256))


def _path(sha256: str) -> str:
    return f"raw/{sha256[:2]}/{sha256}"
