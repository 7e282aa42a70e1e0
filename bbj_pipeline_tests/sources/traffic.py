"""What really went over the wire: an observer of loopback servers that counts requests, answers and bytes of bodies."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from bbj_pipeline.records import RawDocument


@dataclass
class Traffic:
    """The answers of one server since the last ``reset``: (target, status, bytes of the body as sent)."""

    answers: list[tuple[str, int, int]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, target: str, status: int, size: int) -> None:
        with self.lock:
            self.answers.append((target, status, size))

    def reset(self) -> None:
        self.answers.clear()

    def statuses(self) -> Counter[int]:
        """How often each status was answered for a page: robots.txt and sitemaps aside."""
        listings = ("/robots.txt", "/sitemap.xml")
        return Counter(status for target, status, _ in self.answers if not target.endswith(listings))

    def targets(self) -> list[str]:
        return [target for target, _, _ in self.answers]

    @property
    def size(self) -> int:
        return sum(size for _, _, size in self.answers)


def as_earlier(found: Iterable[Any]) -> dict[str, RawDocument]:
    """The records of an export in the form the next one looks them up."""
    return {item.key: item for item in found if isinstance(item, RawDocument)}
