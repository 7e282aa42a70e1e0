"""The javadoc source against the real BBj API: every class and member out, words by an extraction of another kind."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from functools import cache
from typing import Any

from bbj_pipeline.records import RawDocument, Reject, Topic
from bbj_pipeline.settings import SAMPLES_DIR
from bbj_pipeline.sources.javadoc import SOURCE, JavadocOptions
from bbj_pipeline_tests.paths import CORPORA

ROOT = CORPORA / "javadoc" / "bbj"
OPTIONS = JavadocOptions(path=ROOT)
SCRAPED_PAGES = 5
"""Docu fields that hold a whole page of 11 KB and no description."""


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


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"[^\W_]+", text))


def docu_words(docu: str) -> Counter[str]:
    """Words of a docu field by regular expressions alone."""
    docu = docu.partition("\r\r[Docs](")[0]
    if "</head>" in docu:
        return Counter()
    docu = re.sub(r"\{@(?:code|link(?: [^\s{}]+(?=\s))?)\s+([^{}]*)\}", lambda match: html.escape(match[1]), docu).replace(
        "@param <", "@param &lt;"
    )
    docu = re.sub(r"<(script|style|head)\b.*?</\1>|<!--.*?-->", " ", docu, flags=re.S)
    docu = re.sub(r"</?(?:p|div|br|li|ul|ol|td|th|tr|table|h\d|blockquote|pre)\b[^>]*>", " ", docu)
    return words(html.unescape(re.sub(r"<[^<>]*>", "", docu)))


def class_words(record: dict[str, Any]) -> Counter[str]:
    found = docu_words(record["docu"])
    present = [*record["constructors"], *record["methods"]]
    constructors = [m for m in present if m in record["constructors"] or m["name"] == "<init>"]
    found += words(" ".join(["Fields"] * bool(record["fields"]) + ["Constructors"] * bool(constructors)))
    found += words("Methods") if len(present) > len(constructors) else Counter()
    for member in (*record["fields"], *present):
        found += words(member["name"]) + docu_words(member["docu"])
        if "params" in member:
            found += words(record["name"] if member["name"] == "<init>" else member["name"])
            found += words(" ".join(f"{param.get('type', '')} {param['name']}" for param in member["params"]))
    return found


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
            assert sections == Counter(member["name"] for kind in kinds for member in record[kind])
            methods += len(record["methods"])
    assert methods == 8713


def test_words_equal_an_independent_extraction() -> None:
    """No word of a description, name, type or parameter is lost, glued, split or invented."""
    different = {}
    for package in packages().values():
        for record in package["classes"]:
            topic = topics()[f"{package['name']}.{record['name']}"]
            found = sum((words(block.text) for block in topic.blocks), Counter())
            expected = class_words(record)
            if expected != found:
                different[topic.key] = (expected - found, found - expected)
    assert not different


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
