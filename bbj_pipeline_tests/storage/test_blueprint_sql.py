"""The blueprint's two statements, as printed, against ``doc_chunks``."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.publishing import PublishRow
from bbj_pipeline_tests.paths import SHARED
from bbj_pipeline_tests.storage.chunk_factory import chunk, put, unit


def _statement(stage: str) -> str:
    """The first SQL statement printed under a stage's title, with its two free names bound as parameters."""
    (path,) = (SHARED / "seeds").glob("000_*")
    section = path.read_text(encoding="utf-8").split(stage, 1)[1]
    match = re.search(r"SELECT id.*?;", section, re.DOTALL)
    assert match is not None, f"no statement under {stage!r}"
    return match[0].replace("query_embedding", "%(query_embedding)s").replace("query_text", "%(query_text)s")


def _run(database: Database, statement: str, **values: Any) -> list[tuple[Any, ...]]:
    with database.connection() as connection:
        return connection.execute(statement, values).fetchall()


def test_stage_1_finds_the_generation_and_universal_documents(database: Database) -> None:
    """The semantic search returns dwc and universal chunks by similarity, and no other generation."""
    rows = [
        PublishRow(chunk("dwc.md", generations=("bbj-gui", "dwc")), unit(1, 0.2)),
        PublishRow(chunk("all.md", generations=("all",)), unit(1, 0.1)),
        PublishRow(chunk("vpro5.md", generations=("vpro5",)), unit(1)),
        PublishRow(chunk("unknown.md", generations=()), unit(1)),
    ]
    put(database, rows, "1")
    found = _run(database, _statement("Stage 1: Dense Vector Search"), query_embedding=unit(1))
    assert [row[2] for row in found] == [["all"], ["bbj-gui", "dwc"]]
    np.testing.assert_allclose([row[4] for row in found], [1 / np.hypot(1, 0.1), 1 / np.hypot(1, 0.2)], rtol=1e-5)


def test_stage_2_finds_words_and_whole_identifiers(database: Database) -> None:
    """The keyword search finds stemmed words, and an API name as it is written, in any case."""
    rows = [
        PublishRow(chunk("add.md", content="Call BBjSysGui.addWindow() to create a window."), unit(1)),
        PublishRow(chunk("event.md", content="Wait in PROCESS_EVENTS.", title="Events", contextual_header="Events"), unit(2)),
    ]
    put(database, rows, "1")
    statement = _statement("Stage 2: Sparse Keyword Search")
    for text in ("creating windows", "addWindow", "bbjsysgui.addwindow"):
        assert [row[1] for row in _run(database, statement, query_text=text)] == [rows[0].chunk.content], text
    assert [row[1] for row in _run(database, statement, query_text="PROCESS_EVENTS")] == [rows[1].chunk.content]


def test_nearest_neighbours_through_the_view_use_the_hnsw_index(database: Database) -> None:
    """People's own SQL on the view, all columns included, is answered by the space's HNSW index."""
    rng = np.random.default_rng(3)
    vectors = rng.standard_normal((3000, 64)).astype(np.float32)
    rows = [PublishRow(chunk(f"{n}.md", content=f"text {n}"), vector) for n, vector in enumerate(vectors)]
    put(database, rows, "1", dimension=64)
    for columns in ("id, content", "*"):
        statement = f"explain select {columns} from doc_chunks order by embedding <=> %(query_embedding)s limit 20"
        plan = "\n".join(line for (line,) in _run(database, statement, query_embedding=vectors[0]))
        assert "Index Scan using chunks_1_hnsw" in plan, plan
    with database.connection() as connection:
        definition = connection.execute("select indexdef from pg_indexes where indexname = 'chunks_1_hnsw'").fetchone()
    assert definition is not None
    assert "USING hnsw (embedding vector_cosine_ops) WITH (m='24', ef_construction='200')" in definition[0]
