"""The published samples behind the real command with the real model, once a session; and a small corpus for special servers."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from bbj_pipeline.models import load_embedder
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.settings import SAMPLES_DIR, Settings
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.migrations import migrate
from bbj_pipeline.storage.publishing import PublishRow
from bbj_pipeline_tests.fakes import CountingEmbedder
from bbj_pipeline_tests.retrieval.serving.servers import Process, environment, running, serving_process
from bbj_pipeline_tests.storage.chunk_factory import DIMENSION, chunk, put
from benchmarks.pieces import chunks_of_sources

INSTANCES = {"mdx": "dwc-guide", "javadoc": "bbj-api", "flare": "bbj-docs"}
EMBEDDER = CountingEmbedder(DIMENSION, "test:8")


@pytest.fixture(scope="session")
def sample_settings(postgres: Database) -> Iterator[Settings]:
    """Settings of a database in which three sample exports are published, embedded by the real model."""
    folder = Path(tempfile.mkdtemp(prefix="bbj-serve-"))
    listed = yaml.safe_load((SAMPLES_DIR / "sources.yaml").read_text(encoding="utf-8"))
    chosen = {kind: {name: listed[kind][name]} for kind, name in INSTANCES.items()}
    for kind, name in INSTANCES.items():
        chosen[kind][name]["path"] = str(SAMPLES_DIR / chosen[kind][name]["path"])
    (folder / "sources.yaml").write_text(yaml.safe_dump(chosen), encoding="utf-8")
    url = postgres.ensure_database("served_samples")
    settings = Settings(data_dir=folder, database_url=url, sources_file=folder / "sources.yaml")
    embedder = load_embedder(settings)
    with Database(url) as database:
        migrate(database)
        chunks = chunks_of_sources(settings, 1000)
        for kind, name in INSTANCES.items():
            own = [item for item in chunks if item.kind == kind]
            vectors = embedder.embed_documents([item.embedding_text for item in own])
            rows = [PublishRow(item, vector) for item, vector in zip(own, vectors, strict=True)]
            ref = InstanceRef(kind, name)
            put(database, rows, "1", ref=ref, fingerprint=embedder.fingerprint, dimension=embedder.dimension)
    yield settings
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def served(sample_settings: Settings) -> Iterator[Process]:
    """``serve`` in a process of its own that lacks Dagster and what else only publishing needs."""
    with serving_process(environment(sample_settings), sample_settings.data_dir / "serve.log") as process:
        yield process


@pytest.fixture
def small(database: Database) -> Database:
    """Four chunks of two documents."""
    texts = {("a.md", 0): "Open a window.", ("a.md", 1): "Close it.", ("a.md", 2): "Move it.", ("b.md", 0): "Read a file."}
    chunks = [chunk(key, ordinal, text) for (key, ordinal), text in texts.items()]
    put(database, [PublishRow(item, EMBEDDER.vector(item.content)) for item in chunks], "1")
    return database


@pytest.fixture
def small_url(small: Database, settings: Settings) -> Iterator[str]:
    """A server over the small corpus with default settings."""
    with running(small, EMBEDDER, settings) as url:
        yield url
