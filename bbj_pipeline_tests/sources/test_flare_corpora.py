"""Flare against the real inputs: every topic accounted for, and its structure and words equal to independent counts."""

import csv
import re
from collections import Counter
from pathlib import Path

import pytest

from bbj_pipeline.records import RawDocument, Reject, Topic
from bbj_pipeline.sources.flare import SOURCE, FlareOptions
from bbj_pipeline_tests.paths import CORPORA, FACTS

CLEAN = ("edge-cases-clean", "localization-clean", "saleslogix-clean")
INSTANCES = (*CLEAN, "localization-project", "madcap-fixtures-project")
CONDITIONS = "exclude[Default.PolishTarget or Default.WebExclude]"


def parse_all(path: Path, **options: str) -> dict[str, tuple[RawDocument, Topic | Reject]]:
    settings = FlareOptions(path=path, **options)
    exported = list(SOURCE.export(settings))
    raw = {document.key: document for document in exported if isinstance(document, RawDocument)}
    assert list(raw) == sorted(raw)
    assert len(raw) == len(exported)
    return {
        key: (document, next(SOURCE.parse(document, settings, lambda name: raw[name].content)))
        for key, document in raw.items()
        if document.role == "document"
    }


@pytest.fixture(scope="module")
def parsed() -> dict[str, dict[str, tuple[RawDocument, Topic | Reject]]]:
    return {name: parse_all(CORPORA / "flare" / name) for name in INSTANCES}


def topic(parsed, instance: str, key: str) -> Topic:
    found = parsed[instance][key][1]
    assert isinstance(found, Topic)
    return found


def letters(text: str) -> str:
    return "".join(character for character in text if character.isalnum())


def test_every_topic_is_parsed_or_a_named_reject(parsed) -> None:
    """Of the 200 topics only the empty ones are rejected, by name."""
    rejects = {
        (name, key): found.code for name in INSTANCES for key, (_, found) in parsed[name].items() if isinstance(found, Reject)
    }
    assert {name: len(parsed[name]) for name in INSTANCES} == {
        "edge-cases-clean": 10,
        "localization-clean": 47,
        "saleslogix-clean": 90,
        "localization-project": 46,
        "madcap-fixtures-project": 7,
    }
    assert rejects == {
        ("edge-cases-clean", "empty.htm"): "empty",
        ("edge-cases-clean", "whitespace_only.htm"): "empty",
        ("saleslogix-clean", "Glossary.htm"): "no-content",
    }


def test_titles_headings_tables_and_code_match_the_independent_counts(parsed) -> None:
    """Titles, headings, ``pre`` and tables are those counted in the sources; tables that frame code count as code."""
    with (FACTS / "flare_topics.tsv").open(encoding="utf-8", newline="") as file:
        facts = {row["path"].removeprefix("flare/"): row for row in csv.DictReader(file, delimiter="\t")}
    compared = 0
    for name in INSTANCES:
        for key, (document, found) in parsed[name].items():
            if isinstance(found, Reject):
                continue
            fact = facts[f"{name}/{key}"]
            kinds = Counter(block.type for block in found.blocks)
            code_tables = len(re.findall(rb'class="TableStyle-Code"', document.content))
            assert kinds["heading"] == int(fact["n_headings"]) - int(fact["empty_headings"]), key
            assert kinds["table"] + code_tables == int(fact["n_table"]), key
            if name not in CLEAN:  # those have runs of paragraphs besides: ``test_oracle`` compares their code line by line
                assert kinds["code"] == int(fact["n_pre"]) + code_tables, key
            if fact["title"] or fact["first_h1"]:
                assert found.title == fact["title"] or (not fact["title"] and found.title == fact["first_h1"]), key
            compared += 1
    assert compared == 197


def test_the_edge_cases_read_like_the_sound_file(parsed) -> None:
    """However one and the same topic is encoded or declared, its blocks are the same."""
    sound = topic(parsed, "edge-cases-clean", "uppercase_ext.HTM")
    for key in ("utf16le_bom.htm", "utf8_bom_then_xmldecl.htm", "xml_decl_after_blank_line.htm"):
        assert topic(parsed, "edge-cases-clean", key).blocks == sound.blocks
    guessed = topic(parsed, "edge-cases-clean", "cp1250_bytes_but_declares_utf8.htm")
    for rewritten in (guessed, topic(parsed, "edge-cases-clean", "iso-8859-2_declared_correctly.htm")):
        # their writer replaced the characters that the encoding does not have; letters are the same
        assert [(block.type, letters(block.text)) for block in rewritten.blocks] == [
            (block.type, letters(block.text)) for block in sound.blocks
        ]
    assert guessed.metadata["warnings"] == ["not utf-8 as declared: read as cp1250"]
    entities = topic(parsed, "edge-cases-clean", "html_entities_nbsp_copy_reg.htm")
    assert next(block.text for block in entities.blocks if block.type == "heading") == "Warunki ®—"
    truncated = topic(parsed, "edge-cases-clean", "truncated_midtag.htm")
    assert any("truncated" in warning for warning in truncated.metadata["warnings"])
    assert truncated.blocks[:10] == sound.blocks[:10]


def test_code_in_one_cell_tables_is_whole(parsed) -> None:
    """The two code blocks of 16 and 53 lines, made of paragraphs and line breaks, are one block each with their indentation."""
    found = topic(parsed, "saleslogix-clean", "Examples/Creating_a_Custom_Mashup_Processor.htm")
    code = [block.text.split("\n") for block in found.blocks if block.type == "code"]
    assert [len(lines) for lines in code] == [16, 53]
    assert code[1][0] == "using Sage.Platform.Mashups;"
    assert code[0][5].startswith("    public class")


def test_a_raw_project_reads_like_its_compiled_topics(parsed) -> None:
    """With the target's conditions each topic of the raw project gives block by block what Flare compiled from it."""
    raw = parse_all(CORPORA / "flare/localization-project", conditions=CONDITIONS)
    assert len(raw) == 46
    for key, (_, found) in raw.items():
        compiled = topic(parsed, "localization-clean", key.removeprefix("Content/"))
        assert isinstance(found, Topic)
        assert found.title == compiled.title, key
        assert found.blocks == compiled.blocks, key


def test_snippets_and_variables_are_resolved(parsed) -> None:
    """The topic of examples reads as published, and depends on its snippets and the variable set."""
    key = "Content/Final project/ExampleTopic.htm"
    text = " ".join(block.text for block in topic(parsed, "localization-project", key).blocks)
    assert "Click the button Submit to save your changes." in text
    assert "This printer is compatible with any operating system released after June 2024." in text
    assert parsed["localization-project"][key][0].dependencies == (
        "Content/Resources/Snippets/ClikTheButton.flsnp",
        "Content/Resources/Snippets/ToDiscardChanges.flsnp",
        "Content/Resources/Snippets/ToEnableThis.flsnp",
        "Content/Resources/Snippets/ToSaveChanges.flsnp",
        "Project/VariableSets/Variables.flvar",
    )


def test_the_table_of_contents_gives_the_section_path(parsed) -> None:
    """Entries titled ``[%=System.LinkedTitle%]`` have their topic's title; a topic in no table has its folders."""
    introduction = "Content/Final project/1. Introduction"
    assert topic(parsed, "localization-project", f"{introduction}/MadCap Software products.htm").section_path == (
        "Introduction",
    )
    assert topic(parsed, "localization-project", "Content/Final project/ExampleTopic.htm").section_path == ("Final project",)
