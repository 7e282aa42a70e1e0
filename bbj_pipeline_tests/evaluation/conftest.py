"""The sample corpus, published once a session through the real pipeline: every test of search quality reads it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest

from bbj_pipeline.evaluation.running import EmbedOnce
from bbj_pipeline.orchestration.build import build_definitions
from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.orchestration.refresh import refresh
from bbj_pipeline.settings import Settings
from bbj_pipeline.sources.config import load_sources
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.migrations import migrate
from bbj_pipeline_tests.fakes import EmbedsOnce

NAME = "published_samples"


@dataclass(frozen=True)
class Published:
    """The database of the published samples, the settings that reach it, and the model it was embedded with."""

    settings: Settings
    database: Database
    embedder: EmbedOnce


@pytest.fixture(scope="session")
def samples(postgres: Database, model: EmbedsOnce) -> Iterator[tuple[Settings, EmbedOnce]]:
    """A template database with the samples as ``bbj-pipeline run`` publishes them; nobody stays connected to it."""
    folder = Path(tempfile.mkdtemp(prefix="bbj-samples-"))
    settings = Settings(data_dir=folder, database_url=postgres.ensure_database(NAME))
    embedder = EmbedOnce(model)
    with dg.DagsterInstance.ephemeral() as instance, Platform(settings, embedder=embedder) as platform:
        migrate(platform.database)
        definitions = build_definitions(settings, platform=platform, max_retries=0)
        refs = [item.ref for item in load_sources(settings.sources_file)]
        for report in refresh(definitions, instance, refs, log_level="CRITICAL"):
            assert report.status == "published", report.error
    yield settings, embedder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def published(postgres: Database, samples: tuple[Settings, EmbedOnce]) -> Iterator[Published]:
    """A copy of the published samples of a test's own."""
    settings, embedder = samples
    name = f"{NAME}_copy"
    with postgres.direct_connection() as connection:
        connection.execute(f"create database {name} template {NAME}")
    url = postgres.database_uri_for(name)
    try:
        with Database(url) as database:
            yield Published(settings.model_copy(update={"database_url": url}), database, embedder)
    finally:
        with postgres.direct_connection() as connection:
            connection.execute(f"drop database {name} with (force)")
