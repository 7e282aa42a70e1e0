"""The gate: search over the sample corpus reaches the floors that are pinned beside its judged queries."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.evaluation import load_judged, summarize
from bbj_pipeline.evaluation.ablations import DEFAULT, ablation_lines, answers_of, fusion_grid, search_ablations
from bbj_pipeline.evaluation.floors import below_floors, load_floors
from bbj_pipeline.evaluation.held_out import held_out
from bbj_pipeline.evaluation.metrics import METRICS
from bbj_pipeline.evaluation.variants import index_ablations, without_headers, without_overlap
from bbj_pipeline.orchestration.steps.corpus import report_links
from bbj_pipeline.records import Generation, InstanceRef
from bbj_pipeline.retrieval import SearchConfig, Searcher
from bbj_pipeline.settings import SAMPLES_DIR
from bbj_pipeline.storage.readback import served_rows, unpublished
from bbj_pipeline_tests.evaluation.conftest import Published
from bbj_pipeline_tests.storage.chunk_factory import chunk

JUDGED = load_judged(SAMPLES_DIR / "judged.jsonl")
FLOORS = load_floors(SAMPLES_DIR / "floors.json", "judged.jsonl")


def test_search_reaches_its_floors(published: Published) -> None:
    """No mean over the samples' judged queries lies below its floor; all kinds are reached; few negatives are answered."""
    config = SearchConfig.from_settings(published.settings)
    documents = sorted({judgement.document for query in JUDGED.queries for judgement in query.judgements})
    assert unpublished(published.database, documents) == []
    summary = summarize(answers_of(published.database, published.embedder, config, JUDGED), floor=config.confidence_floor)
    assert below_floors(summary, FLOORS) == []
    assert all(reached > 0 for reached, _ in summary.reached.values())
    assert summary.negatives[0] <= 1
    assert summary.answerable[0] >= 0.95 * summary.answerable[1]


def test_the_floors_hold_with_links_between_documents(published: Published) -> None:
    """What supersedes a found document is raised once the links are known; the judged queries lose nothing by it."""
    report_links(published.settings, published.database, "test")
    config = SearchConfig.from_settings(published.settings)
    summary = summarize(answers_of(published.database, published.embedder, config, JUDGED), floor=config.confidence_floor)
    assert below_floors(summary, FLOORS) == []
    assert summary.negatives[0] <= 1


def test_how_do_i_create_a_window(published: Published) -> None:
    """The blueprint's example: the hint decides which way is first, the other stands after it with its link; none: modern."""
    report_links(published.settings, published.database, "test")
    searcher = Searcher(published.database, published.embedder, SearchConfig.from_settings(published.settings))

    def ask(generation: Generation | None) -> tuple[int, int]:
        """Return the ranks of addWindow's page and the mnemonic's, each the page's best, with the links of both checked."""
        hits = {
            hit.chunk.key: hit for hit in reversed(searcher.search("How do I create a window?", generation=generation).hits)
        }
        modern = hits["bbjobjects/SysGui/bbjsysgui_addwindow.htm"]
        legacy = hits["mnemonic/sysgui/window_mn_create_window.htm"]
        assert "addWindow(" in modern.chunk.content
        assert "PRINT (sysgui)'WINDOW'" in legacy.chunk.content
        assert ("superseded_by", modern.chunk.key) in [(link.relation, link.key) for link in legacy.links]
        assert ("supersedes", legacy.chunk.key) in [(link.relation, link.key) for link in modern.links]
        return modern.rank, legacy.rank

    modern_hints: tuple[Generation | None, ...] = ("dwc", "bbj-gui", None)
    for generation in modern_hints:
        modern, legacy = ask(generation)
        assert modern == 1 < legacy, generation
    modern, legacy = ask("vpro5")
    assert legacy == 1 < modern


def test_a_worse_search_falls_below_the_floors(published: Published) -> None:
    """The floors have teeth: without words, or without vectors of use, search does not pass them."""
    config = SearchConfig.from_settings(published.settings)
    crippled = replace(config, lexical_weight=0.0, phrase_bonus=0.0, identifier_bonus=0.0, coverage_bonus=0.0)
    summary = summarize(answers_of(published.database, published.embedder, crippled, JUDGED), floor=0.0)
    assert below_floors(summary, FLOORS)


def test_ablations_leave_one_thing_out(published: Published) -> None:
    """Each row differs from the default in one part and is compared with it query by query; a reranker has a row when given."""

    class Backwards:
        """Prefers short passages: an order that is surely worse."""

        name = "backwards"

        def warm(self) -> None:
            """Is always ready."""

        def score(self, query: str, passages: Sequence[str], *, seconds: float) -> list[float]:
            return [1 / (1 + len(passage)) for passage in passages]

    config = SearchConfig.from_settings(published.settings)
    some = replace(JUDGED, queries=JUDGED.queries[::3])
    baseline = answers_of(published.database, published.embedder, config, some)
    rows = list(search_ablations(published.database, published.embedder, config, some, baseline, reranker=Backwards()))
    found = {row.name: row.difference for row in rows}
    assert found.pop(DEFAULT) is None
    assert {"dense alone", "lexical alone", "without hints", "without generation scoring", "reranked"} <= set(found)
    reranked = found["reranked"]
    assert reranked is not None
    assert reranked.is_regression
    assert len(list(ablation_lines(rows))) == len(rows) + 2


def test_the_grid_holds_the_blueprint_and_the_default(published: Published) -> None:
    """The fusion in use comes first; each pair of weights stands beside each number of candidates, and makes one."""
    config = SearchConfig.from_settings(published.settings)
    few = replace(JUDGED, queries=JUDGED.queries[:3])
    names = [name for name, _ in fusion_grid(published.database, published.embedder, config, few)]
    assert names[0] == "fused 0.5 / 0.5, 100 a leg"
    assert len(names) == len(set(names)) == 20
    assert {"fused 0.7 / 0.3, 20 a leg", "fused 0.3 / 0.7, 200 a leg"} <= set(names)
    odd = [name for name, _ in fusion_grid(published.database, published.embedder, replace(config, dense_candidates=7), few)]
    assert (odd[0], len(odd)) == ("fused 0.5 / 0.5, 7 a leg", 21)


def test_what_is_better_everywhere_is_chosen_and_no_noise() -> None:
    """A fusion that leads in every query by as much as it varies is chosen in every split, and the one in use is behind."""
    found = held_out({"ours": [0.1, 0.2] * 20, "better": [0.5, 0.7] * 20}, "ours", splits=50)
    assert (found.chosen, found.within_noise) == ({"better": 50}, 0)
    assert (found.ours_mean, found.chosen_mean) == (pytest.approx(0.15, abs=0.02), pytest.approx(0.6, abs=0.03))


def test_what_is_best_by_luck_does_not_hold() -> None:
    """Of twenty equal fusions the best of a half leads there by luck alone: on the other half it has no lead."""
    drawn = np.random.default_rng(1).random((20, 60))
    found = held_out({f"{number}": row.tolist() for number, row in enumerate(drawn)}, "0", splits=200)
    assert sum(found.chosen.values()) == 200
    assert abs(found.chosen_mean - drawn.mean()) < 0.05
    assert found.within_noise > 150


@pytest.mark.live
def test_index_ablations_leave_what_is_served_alone(published: Published) -> None:
    """Without headers and without overlap are measured in databases of their own, which are gone afterwards."""
    config = SearchConfig.from_settings(published.settings)
    baseline = answers_of(published.database, published.embedder, config, JUDGED)
    rows = list(index_ablations(published.database, published.embedder, config, JUDGED, baseline))
    assert [row.name for row in rows] == ["without headers", "without overlap"]
    assert all(row.difference is not None and row.difference.differences.keys() == set(METRICS) for row in rows)
    assert answers_of(published.database, published.embedder, config, JUDGED) == baseline
    with published.database.connection() as connection:
        left = connection.execute("select datname from pg_database where datname like 'bbj\\_evaluation\\_%'").fetchall()
    assert left == []


def test_what_index_ablations_change() -> None:
    """Headers are gone; a repeated end is cut from its chunk; a chunk without one, or of another document, stays."""
    first = chunk(content="One. Two. Three.")
    second = chunk(ordinal=1, content="Three. Four.", overlap=3)
    other = chunk("b.md", content="Four. Five.", overlap=3)
    assert [item.content for item in without_overlap([first, second, other])] == ["One. Two. Three.", "Four.", "Four. Five."]
    assert {item.contextual_header for item in without_headers([first, second])} == {""}


def test_served_rows_are_what_was_published(published: Published) -> None:
    """Chunks read back have the ids they are served under: nothing that identifies them is lost."""
    ref = InstanceRef("mdx", "dwc-guide")
    rows = served_rows(published.database, ref)
    with published.database.connection() as connection:
        ids = connection.execute("select id, text_hash from doc_chunks where source = 'mdx/dwc-guide'").fetchall()
    assert {(row.chunk.chunk_id(ref), row.chunk.text_hash) for row in rows} == set(ids)
    assert {row.vector.shape for row in rows} == {(published.embedder.dimension,)}


def test_floors_are_complete(tmp_path: Path) -> None:
    """A file without floors for the set, without one of the metrics or with a number that is no share is refused."""
    path = tmp_path / "floors.json"
    for text in ("", "{}", json.dumps({"j": {"MRR": 0.5}}), json.dumps({"j": dict.fromkeys(METRICS, 1.5)})):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ConfigurationError):
            load_floors(path, "j")
