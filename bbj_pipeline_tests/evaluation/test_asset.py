"""The asset over the published samples: what it keeps, when it speaks of a regression, and what is then rolled back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import dagster as dg
import numpy as np
import pytest

from bbj_pipeline.evaluation.metrics import METRICS
from bbj_pipeline.orchestration.build import build_definitions
from bbj_pipeline.orchestration.evaluation import EVALUATION, build_evaluation, roll_back_to
from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.settings import SAMPLES_DIR, Settings
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.publications import status
from bbj_pipeline.storage.publishing import PublishRow, publish
from bbj_pipeline.storage.readback import served_rows
from bbj_pipeline_tests.evaluation.conftest import Published

FLARE = InstanceRef("flare", "bbj-docs")


@pytest.fixture
def platform(published: Published) -> Iterator[Platform]:
    with Platform(published.settings, embedder=published.embedder) as opened:
        yield opened


def evaluate(platform: Platform, *, accept: bool = False, rolled: list[Any] | None = None, **changes: Any) -> Any:
    """Materialise the asset; return its metadata and its check. ``rolled`` collects what is rolled back."""

    def roll_back(database: Database, ref: InstanceRef, publication: int, run_id: str) -> None:
        roll_back_to(database, ref, publication, run_id)
        if rolled is not None:
            rolled.append((ref, publication))

    asset, _ = build_evaluation(kinds=["flare", "mdx"], max_retries=0, roll_back=roll_back)
    platform.settings = platform.settings.model_copy(update=changes)
    result = dg.materialize(
        [asset],
        resources={"platform": platform},
        run_config={"ops": {"corpus__evaluation": {"config": {"accept": accept}}}},
    )
    assert result.success
    (event,) = [found for found in result.get_asset_materialization_events() if found.asset_key == EVALUATION]
    (check,) = result.get_asset_check_evaluations()
    return {name: value.value for name, value in event.materialization.metadata.items()}, check


def damage(published: Published) -> int:
    """Publish the Flare samples with the texts and vectors of all chunks mixed up; return the publication before."""
    before = {(item.kind, item.instance): item.publication_id for item in status(published.database)}
    rows = served_rows(published.database, FLARE)
    noise = np.random.default_rng(3).standard_normal((len(rows), published.embedder.dimension)).astype(np.float32)
    broken = [
        PublishRow(replace(row.chunk, content="Nothing.", contextual_header="", title="Page"), vector)
        for row, vector in zip(rows, noise, strict=True)
    ]
    publish(
        published.database,
        FLARE,
        rows=lambda: iter(broken),
        fingerprint=published.embedder.fingerprint,
        dimension=published.embedder.dimension,
        input_version="damaged",
        run_id="damage",
        code_versions={},
    )
    return before[FLARE.kind, FLARE.instance]


def test_a_first_and_an_unchanged_evaluation(platform: Platform, published: Published) -> None:
    """The first run stores every query's result and a report with a plot; an unchanged state is not asked again."""
    metadata, check = evaluate(platform)
    assert check.passed
    assert metadata["status"] == "evaluated"
    assert {name.replace("_at_", "@") for name in metadata} >= set(METRICS)
    assert "](data:image/png;base64," in metadata["report"]
    with published.database.connection() as connection:
        results = connection.execute("select query_id, scores is null from evaluation_results").fetchall()
    lines = (SAMPLES_DIR / "judged.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(results) == len(lines)
    assert sum(negative for _, negative in results) == sum('"negative"' in line for line in lines)
    again, check = evaluate(platform)
    assert (again["status"], again["evaluation"]) == ("unchanged", metadata["evaluation"])
    assert check.passed


def test_a_regression_fails_until_it_is_mended_or_accepted(platform: Platform, published: Published) -> None:
    """A damaged publication fails the check, again when nothing changed, and no more when an operator accepts it."""
    evaluate(platform)
    damage(published)
    metadata, check = evaluate(platform)
    assert not check.passed
    assert "search became worse" in check.description
    assert metadata["changed_instances"] == "flare/bbj-docs"
    assert "flare-01" in metadata["report"]
    _, check = evaluate(platform)
    assert not check.passed
    _, check = evaluate(platform, accept=True)
    assert check.passed
    metadata, check = evaluate(platform)
    assert metadata["status"] == "unchanged"
    assert check.passed


def test_only_changed_instances_are_rolled_back_and_only_when_configured(platform: Platform, published: Published) -> None:
    """With the setting on, the damaged instance goes back to what the baseline was measured on, and search is as good again."""
    evaluate(platform)
    texts = [row.chunk.text_hash for row in served_rows(published.database, FLARE)]
    before = damage(published)
    rolled: list[Any] = []
    evaluate(platform, rolled=rolled)
    assert rolled == []
    damage_again = {"dense_candidates": 99}  # another state, so that it is asked again
    metadata, check = evaluate(platform, rolled=rolled, rollback_on_regression=True, **damage_again)
    assert rolled == [(FLARE, before)]
    assert "rolled back to publication" in metadata["rolled_back"]
    assert not check.passed
    assert [row.chunk.text_hash for row in served_rows(published.database, FLARE)] == texts
    _, check = evaluate(platform)
    assert check.passed


def test_without_judged_queries_it_says_what_to_do(platform: Platform, tmp_path: Any) -> None:
    """A deployment without judged queries is told how to name them, and no check fails."""
    metadata, check = evaluate(platform, sources_file=tmp_path / "sources.yaml")
    assert "BBJ_JUDGED_FILE" in metadata["status"]
    assert check.passed


def test_it_follows_publications() -> None:
    """A publication of any instance asks for an evaluation, once; nothing published asks for none."""
    definitions = build_definitions(Settings(sources_file=SAMPLES_DIR / "sources.yaml"))
    with dg.DagsterInstance.ephemeral() as instance:
        first = dg.evaluate_automation_conditions(definitions, instance)
        assert first.total_requested == 0
        instance.report_runless_asset_event(dg.AssetMaterialization(["wordpress", "pgvector_table"], partition="kb"))
        second = dg.evaluate_automation_conditions(definitions, instance, cursor=first.cursor)
        assert second.get_num_requested(EVALUATION) == 1
        third = dg.evaluate_automation_conditions(definitions, instance, cursor=second.cursor)
        assert third.total_requested == 0
