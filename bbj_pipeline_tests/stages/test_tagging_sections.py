"""Labels by section: what a section says, what it inherits, how it reaches chunks, files and the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from bbj_pipeline.cli.inspect import tag as tag_command
from bbj_pipeline.models import load_tokenizer
from bbj_pipeline.records import Block, Evidence, SectionLabels, TaggedDoc, Topic
from bbj_pipeline.settings import Settings
from bbj_pipeline.stages.chunking import chunk
from bbj_pipeline.stages.tagging import confidence, generations_at, tag
from bbj_pipeline.storage.stage_records import TAGGED
from bbj_pipeline_tests.paths import ROOT

CHARACTER = Block("code", "print 'cs',@(5,5),\"Name\"\ninput name$", language="bbj")
VPRO5 = Block("code", "print (sysgui)'edit'(101,10,10,90,20,\"\",$$)", language="bbj")
GUI = Block("code", 'w! = BBjAPI().openSysGui("X0").addWindow(1,1,9,9,"A")\nprocess_events', language="bbj")
DWC = Block("code", 'BBjAPI().getWebManager().executeAsyncScript("focus()")', language="bbj")
FILES = Block("code", 'open (1)"A"\nread record (1,key=k$,dom=*next)r$', language="bbj")


def heading(text: str, level: int = 2) -> Block:
    return Block("heading", text, level=level)


def prose(text: str = "The user reads this and goes on.") -> Block:
    return Block("paragraph", text)


def tagged(*blocks: Block, title: str = "A field") -> TaggedDoc:
    return tag(Topic("mdx", "a.md", title, blocks))


def test_each_section_has_its_own_and_the_document_all() -> None:
    """Two sections with code of two generations carry one label each; the introduction keeps the document's."""
    doc = tagged(prose(), heading("One"), CHARACTER, prose(), heading("Two"), DWC)
    assert doc.generations == ("character", "dwc")
    assert generations_at(doc, 1, 4) == ("character",)
    assert generations_at(doc, 4, 6) == ("dwc",)
    assert generations_at(doc, 0, 1) == ("character", "dwc")
    assert generations_at(doc, 1, 6) == ("character", "dwc")


def test_a_uniform_document_has_no_sections() -> None:
    """Where all speak of one generation, or only one does, nothing is said by section."""
    doc = tagged(heading("One"), DWC, heading("Two"), prose(), heading("Three"), DWC)
    assert doc.sections == ()
    assert generations_at(doc, 2, 4) == ("dwc",)
    assert tagged(prose()).sections == ()


def test_a_section_without_a_cue_inherits() -> None:
    """It takes the labels of the section above it, and the document's where there are none above."""
    doc = tagged(heading("Old", 2), CHARACTER, heading("Notes", 3), prose(), heading("New", 2), DWC, heading("End", 2), prose())
    assert generations_at(doc, 2, 4) == ("character",)
    assert generations_at(doc, 6, 8) == ("character", "dwc")


def test_a_heading_speaks_for_what_stands_under_it() -> None:
    """A heading that names a generation labels its section, which no other name in passing widens."""
    doc = tagged(
        heading("Visual PRO/5"), prose(), heading("In the DWC"), prose("Programs of the BBj GUI run here as they are.")
    )
    assert generations_at(doc, 0, 2) == ("vpro5",)
    assert generations_at(doc, 2, 4) == ("dwc",)


def test_labels_of_tabs_speak_for_the_code_below_them() -> None:
    """A caption labels what follows up to the last code; the text after it belongs to the section again."""
    doc = tagged(
        heading("Ask for a name"),
        prose("Character UI"),
        CHARACTER,
        prose("DWC"),
        prose(),
        DWC,
        prose("Both wait for the user."),
    )
    assert generations_at(doc, 1, 3) == ("character",)
    assert generations_at(doc, 3, 6) == ("dwc",)
    assert generations_at(doc, 6, 7) == ("character", "dwc")


def test_what_all_generations_share_is_of_all() -> None:
    """Beside sections of two user interfaces, one with file access alone is universal; under one of them it is not."""
    doc = tagged(heading("Read"), FILES, heading("Terminal"), CHARACTER, heading("Browser"), DWC, heading("Lists", 3), FILES)
    assert doc.generations == ("all", "character", "dwc")
    assert generations_at(doc, 0, 2) == ("all",)
    assert generations_at(doc, 6, 8) == ("dwc",)


def test_objects_in_a_text_about_the_browser_are_of_the_browser() -> None:
    """The window objects are shared: under a heading or title of the DWC they speak for it, elsewhere for the BBj GUI."""
    doc = tagged(heading("BBj GUI"), GUI, heading("DWC"), GUI, DWC)
    assert generations_at(doc, 0, 2) == ("bbj-gui",)
    assert generations_at(doc, 2, 5) == ("dwc",)
    assert tagged(GUI, title="Windows in the DWC").generations == ("dwc",)


def test_a_label_needs_evidence_of_its_own() -> None:
    """A title of the BBj GUI does not make a section one of the browser where nothing in the document speaks of it."""
    doc = tagged(heading("One"), GUI, heading("Two"), CHARACTER, title="Fields of the BBj GUI")
    assert doc.generations == ("character", "bbj-gui")
    assert {item.label for item in doc.evidence} == {"character", "bbj-gui"}


def test_evidence_names_the_place_in_each_section() -> None:
    """The same cue in two sections is evidence twice, with the block and the character where it begins."""
    doc = tagged(heading("One"), VPRO5, heading("Two"), DWC, heading("Three"), VPRO5)
    places = [(item.where, item.offset) for item in doc.evidence if item.cue == "PRINT (sysgui)"]
    assert places == [("block 1", 0), ("block 5", 0)]
    script = next(item for item in doc.evidence if item.cue == "executeAsyncScript()")
    assert DWC.text[script.offset :].startswith("executeAsyncScript")
    for item in doc.evidence:
        assert item.where.startswith("block ")
        assert item.offset is not None


def test_a_class_reference_is_one() -> None:
    """An API reference has no labels by section: it is about one object, whose overloads the chunker joins."""
    blocks = (heading("Syntax"), GUI, heading("DWC"), DWC)
    doc = tag(Topic("javadoc", "a.B", "B", blocks), default_doc_type="api-reference")
    assert doc.sections == ()
    assert set(doc.generations) == {"bbj-gui", "dwc"}


def test_chunks_carry_the_labels_of_their_blocks() -> None:
    """Long sections become chunks of their own label; a migration pair in one chunk carries both."""
    tokenizer = load_tokenizer(Settings())
    filler = [prose(f"Sentence number {number} says a little about the field and its use. " * 9) for number in range(8)]
    doc = tagged(heading("Old"), CHARACTER, *filler, heading("New"), DWC, *filler)
    chunks = chunk(doc, tokenizer)
    assert {item.generations for item in chunks if item.heading_path == ("Old",)} == {("character",)}
    assert {item.generations for item in chunks if item.heading_path == ("New",)} == {("dwc",)}
    pair = tagged(heading("Before"), VPRO5, heading("After"), GUI, title="Migrating a window")
    assert pair.doc_type == "migration"
    assert {item.generations for item in chunk(pair, tokenizer)} == {("vpro5", "bbj-gui")}


def test_sections_and_offsets_survive_the_file() -> None:
    """A tagged document is the same after Parquet; a row written before there were sections is read without them."""
    doc = tagged(heading("One"), CHARACTER, heading("Two"), DWC)
    assert doc.sections == (SectionLabels(0, 2, ("character",)), SectionLabels(2, 4, ("dwc",)))
    fields = [field for field in TAGGED.schema if field.name in TAGGED.to_row(doc)]
    row = pa.Table.from_pylist([TAGGED.to_row(doc)], pa.schema(fields)).to_pylist()[0]
    assert TAGGED.from_row(row) == doc
    row = pa.Table.from_pylist([TAGGED.to_row(doc)], pa.schema(fields)).to_pylist()[0]
    del row["sections"]
    for item in row["evidence"]:
        del item["offset"]
    old = TAGGED.from_row(row)
    assert old.sections == ()
    assert old.evidence[0].offset is None


def test_confidence_grows_with_evidence() -> None:
    """One cue of code gives a half, two three quarters; a default a quarter, a person's word certainty."""
    topic = Topic("mdx", "a.md", "A", ())
    cue = Evidence("dwc", "x", "block 0", 1.0)
    assert confidence(TaggedDoc(topic, ("dwc",), (cue,), "concept", "")) == {"dwc": 0.5}
    assert confidence(TaggedDoc(topic, ("dwc",), (cue, cue), "concept", "")) == {"dwc": 0.75}
    default = Evidence("all", "x", "default", 1.0)
    assert confidence(TaggedDoc(topic, ("all",), (default,), "concept", "")) == {"all": 0.25}
    said = Evidence("all", "x", "override", 1.0)
    assert confidence(TaggedDoc(topic, ("all",), (default, said), "concept", "")) == {"all": 1.0}


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:  # type: ignore[type-arg]
    """What ``bbj-pipeline tag`` prints of the Flare sample with an override file, by key."""
    overrides: Path = tmp_path_factory.mktemp("overrides") / "said.yaml"
    overrides.write_text('"commands/*_function.htm": {add: [all]}\n')
    samples = str(ROOT / "bbj_pipeline" / "samples" / "flare")
    result = CliRunner().invoke(tag_command, ["flare", samples, "--option", f"generation_overrides={overrides}"])
    assert result.exit_code == 0, result.output
    lines = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    return {line["key"]: line for line in lines}


def test_the_command_shows_all_there_is_to_know(printed: dict[str, dict]) -> None:  # type: ignore[type-arg]
    """Labels with how sure they are, evidence with positions, sections with theirs, the type with its reason, overrides."""
    page = printed["usr/four_generations_of_user_interface.htm"]
    assert list(page["confidence"]) == page["generations"] == ["character", "vpro5", "bbj-gui", "dwc"]
    assert [section["generations"] for section in page["sections"]] == [["character"], ["vpro5"], ["bbj-gui"], ["dwc"]]
    for section in page["sections"]:
        assert section["heading"]
        assert {item["label"] for item in section["evidence"]} == set(section["generations"])
        assert all(item["where"].startswith("block ") and item["offset"] >= 0 for item in section["evidence"])
    assert page["doc_type_reason"]
    said = printed["commands/sendmsg_function.htm"]
    assert said["generations"] == ["all", "vpro5"]
    assert said["evidence"][-1]["where"] == "override"
