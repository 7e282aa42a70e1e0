"""Keeps the decoded objects of a REST API on disk while a listing is being completed.

A site or a dump may be larger than memory, and which version of a post counts is known when the last page was read. What the
objects are is not known here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, Generic, TypeVar

from bbj_pipeline.sources.http.spool import Spool
from bbj_pipeline.sources.wordpress.shapes import canonical

__all__ = ["SpooledObjects"]

KeyT = TypeVar("KeyT", int, str)


class SpooledObjects(MutableMapping[KeyT, Mapping[str, Any]], Generic[KeyT]):
    """JSON objects by key; only the keys are in memory, an object is read each time it is looked up."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._tickets: dict[KeyT, tuple[int, int]] = {}

    def __setitem__(self, key: KeyT, item: Mapping[str, Any]) -> None:
        """Put ``item`` aside; raises ``RecursionError`` when it nests too deeply to be written again."""
        self._tickets[key] = self._spool.put(canonical(item))

    def __getitem__(self, key: KeyT) -> Mapping[str, Any]:
        item: Mapping[str, Any] = json.loads(self._spool.get(self._tickets[key]))
        return item

    def __delitem__(self, key: KeyT) -> None:
        del self._tickets[key]

    def __iter__(self) -> Iterator[KeyT]:
        return iter(self._tickets)

    def __len__(self) -> int:
        return len(self._tickets)

    def __contains__(self, key: object) -> bool:
        return key in self._tickets
