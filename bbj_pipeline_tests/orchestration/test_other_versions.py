"""Another chunker, another model, another place of a topic: what a refresh then does again, and what it keeps."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import dagster as dg
import numpy as np

from bbj_pipeline.orchestration.build import build_definitions
from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.orchestration.refresh import InstanceReport, refresh
from bbj_pipeline.orchestration.stage_names import CHUNKS
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.settings import Settings
from bbj_pipeline.stages.contract import Tokenizer, Vector, Vectors
from bbj_pipeline.storage.database import Database

GUIDE, PROGRAMS = InstanceRef("mdx", "dwc-guide"), InstanceRef("bbj_source", "programs")


class Drawn:
    """An embedder whose vectors are drawn from the text's hash; it counts what it is given."""

    dimension = 8

    def __init__(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint
        self.texts = 0

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.texts += len(texts)
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vector:
        seed = int.from_bytes(hashlib.sha256(f"{self.fingerprint}{text}".encode()).digest()[:8], "big")
        vector = np.random.default_rng(seed).standard_normal(self.dimension)
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


class Renamed:
    """A tokenizer that counts as another does, under another name: to the chunker a new version of the same rules."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.name, self.window, self.count = f"{tokenizer.name}, renamed", tokenizer.window, tokenizer.count


class OtherChunker(Platform):
    """A platform whose chunker has another version."""

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return Renamed(super().tokenizer)


def run(settings: Settings, platform: Platform, instance: dg.DagsterInstance, ref: InstanceRef) -> InstanceReport:
    definitions = build_definitions(settings, platform=platform, max_retries=0)
    (report,) = refresh(definitions, instance, [ref], log_level="CRITICAL")
    assert report.error is None
    return report


def served(database: Database) -> dict[str, tuple[str, str]]:
    """Document and vector of every served row."""
    with database.connection() as connection:
        rows = connection.execute("select id, doc_key, embedding::text from doc_chunks").fetchall()
    return {row: (key, vector) for row, key, vector in rows}


def states(database: Database) -> dict[str, str]:
    with database.connection() as connection:
        return dict(connection.execute("select fingerprint, state from embedding_spaces").fetchall())


def test_a_new_chunker_cuts_all_again_and_equal_chunks_cost_nothing_more(
    configured: Settings, dagster_instance: dg.DagsterInstance
) -> None:
    """When the chunker's version changes and its chunks do not, all is cut again, and nothing parsed, embedded or written."""
    model = Drawn("one")
    with Platform(configured, embedder=model) as platform, OtherChunker(configured, embedder=model) as other:
        first = run(configured, platform, dagster_instance, GUIDE)
        given = model.texts
        second = run(configured, other, dagster_instance, GUIDE)
    event = dagster_instance.get_latest_materialization_event(dg.AssetKey([GUIDE.kind, CHUNKS]))
    assert event is not None
    assert event.asset_materialization is not None
    counts = event.asset_materialization.metadata
    assert (counts["computed"].value, counts["reused"].value) == (first.chunks, 0)
    assert (second.status, second.documents["parsed"], second.chunks) == ("unchanged", 0, first.chunks)
    assert model.texts == given
    assert second.rows == {"inserted": 0, "updated": 0, "deleted": 0, "unchanged": first.chunks}


def test_another_model_fills_its_space_beside_and_is_switched_to_at_the_last_instance(
    configured: Settings, dagster_instance: dg.DagsterInstance, database: Database
) -> None:
    """Of another model every text is embedded and nothing parsed or cut; until the last instance is there the old rows are
    served whole, then all rows have the new vectors under their old ids."""
    one, two = Drawn("one"), Drawn("two")
    with Platform(configured, embedder=one) as platform:
        chunks = [run(configured, platform, dagster_instance, ref).chunks for ref in (GUIDE, PROGRAMS)]
    before = served(database)
    with Platform(configured, embedder=two) as platform:
        first = run(configured, platform, dagster_instance, GUIDE)
        between, halfway = states(database), served(database)
        last = run(configured, platform, dagster_instance, PROGRAMS)
    after = served(database)
    assert between == {"one": "active", "two": "filling"}
    assert halfway == before
    assert states(database) == {"one": "retired", "two": "active"}
    assert after.keys() == before.keys()
    assert all(after[row][1] != vector for row, (_, vector) in before.items())
    assert [report.documents["parsed"] for report in (first, last)] == [0, 0]
    assert [report.rows["inserted"] for report in (first, last)] == chunks
    assert two.texts == one.texts


def test_a_moved_topic_is_parsed_alone_and_its_old_place_is_gone(
    configured: Settings, dagster_instance: dg.DagsterInstance, database: Database, exports: Path
) -> None:
    """A renamed topic is one parsed and one deleted document; the rows of every other topic stay as they are."""
    with Platform(configured, embedder=Drawn("one")) as platform:
        run(configured, platform, dagster_instance, GUIDE)
        before = served(database)
        page = sorted((exports / "mdx" / "dwc-guide").rglob("*.md"))[-1]
        old = page.relative_to(exports / "mdx" / "dwc-guide").as_posix()
        moved = page.rename(page.with_name("moved_here.md"))
        report = run(configured, platform, dagster_instance, GUIDE)
    after = served(database)
    assert (report.documents["parsed"], report.documents["deleted"], report.withheld) == (1, 1, 0)
    keys = {key for key, _ in before.values()}
    assert old in keys
    assert {key for key, _ in after.values()} == keys - {old} | {old.replace(page.name, moved.name)}
    assert {row: value for row, value in before.items() if value[0] != old}.items() <= after.items()
