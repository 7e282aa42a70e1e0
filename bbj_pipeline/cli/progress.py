"""Shows on a terminal how far an instance's embedding is: a bar with rate and time to go, one for each instance."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

from bbj_pipeline.orchestration.steps.embed import EmbeddingProgress, ProgressListener

__all__ = ["embedding_bar"]


@contextmanager
def embedding_bar(*, shown: bool) -> Iterator[ProgressListener | None]:
    """Give a listener that draws on standard error and wipes the bar when an instance is done; nothing unless ``shown``."""
    if not shown:
        yield None
        return
    bars: dict[str, Any] = {}

    def listen(progress: EmbeddingProgress) -> None:
        if progress.done >= progress.total:
            if progress.instance in bars:
                bars.pop(progress.instance).close()
            return
        bar = bars.get(progress.instance)
        if bar is None:
            bar = bars[progress.instance] = tqdm(
                total=progress.total, desc=f"{progress.instance} embeddings", unit="chunk", leave=False, dynamic_ncols=True
            )
        bar.update(progress.done - bar.n)

    try:
        yield listen
    finally:
        for bar in bars.values():
            bar.close()
