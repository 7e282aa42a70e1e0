"""How much of the model's own best throughput the embed stage keeps: real model, real cache in PostgreSQL, the same texts.

Baseline, in the same run: ``SentenceTransformer.encode`` over the texts sorted by length, in the fastest of several batch
sizes, in the number format the stage uses. Rounds alternate, so that a noisy machine hits both alike. Texts are chunks of all
configured instances; without ``--config`` those of the samples, which are few.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
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
    texts = sorted({chunk.embedding_text for chunk in chunks}, key=len, reverse=True)
    tokens = sum(load_tokenizer(settings).count(texts))
    print(f"{len(chunks)} chunks, {len(texts)} unique texts, {tokens} tokens, {embedder.dtype}")
    encode: Callable[..., Any] = embedder._model.encode
    sample = texts[:: max(1, len(texts) // 128)]
    best = min(BATCHES, key=lambda size: seconds(lambda: encode(sample, batch_size=size, show_progress_bar=False)))
    print(f"the model's own best batch size: {best}")
    bare, stage = [], []
    with open_database(settings) as database:
        migrate(database)
        cache = DatabaseEmbeddingCache(database)
        for _ in range(rounds):
            bare.append(seconds(lambda: encode(texts, batch_size=best, show_progress_bar=False)))
            with database.connection() as connection:
                connection.execute("truncate embedding_cache")
            stage.append(seconds(lambda: embed(chunks, embedder, cache, batch=settings.embedding_batch)))
        again = seconds(lambda: embed(chunks, embedder, cache, batch=settings.embedding_batch))
    ratios = [mine / theirs for mine, theirs in zip(stage, bare, strict=True)]
    print(f"model alone: {len(texts) / min(bare):.1f} texts/s, {tokens / min(bare):.0f} tokens/s")
    shown = ", ".join(f"{ratio:.3f}" for ratio in ratios)
    print(f"embed stage / model alone, median of {rounds}: {statistics.median(ratios):.3f} ({shown})")
    print(f"all cached / model alone: {again / min(bare):.4f}")


def seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
