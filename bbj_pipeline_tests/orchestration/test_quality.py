"""Each expectation fails on the damage it is there to find, and holds without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bbj_pipeline.orchestration.quality import judge_chunks, judge_rejects, judge_tags
from bbj_pipeline.records import Block, Chunk, Evidence, InstanceRef, Reject, TaggedDoc, Topic
from bbj_pipeline.storage import stage_records
from bbj_pipeline.storage.stage_files import StageFile, StageStore
from bbj_pipeline.storage.stage_records import Codec
from bbj_pipeline.storage.stage_units import UnitWriter

REF = InstanceRef("mdx", "guide")
TOPIC = Topic(kind="mdx", key="a.md", title="A", blocks=(Block("paragraph", "PRINT 'CS' clears the screen."),))
DOC = TaggedDoc(TOPIC, ("character",), (Evidence("character", "'CS'", "block 0", 1.0),), "concept", "the default")
CHUNK = Chunk(
    kind="mdx",
    key="a.md",
    ordinal=0,
    section_ordinal=0,
    title="A",
    heading_path=(),
    contextual_header="Guide > A",
    content="```bbj\nPRINT 'CS'\n```",
    tokens=20,
    doc_type="concept",
    generations=("character",),
)


def stored(folder: Path, stage: str, codec: Codec[Any], items: Sequence[Any]) -> StageFile:
    """A committed stage file of the given records, one unit each."""
    draft = StageStore(str(folder)).draft(REF, stage, codec.schema)
    writer = UnitWriter(draft, codec)
    for number, item in enumerate(items):
        writer.add(f"unit {number}", "hash", [(f"unit {number}", item)])
    writer.finish(stage=stage, stage_version="1", input_version="1", complete=True, run_id="test")
    return draft.commit()


def test_sound_files_pass(tmp_path: Path) -> None:
    """Nothing is found in a sound file."""
    assert judge_rejects(stored(tmp_path, "parsed_topics", stage_records.PARSED, [TOPIC]), limit=0.2).passed
    assert judge_tags(stored(tmp_path, "tagged_docs", stage_records.TAGGED, [DOC]), floor=0.5).passed
    assert judge_chunks(stored(tmp_path, "chunks", stage_records.CHUNKS, [CHUNK]), window=512).passed


def test_an_empty_file_passes_and_shows_zero(tmp_path: Path) -> None:
    """An instance without rows has nothing wrong with its rows; that it is empty shows in the numbers."""
    found = judge_chunks(stored(tmp_path, "chunks", stage_records.CHUNKS, []), window=512)
    assert found.passed
    assert found.numbers["chunks"] == 0


def test_too_many_rejects(tmp_path: Path) -> None:
    """One reject in four is over a limit of 20 % and is listed with its reason; under 30 % it passes."""
    items = [TOPIC, TOPIC, TOPIC, Reject("unit 3", "empty", "the file holds nothing")]
    file = stored(tmp_path, "parsed_topics", stage_records.PARSED, items)
    found = judge_rejects(file, limit=0.2)
    assert not found.passed
    assert "max_reject_share" in found.description
    assert "`unit 3`: empty: the file holds nothing" in found.texts["rejects"]
    assert judge_rejects(file, limit=0.3).passed


def test_what_is_rightly_left_out_is_no_failure(tmp_path: Path) -> None:
    """Drafts and tokenised programs, however many, are neither counted nor listed among the rejected."""
    left_out = [Reject("unit 1", "draft", "not published"), Reject("unit 2", "tokenised", "a tokenised BBj file")]
    found = judge_rejects(stored(tmp_path, "parsed_topics", stage_records.PARSED, [TOPIC, *left_out]), limit=0.0)
    assert found.passed
    assert found.numbers["rejected"] == 0


@pytest.mark.parametrize(
    ("doc", "sentence"),
    [
        (replace(DOC, generations=("docs",)), "BROKEN: every label is one of the closed list"),  # type: ignore[arg-type]
        (replace(DOC, evidence=()), "BROKEN: every label has evidence"),
        (replace(DOC, generations=(), evidence=()), "BROKEN: at least 75% of the documents carry a label"),
    ],
)
def test_bad_tags(tmp_path: Path, doc: TaggedDoc, sentence: str) -> None:
    """A label outside the closed list, a label without evidence and too many unknown documents are each found."""
    file = stored(tmp_path, "tagged_docs", stage_records.TAGGED, [DOC, doc])
    found = judge_tags(file, floor=0.75)
    assert not found.passed
    assert sentence in found.description


@pytest.mark.parametrize(
    ("chunk", "sentence"),
    [
        (replace(CHUNK, tokens=513), "BROKEN: every chunk has 1 to 512 tokens"),
        (replace(CHUNK, tokens=0), "BROKEN: every chunk has 1 to 512 tokens"),
        (replace(CHUNK, contextual_header=""), "BROKEN: every chunk has a contextual header"),
        (replace(CHUNK, content="   "), "BROKEN: no chunk is empty"),
        (replace(CHUNK, content="```bbj\nPRINT 'CS'"), "BROKEN: no code fence is torn"),
        (replace(CHUNK, content="````\n```\nPRINT\n```"), "BROKEN: no code fence is torn"),
    ],
)
def test_bad_chunks(tmp_path: Path, chunk: Chunk, sentence: str) -> None:
    """A chunk over the window, without header, empty, or with a torn fence is found."""
    found = judge_chunks(stored(tmp_path, "chunks", stage_records.CHUNKS, [CHUNK, chunk]), window=512)
    assert not found.passed
    assert sentence in found.description
