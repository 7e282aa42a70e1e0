"""A text that the model cannot embed damages nothing: real runs with the real model behind a wrapper that spoils one text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import dagster as dg
import numpy as np
import pytest

from bbj_pipeline.models import load_embedder
from bbj_pipeline.orchestration.build import build_definitions
from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.orchestration.refresh import InstanceReport, refresh
from bbj_pipeline.orchestration.steps.embed import EmbeddingProgress
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.settings import Settings
from bbj_pipeline.stages.contract import Embedder, Vector, Vectors
from bbj_pipeline.storage.database import Database

SPOILT = "A sentence that no model embeds"
REF = InstanceRef("mdx", "dwc-guide")


class SpoiltEmbedder:
    """The real offline model, except that a batch with the spoilt sentence comes back as NaN."""

    def __init__(self, model: Embedder) -> None:
        self.model = model

    @property
    def fingerprint(self) -> str:
        return self.model.fingerprint

    @property
    def dimension(self) -> int:
        return self.model.dimension

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        vectors = self.model.embed_documents(texts)
        return np.full_like(vectors, np.nan) if any(SPOILT in text for text in texts) else vectors

    def embed_query(self, text: str) -> Vector:
        return self.model.embed_query(text)


@pytest.fixture
def heard() -> list[EmbeddingProgress]:
    return []


@pytest.fixture
def spoilt(configured: Settings, heard: list[EmbeddingProgress]) -> Iterator[Platform]:
    with Platform(configured, listener=heard.append, embedder=SpoiltEmbedder(load_embedder(configured))) as platform:
        yield platform


def test_a_document_without_a_vector_stays_served_as_it_was(
    spoilt: Platform,
    configured: Settings,
    exports: Path,
    database: Database,
    dagster_instance: dg.DagsterInstance,
    heard: list[EmbeddingProgress],
) -> None:
    """The document with the bad text keeps its served rows, the others are published, and the next run tries it again.

    A check warns of it by its key, and is content when every text has a vector.
    """

    def run() -> InstanceReport:
        definitions = build_definitions(configured, platform=spoilt, max_retries=0)
        return next(iter(refresh(definitions, dagster_instance, [REF], log_level="CRITICAL")))

    first = run()
    assert (first.status, first.embeddings["computed"]) == ("published", first.chunks)
    assert (heard[-1].done, heard[-1].total) == (first.chunks, first.chunks)
    assert check(dagster_instance).passed
    broken, changed = sorted((exports / "mdx" / "dwc-guide").rglob("*.md"))[:2]
    before = rows(database, broken.name)
    broken.write_text(broken.read_text(encoding="utf-8") + f"\n{SPOILT}.\n", encoding="utf-8")
    changed.write_text(changed.read_text(encoding="utf-8") + "\nA sentence that every model embeds.\n", encoding="utf-8")
    second = run()
    assert second.error is None
    warned = check(dagster_instance)
    assert (warned.passed, warned.severity, warned.blocking) == (False, dg.AssetCheckSeverity.WARN, False)
    assert (warned.metadata["unusable"].value, warned.metadata["documents_left_out"].value) == (1, 1)
    assert broken.name in str(warned.metadata["unusable_vectors"].value)
    assert broken.name in (warned.description or "")
    assert changed.name not in str(warned.metadata["unusable_vectors"].value)
    assert rows(database, broken.name) == before != {}
    assert any("every model embeds" in content for content in rows(database, changed.name).values())
    again = run()
    assert again.embeddings["computed"] == 1
    assert rows(database, broken.name) == before


def check(instance: dg.DagsterInstance) -> dg.AssetCheckEvaluation:
    """What the newest check of the vectors found."""
    key = dg.AssetCheckKey(dg.AssetKey(["mdx", "embeddings"]), "vectors_usable")
    event = instance.event_log_storage.get_asset_check_execution_history(key, limit=1)[0].event
    assert event is not None
    assert event.dagster_event is not None
    return event.dagster_event.asset_check_evaluation_data


def rows(database: Database, name: str) -> dict[str, str]:
    """Served content by chunk id of the document whose key ends in a file name."""
    with database.connection() as connection:
        found = connection.execute(
            "select id, content from doc_chunks where source = %s and doc_key like %s", (str(REF), f"%{name}")
        ).fetchall()
    return dict(found)
