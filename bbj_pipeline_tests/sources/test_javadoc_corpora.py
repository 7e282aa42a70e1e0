"""The javadoc source against the real BBj API: every class and member out, words by an extraction of another kind."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from functools import cache
from itertools import pairwise
from typing import Any

from bbj_pipeline.records import Block, RawDocument, Reject, Topic
from bbj_pipeline.settings import SAMPLES_DIR
from bbj_pipeline.sources.javadoc import SOURCE, JavadocOptions
from bbj_pipeline_tests.paths import CORPORA
from bbj_pipeline_tests.sources.html_oracle import seen, words

ROOT = CORPORA / "javadoc" / "bbj"
OPTIONS = JavadocOptions(path=ROOT)
SCRAPED_PAGES = 5
"""Docu fields that hold a whole page of 11 KB and no description."""

METHODS = 8713
CONSTRUCTORS = 431
"""Of the methods those that are named ``<init>``."""


def no_resource(key: str) -> bytes:
    raise KeyError(key)


@cache
def results() -> tuple[tuple[RawDocument, tuple[Topic | Reject, ...]], ...]:
    raws = [item for item in SOURCE.export(OPTIONS) if isinstance(item, RawDocument)]
    return tuple((raw, tuple(SOURCE.parse(raw, OPTIONS, no_resource))) for raw in raws)


@cache
def topics() -> dict[str, Topic]:
    return {result.key: result for _, found in results() for result in found if isinstance(result, Topic)}


@cache
def packages() -> dict[str, dict[str, Any]]:
    return {path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(ROOT.glob("*.json"))}


def description(docu: str) -> str:
    """What a reader sees of a docu field; comments lose their margin, inline tags become their text."""
    docu = docu.partition("\r\r[Docs](")[0].replace("\r\n", "\n")
    if "</head>" in docu:
        return ""
    if comment := re.fullmatch(r"\s*/\*\*(.*)\*/\s*", docu, re.S):
        docu = re.sub(r"^[ \t]*\*+ ?", "", comment[1], flags=re.M).replace("@param <", "@param &lt;")
    docu = re.sub(r"\{@(?:code|link(?: [^\s{}]+(?=\s))?)\s+([^{}]*)\}", lambda match: html.escape(match[1]), docu)
    return "".join(seen(docu).pieces)


def members(record: dict[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    """The sections of a class: constructors stand among the methods under the JVM's name."""
    inits = [method for method in record["methods"] if method["name"] == "<init>"]
    methods = [method for method in record["methods"] if method["name"] != "<init>"]
    sections = [("Fields", record["fields"]), ("Constructors", [*record["constructors"], *inits]), ("Methods", methods)]
    return [(title, found) for title, found in sections if found]


def shown_name(record: dict[str, Any], member: dict[str, Any]) -> str:
    return str(record["name"] if member["name"] == "<init>" else member["name"])


def signature(record: dict[str, Any], member: dict[str, Any]) -> str:
    params = [f"{param['type']} {param['name']}" if "type" in param else param["name"] for param in member["params"]]
    return f"{shown_name(record, member)}({', '.join(params)})"


def class_text(record: dict[str, Any]) -> str:
    parts = [description(record["docu"])]
    for title, found in members(record):
        parts.append(title)
        for member in found:
            parts += [
                shown_name(record, member),
                signature(record, member) if "params" in member else "",
                description(member["docu"]),
            ]
    return "\n".join(parts)


def test_every_class_is_a_topic_and_every_member_a_section() -> None:
    """41 files, 718 classes, 8,713 methods in; all of them out, and the one empty package is a named reject."""
    assert len(results()) == 41
    assert len(topics()) == 718
    expected = {f"{p['name']}.{c['name']}" for p in packages().values() for c in p["classes"]}
    assert set(topics()) == expected
    rejects = [result for _, found in results() for result in found if isinstance(result, Reject)]
    assert [(reject.key, reject.code) for reject in rejects] == [("com.basiscomponents.json", "no-classes")]
    methods = 0
    for package in packages().values():
        for record in package["classes"]:
            blocks = topics()[f"{package['name']}.{record['name']}"].blocks
            sections = Counter(block.text for block in blocks if block.type == "heading" and block.level == 3)
            kinds = ("fields", "constructors", "methods")
            assert sections == Counter(shown_name(record, member) for kind in kinds for member in record[kind])
            methods += len(record["methods"])
    assert methods == METHODS


def test_words_equal_an_independent_extraction() -> None:
    """No word of a description, name, type or parameter is lost, glued, split or invented, punctuation included."""
    for package in packages().values():
        for record in package["classes"]:
            topic = topics()[f"{package['name']}.{record['name']}"]
            given, wanted = words("\n".join(block.text for block in topic.blocks)), words(class_text(record))
            assert given == wanted, (topic.key, "lost", wanted - given, "invented", given - wanted)


def test_every_member_stands_in_its_section_with_all_parameters_and_types() -> None:
    """In the file's order: the section, the member's name, and directly below its signature; a field has none."""
    counted: Counter[str] = Counter()
    for package in packages().values():
        for record in package["classes"]:
            blocks = topics()[f"{package['name']}.{record['name']}"].blocks
            given = [
                (block.text, following.text if following.type == "code" and block.level == 3 else None)
                for block, following in pairwise([*blocks, Block("paragraph")])
                if block.type == "heading" and block.level in (2, 3)
            ]
            wanted: list[tuple[str, str | None]] = []
            for title, found in members(record):
                wanted.append((title, None))
                wanted += [(shown_name(record, m), signature(record, m) if "params" in m else None) for m in found]
                counted[title] += len(found)
                counted["parameters"] += sum(len(member.get("params", ())) for member in found)
            assert given == wanted, record["name"]
    assert counted == {"Methods": METHODS - CONSTRUCTORS, "Constructors": CONSTRUCTORS + 1, "Fields": 1, "parameters": 10044}


def test_signatures_stand_directly_under_their_headings_and_tell_overloads_apart() -> None:
    """BBjWindow has 654 methods, 60 of them addInputESpinner that differ by types alone; each has its own signature."""
    topic = topics()["com.basis.bbj.proxies.sysgui.BBjWindow"]
    under = [topic.blocks[at + 1] for at, block in enumerate(topic.blocks) if block.level == 3]
    assert len(under) == 654
    assert all(block.type == "code" and block.language == "bbj" for block in under)
    assert [block.text for block in under] == topic.metadata["signatures"]
    spinners = [block.text for block in under if block.text.startswith("addInputESpinner(")]
    assert len(spinners) == len(set(spinners)) == 60


def test_links_are_urls_and_never_text() -> None:
    """The trailing documentation link of a class is its URL, of a member it is metadata; none is left in any text."""
    for package in packages().values():
        for record in package["classes"]:
            topic = topics()[f"{package['name']}.{record['name']}"]
            link = re.search(r"\[Docs\]\((\S+)\)$", record["docu"])
            assert topic.url == (link[1] if link else None)
            member_links = {
                m["name"]: m["docu"].rpartition("[Docs](")[2][:-1] for m in record["methods"] if "[Docs](" in m["docu"]
            }
            assert topic.metadata.get("member_urls", {}) == member_links
            assert not any("[Docs]" in block.text or "](http" in block.text for block in topic.blocks)


def test_scraped_pages_are_removed_and_noted() -> None:
    """The five pages that were scraped into docu fields are gone, and their topics say so."""
    removed = [note for topic in topics().values() for note in topic.metadata.get("removed", [])]
    assert len(removed) == SCRAPED_PAGES
    assert all("scraped page" in note for note in removed)
    assert not any("jquery" in block.text or "searchContainer" in block.text for t in topics().values() for block in t.blocks)


def test_versions_and_deprecation_come_from_whole_sentences() -> None:
    """A version number is no end of a sentence; a class has the version its own description begins with, not a method's."""
    timer, button = topics()["com.basis.bbj.proxies.event.BBjTimerEvent"], topics()["com.basis.bbj.proxies.sysgui.BBjButton"]
    assert timer.metadata["since_version"] == "6.00"
    assert timer.blocks[0].text.startswith("In BBj 6.00 and higher, if a program")
    assert "since_version" not in button.metadata
    grid = topics()["com.basis.bbj.proxies.sysgui.BBjStandardGrid"]
    assert grid.metadata["deprecated_members"] == {"clearGrid()": "19.0", "clearMainGrid()": "19.0"}


OF_OTHERS = {"unpinServer", "BBxServlet", *(f"{a}Session{b}Program" for a in ("get", "set") for b in ("Start", "Stop"))}
"""Members whose description has the word, but of something else: what it replaces, or the class of a link to a class."""


def test_every_occurrence_of_deprecation_is_accounted_for() -> None:
    """Each description of the 41 files that has the word, even in a link or an attribute, marks its member or is named."""
    said: set[tuple[str, str]] = set()
    marked: set[tuple[str, str]] = set()
    for package in packages().values():
        for record in package["classes"]:
            key = f"{package['name']}.{record['name']}"
            metadata = topics()[key].metadata
            described = [record, *(m for kind in ("fields", "constructors", "methods") for m in record[kind])]
            said |= {(key, item["name"]) for item in described if "deprecat" in item["docu"].lower()}
            marked |= {(key, signature.partition("(")[0]) for signature in metadata.get("deprecated_members", {})}
            marked |= {(key, record["name"])} if metadata.get("still_valid") is False else set()
    assert len(said) == 12
    assert marked <= said
    assert {name for _, name in said - marked} == OF_OTHERS


def test_a_version_at_the_beginning_is_the_members_own() -> None:
    """Every description that begins with the words is taken at its word, of classes and of members, deprecations aside."""
    counted = 0
    for package in packages().values():
        for record in package["classes"]:
            metadata = topics()[f"{package['name']}.{record['name']}"].metadata
            begins = {}
            for member in [*record["fields"], *record["constructors"], *record["methods"]]:
                first = re.match(r"\s*In BBj (\d[\d.]*\d) (?:and|or) high", " ".join(description(member["docu"]).split()))
                if first and "deprecated" not in member["docu"]:
                    begins[signature(record, member) if "params" in member else member["name"]] = first[1]
            assert begins.items() <= metadata.get("member_since", {}).items()
            counted += len(begins)
            own = re.match(r"\s*In BBj (\d[\d.]*\d) (?:and|or) high", " ".join(description(record["docu"]).split()))
            if own:
                assert metadata["since_version"] == own[1]
    assert counted > 2_500


def test_the_samples_are_true_to_the_api() -> None:
    """Every class and every signature of our own sample packages exists in the real API, with these names and types."""
    real = {key: set(topic.metadata.get("signatures", ())) for key, topic in topics().items()}
    samples = JavadocOptions(path=SAMPLES_DIR / "javadoc")
    for raw in SOURCE.export(samples):
        assert isinstance(raw, RawDocument)
        for topic in SOURCE.parse(raw, samples, no_resource):
            if isinstance(topic, Topic):
                assert set(topic.metadata["signatures"]) <= real[topic.key], topic.key


def test_parsing_is_repeatable_and_names_its_origin() -> None:
    """Same input, same topics, and each names the file and bytes it came from."""
    raw, found = results()[0]
    assert tuple(SOURCE.parse(raw, OPTIONS, no_resource)) == found
    assert all(isinstance(t, Topic) and (t.raw_key, t.raw_sha256) == (raw.key, raw.sha256) for t in found)
    two = [key for key in topics() if key.endswith(".BBjString")]
    assert len(two) == 2
