"""Raw bytes by their SHA-256: written once, never changed, so that any earlier state can be rebuilt.

Nothing here knows what the bytes are.
"""

from __future__ import annotations

from bbj_pipeline.storage.file_store import FileStore

__all__ = ["BlobStore"]


class BlobStore:
    """Content-addressed storage under ``raw/`` of a file store."""

    def __init__(self, files: FileStore) -> None:
        self._files = files

    def put(self, sha256: str, content: bytes) -> bool:
        """Store ``content`` under its hash; return whether it was new."""
        path = _path(sha256)
        if self._files.exists(path):
            return False
        self._files.write(path, content)
        return True

    def get(self, sha256: str) -> bytes:
        """Return the bytes with this hash; raises ``KeyError`` when they are not stored."""
        return self._files.read(_path(sha256))

    def locate(self, sha256: str) -> str:
        """Return where the bytes lie, for people and links."""
        return self._files.locate(_path(sha256))


def _path(sha256: str) -> str:
    return f"raw/{sha256[:2]}/{sha256}"
