"""A copy of the sample exports that a test may break, and the real pipeline over it: database, model, Dagster."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import dagster as dg
import pytest

from bbj_pipeline.orchestration.build import build_definitions
from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.orchestration.refresh import InstanceReport, refresh
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.settings import SAMPLES_DIR, Settings
from bbj_pipeline.sources.config import load_sources
from bbj_pipeline_tests.fakes import EmbedsOnce

Refresh = Callable[..., dict[str, InstanceReport]]


@pytest.fixture
def exports(tmp_path: Path) -> Path:
    """A writable copy of the sample exports with their ``sources.yaml``."""
    folder = tmp_path / "exports"
    shutil.copytree(SAMPLES_DIR, folder)
    return folder


@pytest.fixture
def configured(settings: Settings, exports: Path) -> Settings:
    """Settings of a fresh database and the copied exports."""
    return settings.model_copy(update={"sources_file": exports / "sources.yaml"})


@pytest.fixture
def platform(configured: Settings, model: EmbedsOnce) -> Iterator[Platform]:
    with Platform(configured, embedder=model) as opened:
        yield opened


@pytest.fixture
def dagster_instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


@pytest.fixture
def run(configured: Settings, platform: Platform, dagster_instance: dg.DagsterInstance) -> Refresh:
    """Refresh the named instances (or all) through Dagster and return their reports by ``kind/instance``."""

    def refresh_named(*names: str) -> dict[str, InstanceReport]:
        definitions = build_definitions(configured, platform=platform, max_retries=0)
        refs = [item.ref for item in load_sources(configured.sources_file)]
        chosen = [ref for ref in refs if not names or str(ref) in names]
        reports = refresh(definitions, dagster_instance, chosen, log_level="CRITICAL")
        return {str(InstanceRef(report.kind, report.instance)): report for report in reports}

    return refresh_named
