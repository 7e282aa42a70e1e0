"""How much of the model's own best throughput the embed stage keeps: real model, real cache in PostgreSQL, the same texts.

Baseline, in the same run: ``SentenceTransformer.encode`` over the unique texts, which it sorts by length, in the fastest of
several batch sizes and in the number format the stage uses. Rounds alternate which of the two goes first, so that a noisy
machine hits both alike; processor time is that of all threads of this process, and leaves the neighbours out. Texts are chunks
of all configured instances; without ``--config`` those of the samples, which are few.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bbj_pipeline.models import load_embedder, load_tokenizer
from bbj_pipeline.models.embedder import SentenceTransformerEmbedder
from bbj_pipeline.records import Chunk
from bbj_pipeline.settings import SAMPLES_DIR, Settings
from bbj_pipeline.stages.embedding import embed
from bbj_pipeline.storage.database import open_database
from bbj_pipeline.storage.embedding_cache import DatabaseEmbeddingCache
from bbj_pipeline.storage.migrations import migrate
from benchmarks.pieces import chunks_of_sources

BATCHES = (8, 16, 32, 64)
SAMPLE = 64
"""Texts that the batch sizes are tried on."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, default=SAMPLES_DIR / "sources.yaml")
    parser.add_argument("--texts", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder), sources_file=options.config)
        chunks = chunks_of_sources(settings, options.texts)
        measure(settings, chunks, options.rounds)


def measure(settings: Settings, chunks: list[Chunk], rounds: int) -> None:
    embedder = load_embedder(settings)
    assert isinstance(embedder, SentenceTransformerEmbedder)
    texts = list({chunk.embedding_text for chunk in chunks})
    tokens = sum(load_tokenizer(settings).count(texts))
    print(f"{len(chunks)} chunks, {len(texts)} unique texts, {tokens} tokens, {embedder.dtype}")
    encode: Callable[..., Any] = embedder._model.encode
    best = best_batch(encode, texts[:: max(1, len(texts) // SAMPLE)])
    spent: dict[str, list[Spent]] = {"model": [], "stage": []}
    with open_database(settings) as database:
        migrate(database)
        cache = DatabaseEmbeddingCache(database)
        cache.put(embedder.fingerprint, {"00": embedder.embed_query("warm")})
        work = {
            "model": lambda: encode(texts, batch_size=best, show_progress_bar=False),
            "stage": lambda: embed(chunks, embedder, cache, batch=settings.embedding_batch),
        }
        for number in range(rounds):
            for name in sorted(work, reverse=number % 2 == 1):
                with database.connection() as connection:
                    connection.execute("truncate embedding_cache")
                spent[name].append(timed(work[name]))
        embed(chunks, embedder, cache, batch=settings.embedding_batch)
        again = timed(work["stage"])
    wall = min(measured.wall for measured in spent["model"])
    print(f"model alone: {len(texts) / wall:.1f} texts/s, {tokens / wall:.0f} tokens/s")
    for clock in ("cpu", "wall"):
        pairs = zip(spent["stage"], spent["model"], strict=True)
        ratios = [getattr(mine, clock) / getattr(theirs, clock) for mine, theirs in pairs]
        shown = ", ".join(f"{ratio:.3f}" for ratio in ratios)
        print(f"embed stage / model alone, {clock}, median of {rounds}: {statistics.median(ratios):.3f} ({shown})")
    print(f"all cached / model alone: {again.wall / wall:.4f}")


@dataclass(frozen=True)
class Spent:
    """Seconds of the wall clock, and of the processor in all threads of this process."""

    wall: float
    cpu: float


def best_batch(encode: Callable[..., Any], sample: list[str]) -> int:
    """Return the batch size with the least processor time, the better of two turns each."""
    times = dict.fromkeys(BATCHES, math.inf)
    encode(sample[:8], show_progress_bar=False)
    for size in [*BATCHES, *reversed(BATCHES)]:
        taken = timed(lambda size=size: encode(sample, batch_size=size, show_progress_bar=False))  # type: ignore[misc]
        times[size] = min(times[size], taken.cpu)
    best = min(times, key=lambda size: times[size])
    print("processor seconds by batch size:", ", ".join(f"{size}: {time:.2f}" for size, time in times.items()), f"best {best}")
    return best


def timed(work: Callable[[], Any]) -> Spent:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Spent(time.perf_counter() - wall, time.process_time() - cpu)


if __name__ == "__main__":
    main()
