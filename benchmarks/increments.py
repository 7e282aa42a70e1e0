"""What the exports of the two network sources cost over real HTTP: the first, an unchanged second, one with one change.

    python -m benchmarks.increments [--posts N] [--pages N]

Generated sites on loopback, read as live ones (option ``url``, without a pause) through the export step with its manifest
and blobs. Requests and bytes of bodies as sent (compressed) are counted at the server. Nothing is asserted: numbers are for
people.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bbj_pipeline.orchestration.steps.export import export_raw
from bbj_pipeline.orchestration.steps.workplace import Workplace
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.sources.config import ConfiguredInstance
from bbj_pipeline.sources.registry import get_source
from bbj_pipeline.sources.replay import Answer, Handler, serve
from bbj_pipeline.sources.replay.wordpress import WordPressReplay
from bbj_pipeline.storage.stage_files import StageDraft, StageStore

WORDS = [
    "window",
    "form",
    "field",
    "button",
    "event",
    "callback",
    "channel",
    "order",
    "customer",
    "browser",
    "client",
    "style",
    "property",
    "value",
    "error",
    "file",
]


@dataclass
class Meter:
    """Answers and bytes since the last ``take``."""

    statuses: Counter[int] = field(default_factory=Counter)
    size: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, target: str, status: int, size: int) -> None:
        with self.lock:
            self.statuses[status] += 1
            self.size += size

    def take(self) -> tuple[dict[int, int], int]:
        taken = dict(sorted(self.statuses.items())), self.size
        self.statuses, self.size = Counter(), 0
        return taken


def text(seed: int, words: int) -> str:
    draw = random.Random(seed)
    return " ".join(draw.choice(WORDS) for _ in range(words))


def blog(count: int) -> tuple[Handler, Callable[[], None]]:
    """A WordPress site of ``count`` posts in ten categories, and an edit of one post."""
    terms = [{"id": n, "taxonomy": "category", "name": f"Section {n}", "slug": f"s{n}", "parent": 0} for n in range(1, 11)]
    posts: list[dict[str, Any]] = [
        {
            "id": n, "type": "post", "status": "publish", "link": f"https://kb.example.org/{n}/", "categories": [n % 10 + 1],
            "title": {"rendered": f"Article {n}"}, "modified_gmt": "2025-01-01T00:00:00",
            "content": {"rendered": f"<p>{text(n, 600)}</p>", "protected": False},
        }
        for n in range(1, count + 1)
    ]  # fmt: skip
    replay = [WordPressReplay([*posts, *terms])]

    def edit() -> None:
        posts[count // 2] |= {
            "modified_gmt": "2025-02-01T00:00:00",
            "content": {"rendered": "<p>Edited</p>", "protected": False},
        }
        replay[0] = WordPressReplay([*posts, *terms])

    return (lambda target: replay[0].answer(target)), edit


def links(number: int, count: int) -> str:
    further = range(10 * number + 1, min(10 * number + 11, count))
    return "".join(f'<a href="/docs/page-{n}">more</a>' for n in further)


def site(count: int) -> tuple[Handler, Callable[[], None]]:
    """A site of ``count`` pages, each with links to ten more and no sitemap; and an edit of one page."""
    pages = {
        f"/docs/page-{n}": f"<html><body><nav>{links(n, count)}</nav><main><p>{text(n, 1500)}</p></main>".encode()
        for n in range(count)
    }
    pages["/docs/"] = b'<html><body><nav><a href="/docs/page-0">begin</a></nav><main><p>Home</p></main>'

    def answer(target: str) -> Answer:
        return Answer(200, pages[target]) if target in pages else Answer(404)

    def edit() -> None:
        pages[f"/docs/page-{count // 2}"] += b"<p>Edited</p>"

    return answer, edit


def measure(kind: str, path: str, handler: Handler, edit: Callable[[], None], **options: Any) -> None:
    """Print one line an export."""
    meter = Meter()
    with tempfile.TemporaryDirectory(prefix="bbj-increments-") as folder, serve(handler, meter) as origin:
        source = get_source(kind)
        configured = source.options_type.model_validate({"url": origin + path, "delay": 0, **options})
        at = Workplace(ConfiguredInstance(InstanceRef(kind, "bench"), source, configured), StageStore(folder), "bench")
        for name, change in (("first", None), ("unchanged", None), ("one edit", edit)):
            if change is not None:
                change()
            begun = time.perf_counter()
            result = export_raw(at)
            seconds = time.perf_counter() - begun
            written = isinstance(result.output, StageDraft)
            if isinstance(result.output, StageDraft):
                result.output.commit()
            statuses, size = meter.take()
            print(
                f"{kind:10} {name:10} {sum(statuses.values()):6} requests {statuses!s:28} {size:12,} bytes {seconds:7.2f} s  "
                f"{result.counts['documents']} documents, {result.counts['new_blobs']} new, manifest "
                f"{'written' if written else 'kept'}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--posts", type=int, default=2_000)
    parser.add_argument("--pages", type=int, default=1_000)
    asked = parser.parse_args()
    measure("wordpress", "", *blog(asked.posts), types=["post"])
    measure("web_crawl", "/docs/", *site(asked.pages))


if __name__ == "__main__":
    main()
