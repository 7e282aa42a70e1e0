"""What documents say of versions and successors is read whole, and joined into a graph that is neither torn nor circular."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.records import Block, DocumentId, Topic
from bbj_pipeline.stages.modernisation import KnownDocument, Library, Statement, build_graph, parse_links, with_facts
from bbj_pipeline.stages.modernisation.versions import sentences, version_order

CONFIGURED = {("flare", "help"), ("mdx", "guide"), ("javadoc", "api"), ("pdf", "manuals")}


def facts(title: str, *texts: str, **metadata: Any) -> dict[str, Any]:
    """The metadata of a topic; a text that begins with ``# ``, ``! `` or ``$ `` is a heading, a note or code."""
    types = {"# ": "heading", "! ": "note", "$ ": "code"}
    blocks = tuple(
        Block(types[text[:2]], text[2:], level=2 if text[0] == "#" else None) if text[:2] in types else Block("paragraph", text)  # type: ignore[arg-type]
        for text in texts
    )
    found = with_facts(Topic("flare", "a.htm", title, blocks, metadata=metadata)).metadata
    return {name: value for name, value in found.items() if name not in metadata}


@pytest.mark.parametrize(
    ("title", "texts", "expected"),
    [
        ("BBjWindow::addPane", ["In BBj 7.00 and higher, this method adds a pane of 3.5 units."], "7.00"),
        ("Embed a component", ["It wraps an element. It has been there since BBj 24.00."], "24.00"),
        ("Embed a component", ["A control for elements. It is available in BBj 19.20 and higher."], "19.20"),
        ("GRID Mnemonic (BBj 19.20+)", ["Shows a grid."], "19.20"),
        ("X", ["BBj 19.20 and higher", "Text."], "19.20"),
        ("X", ["! Version: BBj 7.00+. Not in PRO/5."], "7.00"),
        ("OPEN Verb", ["# Syntax", "$ OPEN (channel)", "# Description", "In BBj 8.0 and higher, OPEN reads ZIP files."], "8.0"),
    ],
)
def test_since_which_version(title: str, texts: Sequence[str], expected: str) -> None:
    """The version from which on a page's subject exists is found where pages say it, never cut at its full stop."""
    assert facts(title, *texts)["since_version"] == expected


@pytest.mark.parametrize(
    "texts",
    [
        ["Opens a file.", "# Options", "In BBj 8.00 and higher, this verb reads ZIP files."],
        ["In BBj 8.00 and higher, the parameter mode is optional."],
        ["getBuiManager() exists since BBj 14.00."],
        ["Version 3.10 of the form was printed in 2004."],
    ],
)
def test_a_version_of_a_detail_is_not_the_pages(texts: Sequence[str]) -> None:
    """What a section, a parameter or another method has since a version says nothing of the page."""
    assert "since_version" not in facts("OPEN Verb", *texts)


@pytest.mark.parametrize(
    ("texts", "links", "expected"),
    [
        (
            ["Deprecated in BBj 21.00. Use BBjWindow::addPane instead."],
            [],
            {
                "deprecated_in": "21.00",
                "still_valid": False,
                "superseded_by": ["BBjWindow::addPane"],
                "migration_note": "Deprecated in BBj 21.00. Use BBjWindow::addPane instead.",
            },
        ),
        (
            ["In BBj 19.0 and higher, this method is deprecated. Use clear instead."],
            [["clear", "clear.htm"]],
            {
                "deprecated_in": "19.0",
                "still_valid": False,
                "superseded_by": ["clear.htm"],
                "migration_note": "In BBj 19.0 and higher, this method is deprecated. Use clear instead.",
            },
        ),
        (
            ["This verb has been replaced by BBjAPI::openThing(), which is faster. It was made in 1987."],
            [],
            {
                "still_valid": False,
                "superseded_by": ["BBjAPI::openThing()"],
                "migration_note": "This verb has been replaced by BBjAPI::openThing(), which is faster.",
            },
        ),
        (
            ["! Obsolete: kept for old programs."],
            [],
            {"still_valid": False, "migration_note": "Obsolete: kept for old programs."},
        ),
        (["This method replaces the deprecated BBjAdmin::unpinAll."], [], {"supersedes": ["BBjAdmin::unpinAll"]}),
        (["# See Also", "SETERR Verb, OPEN Verb"], [["SETERR Verb", "seterr.htm"]], {"related": ["seterr.htm"]}),
        (["# See Also", "SETERR Verb, OPEN Verb"], [], {"related": ["SETERR Verb", "OPEN Verb"]}),
        (["# Syntax", "$ DIM name$:template$"], [], {"signatures": ["DIM name$:template$"]}),
        (["Unlike the deprecated BBjGrid, this page shows the new grid. The BBjGrid control is deprecated."], [], {}),
        (["A guide.", "# Windows", "! Superseded: CTRL() is superseded by getText()."], [], {}),
        (["This verb is not deprecated."], [], {}),
        (["Deprecated feature"], [], {}),
        (["Obsolete programs are kept in a folder of their own."], [], {}),
        (
            ["! Important: Since BBj 23.00, this verb is no longer available. Its equivalent can now be found in BBjNewPane."],
            [],
            {
                "deprecated_in": "23.00",
                "still_valid": False,
                "superseded_by": ["BBjNewPane"],
                "migration_note": "Since BBj 23.00, this verb is no longer available. "
                "Its equivalent can now be found in BBjNewPane.",
            },
        ),
    ],
)
def test_what_replaced_what(texts: Sequence[str], links: Sequence[Sequence[str]], expected: dict[str, Any]) -> None:
    """A page's own verdict on itself is read with its successor and the whole sentences; verdicts on other things are not."""
    assert facts("PANE Verb", *texts, links=links) == expected


def test_what_the_parser_found_stands() -> None:
    """Front matter and conditions outrank prose, and an unchanged topic is the same object."""
    found = facts("X", "In BBj 9.00 and higher, this is there.", since_version="8.00")
    assert "since_version" not in found
    topic = Topic("mdx", "a.md", "A", (Block("paragraph", "Nothing of versions."),))
    assert with_facts(topic) is topic


def test_sentences_are_whole() -> None:
    """A version, an abbreviation and a decimal do not end a sentence; a capital after a full stop begins one."""
    text = "In BBj 7.00 and higher, e.g. Windows works. See vs. BBj 8.0. It costs 3.5 units."
    assert sentences(text) == ["In BBj 7.00 and higher, e.g. Windows works.", "See vs. BBj 8.0.", "It costs 3.5 units."]


def test_versions_are_ordered_as_releases() -> None:
    """7.0 is 7.00; 9.0 comes before 19.20."""
    assert version_order("7.0") == version_order("7.00")
    assert version_order("9.0") < version_order("19.2") == version_order("19.20")


def library(*named: tuple[str, str, str, str], url: str = "https://{instance}.example.org/{key}") -> Library:
    """A library of (kind, instance, key, title)."""
    return Library(
        KnownDocument(DocumentId(kind, instance, key), title, url.format(instance=instance, key=key.rsplit(".", 1)[0]))
        for kind, instance, key, title in named
    )


HELP = library(
    ("flare", "help", "commands/input.htm", "INPUT Verb - Read From the Terminal"),
    ("flare", "help", "mnemonic/window.htm", "'WINDOW' Mnemonic - Create a Window"),
    ("flare", "help", "objects/sysgui/addwindow.htm", "BBjSysGui::addWindow"),
    ("mdx", "guide", "docs/01-windows/02-create.mdx", "Create a window"),
    ("mdx", "guide", "docs/index.md", "The guide"),
    ("javadoc", "api", "com.basis.BBjSysGui", "BBjSysGui"),
    ("javadoc", "api", "com.other.BBjTwin", "BBjTwin"),
    ("javadoc", "api", "com.basis.BBjTwin", "BBjTwin"),
)
INPUT, WINDOW, ADD, CREATE = (
    DocumentId("flare", "help", "commands/input.htm"),
    DocumentId("flare", "help", "mnemonic/window.htm"),
    DocumentId("flare", "help", "objects/sysgui/addwindow.htm"),
    DocumentId("mdx", "guide", "docs/01-windows/02-create.mdx"),
)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (INPUT, "../mnemonic/window.htm#syntax", WINDOW),
        (INPUT, "https://help.example.org/objects/sysgui/AddWindow.htm", ADD),
        (INPUT, "addWindow()", ADD),
        (INPUT, "BBjSysGui.addWindow", ADD),
        (ADD, "'WINDOW' Mnemonic", WINDOW),
        (ADD, "INPUT", INPUT),
        (DocumentId("mdx", "guide", "docs/index.md"), "./windows/create", CREATE),
        (DocumentId("mdx", "guide", "docs/index.md"), "/docs/windows/create", CREATE),
        (ADD, "gone.htm", "dangling"),
        (ADD, "BBjNowhere", "dangling"),
        (ADD, "BBjTwin", "ambiguous"),
        (ADD, "https://elsewhere.example.org/x.htm", "external"),
        (ADD, "img/picture.png", "external"),
    ],
)
def test_targets_are_resolved(source: DocumentId, target: str, expected: DocumentId | str) -> None:
    """Links resolve as a browser and as the source's folders would, names by titles; what is not one document is said."""
    found = HELP.resolve(source, target)
    assert (found.id or found.reason) == expected


def curated(text: str) -> Any:
    return parse_links("links:\n" + text, "links.yaml")


CHAIN = """
  - {from: flare/help/commands/input.htm, superseded_by: flare/help/mnemonic/window.htm, note: to a window}
  - {from: flare/help/mnemonic/window.htm, superseded_by: flare/help/objects/sysgui/addwindow.htm}
"""


def test_curated_and_extracted_links_are_one_graph() -> None:
    """A curated link wins over the same one extracted; supersedes is turned round; related stands once."""
    statements = [
        Statement(WINDOW, {"superseded_by": ["../objects/sysgui/addwindow.htm"], "related": ["INPUT Verb"]}),
        Statement(CREATE, {"supersedes": ["BBjSysGui::addWindow"]}),
        Statement(INPUT, {"related": ["'WINDOW'", "BBjNowhere"]}),
    ]
    graph = build_graph(HELP, statements, curated(CHAIN), configured=CONFIGURED)
    assert [(link.source, link.relation, link.target, link.origin) for link in graph.links] == [
        (INPUT, "related", WINDOW, "extracted"),
        (INPUT, "superseded_by", WINDOW, "curated"),
        (WINDOW, "superseded_by", ADD, "curated"),
        (ADD, "superseded_by", CREATE, "extracted"),
    ]
    assert [(item.source, item.target, item.reason) for item in graph.dropped] == [(INPUT, "BBjNowhere", "dangling")]


def test_an_extracted_cycle_is_dropped_with_its_path() -> None:
    """Prose that closes a circle over curated links loses, and the report shows the way round."""
    statements = [Statement(ADD, {"superseded_by": ["INPUT Verb"]})]
    graph = build_graph(HELP, statements, curated(CHAIN), configured=CONFIGURED)
    assert len(graph.links) == 2
    (dropped,) = graph.dropped
    assert dropped.reason == "cycle"
    assert dropped.detail == " → ".join(map(str, (ADD, INPUT, WINDOW, ADD)))


def test_a_curated_cycle_is_refused_with_its_path() -> None:
    """The error names the entry that closes the circle, every document on it, and the remedy."""
    text = CHAIN + "  - {from: flare/help/objects/sysgui/addwindow.htm, superseded_by: flare/help/commands/input.htm}"
    with pytest.raises(ConfigurationError) as error:
        build_graph(HELP, [], curated(text), configured=CONFIGURED)
    assert "links.yaml: link 3 closes a cycle" in error.value.what
    assert " → ".join(map(str, (ADD, INPUT, WINDOW, ADD))) in error.value.what
    assert "remove one of these links" in error.value.remedy


def test_unknown_curated_ids_are_refused_each_with_its_reason() -> None:
    """A misspelt key, an instance that is not configured and one that is not published yet are told apart, all at once."""
    text = """
  - {from: flare/help/commands/inptu.htm, superseded_by: flare/help/mnemonic/window.htm}
  - {from: pdf/manuals/guide.pdf, related: wordpress/kb/12}
"""
    with pytest.raises(ConfigurationError) as error:
        build_graph(HELP, [], curated(text), configured=CONFIGURED)
    what = error.value.what
    assert "3 ids" in what
    assert "flare/help/commands/inptu.htm: flare/help has no such document, the nearest is commands/input.htm" in what
    assert (
        "pdf/manuals/guide.pdf: pdf/manuals is configured and not published yet (bbj-pipeline run --source pdf/manuals)" in what
    )
    assert "wordpress/kb/12: wordpress/kb is not configured in sources.yaml" in what


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("links: {a: b}", "is not a list of links"),
        ("links:\n  - from: flare/help/a.htm", "link 1 has no relation"),
        ("links:\n  - related: flare/help/a.htm", "link 1 has no from"),
        ("links:\n  - {from: a.htm, related: flare/help/a.htm}", "link 1: from is 'a.htm', no document"),
        ("links:\n  - {from: flare/help/a.htm, replaced: flare/help/b.htm}", "unknown key 'replaced'"),
        ("links: [", "line 1 is not valid YAML"),
    ],
)
def test_a_mistake_in_the_links_file_is_named(text: str, found: str) -> None:
    """The file, the entry and what is wrong stand in one line."""
    with pytest.raises(ConfigurationError, match=r"^links\.yaml") as error:
        parse_links(text, "links.yaml")
    assert found in str(error.value)
