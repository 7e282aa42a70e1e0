"""Each expectation fails on the damage it is there to find, and holds without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bbj_pipeline.orchestration.chunk_quality import judge_chunks, judge_coverage, judge_drift, uncovered
from bbj_pipeline.orchestration.quality import Finding, judge_rejects, judge_tags
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
    content="PRINT 'CS' clears the screen.\n\n```bbj\nPRINT 'CS'\n```",
    tokens=20,
    doc_type="concept",
    generations=("character",),
)


def stored(folder: Path, stage: str, codec: Codec[Any], items: Sequence[Any]) -> StageFile:
    """A committed stage file of the given records, one unit each."""
    draft = StageStore(str(folder)).draft(REF, stage, codec.schema)
    writer = UnitWriter(draft, codec)
    for number, item in enumerate(items):
        key = item.topic.key if isinstance(item, TaggedDoc) else item.key
        writer.add(key, f"hash {number}", [(key, item)])
    writer.finish(stage=stage, stage_version="1", input_version="1", complete=True, run_id="test")
    return draft.commit()


def torn(findings: Mapping[str, Finding]) -> set[str]:
    """The names of the checks that failed."""
    return {name for name, finding in findings.items() if not finding.passed}


def test_sound_files_pass(tmp_path: Path) -> None:
    """Nothing is found in a sound file."""
    tagged = stored(tmp_path, "tagged_docs", stage_records.TAGGED, [DOC])
    chunks = stored(tmp_path, "chunks", stage_records.CHUNKS, [CHUNK])
    assert not torn(judge_rejects(stored(tmp_path, "parsed_topics", stage_records.PARSED, [TOPIC]), limit=0.2))
    assert not torn(judge_tags(tagged, floor=0.5))
    assert not torn(judge_chunks(chunks, window=512))
    assert not torn(judge_coverage(uncovered(tagged, chunks, frozenset())[0], 1))
    assert not torn(judge_drift(chunks, {}))


def test_an_empty_file_passes_and_shows_zero(tmp_path: Path) -> None:
    """An instance without rows has nothing wrong with its rows; that it is empty shows in the numbers."""
    found = judge_chunks(stored(tmp_path, "chunks", stage_records.CHUNKS, []), window=512)
    assert not torn(found)
    assert found["chunk_window"].numbers["chunks"] == 0


def test_too_many_rejects(tmp_path: Path) -> None:
    """One reject in four is over a limit of 20 % and is listed with its reason; under 30 % it passes."""
    items = [TOPIC, TOPIC, TOPIC, Reject("unit 3", "empty", "the file holds nothing")]
    file = stored(tmp_path, "parsed_topics", stage_records.PARSED, items)
    found = judge_rejects(file, limit=0.2)["rejects_bounded"]
    assert not found.passed
    assert "max_reject_share" in found.description
    assert "`unit 3`: empty: the file holds nothing" in found.texts["rejects"]
    assert not torn(judge_rejects(file, limit=0.3))


def test_what_is_rightly_left_out_is_no_failure(tmp_path: Path) -> None:
    """Drafts and tokenised programs, however many, are neither counted nor listed among the rejected."""
    left_out = [Reject("unit 1", "draft", "not published"), Reject("unit 2", "tokenised", "a tokenised BBj file")]
    found = judge_rejects(stored(tmp_path, "parsed_topics", stage_records.PARSED, [TOPIC, *left_out]), limit=0.0)[
        "rejects_bounded"
    ]
    assert found.passed
    assert found.numbers["rejected"] == 0


@pytest.mark.parametrize(
    ("doc", "name", "sentence"),
    [
        (replace(DOC, generations=("docs",)), "labels_valid", "BROKEN: every label is one of the closed list"),  # type: ignore[arg-type]
        (replace(DOC, evidence=()), "labels_valid", "BROKEN: every label has evidence"),
        (replace(DOC, generations=(), evidence=()), "unknown_share", "BROKEN: at least 75% of the documents carry a label"),
    ],
)
def test_bad_tags(tmp_path: Path, doc: TaggedDoc, name: str, sentence: str) -> None:
    """A label outside the list, a label without evidence and too many unknown documents are each found, with a link."""
    doc = replace(doc, topic=replace(TOPIC, key="bad.md", url="https://guide.example.org/bad"))
    file = stored(tmp_path, "tagged_docs", stage_records.TAGGED, [DOC, doc])
    found = judge_tags(file, floor=0.75)
    assert torn(found) == {name}
    assert sentence in found[name].description
    assert "Remedy: " in found[name].description
    assert "- [`bad.md`](https://guide.example.org/bad)" in "".join(found[name].texts.values())


@pytest.mark.parametrize(
    ("chunk", "name"),
    [
        (replace(CHUNK, tokens=513), "chunk_window"),
        (replace(CHUNK, tokens=0), "chunk_window"),
        (replace(CHUNK, content="   "), "chunk_window"),
        (replace(CHUNK, contextual_header=""), "headers_present"),
        (replace(CHUNK, content="```bbj\nPRINT 'CS'"), "fences_balanced"),
        (replace(CHUNK, content="````\n```\nPRINT\n```"), "fences_balanced"),
        (replace(CHUNK, overlap=4), "prose_overlap"),
    ],
)
def test_bad_chunks(tmp_path: Path, chunk: Chunk, name: str) -> None:
    """A chunk over the window, empty, without header, with a torn fence or too much overlap is found and listed."""
    chunks = [
        CHUNK,
        *(replace(CHUNK, key=f"{n}.md", content=f"Text {n}.", tokens=20) for n in range(20)),
        replace(chunk, url="https://x.example.org"),
    ]
    found = judge_chunks(stored(tmp_path, "chunks", stage_records.CHUNKS, chunks), window=512)
    assert name in torn(found)
    assert torn(found) <= {name, "sizes_by_type"}
    assert "](https://x.example.org)" in found[name].texts["offenders"]


def test_sizes_and_copies_are_shares(tmp_path: Path) -> None:
    """One oversized chunk in five is over the tenth that may be; four copies of one text in five are over the half."""
    sizes = [replace(CHUNK, content=f"Text {n}.", tokens=700 if n == 0 else 450) for n in range(5)]
    assert torn(judge_chunks(stored(tmp_path, "chunks", stage_records.CHUNKS, sizes), window=1024)) == {"sizes_by_type"}
    found = judge_chunks(stored(tmp_path, "chunks", stage_records.CHUNKS, [CHUNK] * 5), window=1024)
    assert torn(found) == {"duplicate_share"}
    assert found["duplicate_share"].numbers["copied"] == 4


def test_a_lost_word_is_found(tmp_path: Path) -> None:
    """A document whose chunks lack a word of a block is named with the word; what was found covered is not read again."""
    lossy = replace(TOPIC, blocks=(*TOPIC.blocks, Block("table", rows=(("Channel", "Vanished"),))))
    tagged = stored(tmp_path, "tagged_docs", stage_records.TAGGED, [replace(DOC, topic=lossy)])
    chunks = stored(tmp_path, "chunks", stage_records.CHUNKS, [replace(CHUNK, content="PRINT 'CS' clears the screen. Channel")])
    missing, covered, documents = uncovered(tagged, chunks, frozenset())
    assert (missing, covered, documents) == ({"a.md": ["vanished"]}, [], 1)
    found = judge_coverage(missing, documents)["blocks_covered"]
    assert not found.passed
    assert found.texts["offenders"] == "- `a.md`: `vanished`"
    assert uncovered(tagged, chunks, frozenset({"hash 0"})) == ({}, [], 1)


def test_a_document_without_a_chunk_is_not_covered(tmp_path: Path) -> None:
    """All words of a document are missing when it left no chunk, whether a reject stands in its place or nothing does."""
    other = replace(DOC, topic=replace(TOPIC, key="b.md"))
    tagged = stored(tmp_path, "tagged_docs", stage_records.TAGGED, [DOC, other])
    rejected = Reject("b.md", "no-content", "the document has no text to retrieve")
    missing, covered, documents = uncovered(
        tagged, stored(tmp_path, "chunks", stage_records.CHUNKS, [CHUNK, rejected]), frozenset()
    )
    assert (list(missing), covered, documents) == (["b.md"], ["hash 0"], 2)
    assert missing["b.md"] == ["clears", "cs", "print", "screen", "the"]
    alone = stored(tmp_path, "chunks", stage_records.CHUNKS, [CHUNK])
    assert list(uncovered(tagged, alone, frozenset({"hash 0"}))[0]) == ["b.md"]


def test_drift_is_a_moved_share(tmp_path: Path) -> None:
    """When the chunks of a label go from none to a quarter, the check says so; against an equal publication it is silent."""
    chunks = [replace(CHUNK, generations=("dwc",) if n < 30 else ("character",)) for n in range(120)]
    file = stored(tmp_path, "chunks", stage_records.CHUNKS, chunks)
    assert not torn(judge_drift(file, {("dwc",): 30, ("character",): 90}))
    found = judge_drift(file, {("character",): 120})["label_drift"]
    assert not found.passed
    assert found.numbers["largest_move"] == 0.25
    assert "| dwc | 0.0% | 25.0% |" in found.texts["labels"]
