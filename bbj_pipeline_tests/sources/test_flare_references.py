"""What topics, snippets and tables of contents refer to, written from the project's root, from the file, or to no avail."""

import shutil
from pathlib import Path

import pytest

from bbj_pipeline.records import Topic
from bbj_pipeline_tests.sources.test_flare_project import export, page, parse, texts, toc, write

SNIPPET = page("<p>shared</p>")


@pytest.mark.parametrize("root", ["", "Content/", "manual/Content/"])
def test_a_content_folder_alone_resolves_references_from_the_projects_root(tmp_path: Path, root: str) -> None:
    """Without project files, ``/Content/…`` is found whether the export is that folder or holds it, at any depth."""
    write(
        tmp_path,
        {
            f"{root}a/T.htm": page('<p>a <MadCap:snippetText src="/Content/R/S.flsnp"/></p>'),
            f"{root}R/S.flsnp": page('<p>one <MadCap:snippetText src="/Content/R/deep/U.flsnp"/></p>'),
            f"{root}R/deep/U.flsnp": page("<p>two</p>"),
        },
    )
    found = parse(tmp_path, f"{root}a/T.htm", public_url="https://example.org/{path}")
    assert texts(found) == ["a one two"]
    assert (found.url, found.section_path) == ("https://example.org/a/T.htm", ("a",))


def test_a_folder_named_content_among_others_is_a_folder(tmp_path: Path) -> None:
    """Where topics also lie elsewhere, ``Content`` is part of the address."""
    write(tmp_path, {"Content/T.htm": page("<p>a</p>"), "U.htm": page("<p>b</p>")})
    assert sorted(export(tmp_path)) == ["Content/T.htm", "U.htm"]
    assert parse(tmp_path, "Content/T.htm", public_url="https://example.org/{path}").url == "https://example.org/Content/T.htm"


def project(root: Path) -> Path:
    return write(
        root,
        {
            "P.flprj": "<CatapultProject/>",
            "Content/T.htm": page(
                '<p>See <MadCap:xref href="sub/U%20v.htm#x"/>, <MadCap:xref href="/Content/sub/W.htm"></MadCap:xref>,'
                ' <MadCap:xref href="sub/W.htm">its own text</MadCap:xref> and <MadCap:snippetText src="R/S.flsnp"/>.'
                ' <MadCap:xref href="No.htm"/></p>'
            ),
            "Content/R/S.flsnp": page('<p>then <MadCap:xref href="../sub/Y.htm"/></p>'),
            "Content/sub/U v.htm": page(
                "<h1>Heading of U</h1><p>u</p>", head='<title><MadCap:variable name="V.Empty"/></title>'
            ),
            "Content/sub/W.htm": page("<p>w</p>", head="<title>About [%=V.Name%]</title>"),
            "Content/sub/Y.htm": page("<p>no title</p>"),
            "Project/VariableSets/V.flvar": '<CatapultVariableSet><Variable Name="Name">BBj</Variable></CatapultVariableSet>',
        },
    )


def test_a_cross_reference_without_text_reads_as_the_linked_topics_title(tmp_path: Path) -> None:
    """In topics and snippets: the title, the first heading, or the file's name; text of its own stays; a dead link is told."""
    found = parse(project(tmp_path), "Content/T.htm")
    assert texts(found) == ["See Heading of U, About BBj, its own text and then Y."]
    assert found.metadata["warnings"] == ["cross reference without text: No.htm"]


def test_a_new_title_changes_the_topics_that_show_it(tmp_path: Path) -> None:
    """The raw document of the referring topic is another one, so that it is read again; of others it is the same."""
    before = export(project(tmp_path))
    write(tmp_path, {"Content/sub/Y.htm": page("<p>no title</p>", head="<title>Why</title>")})
    after = export(tmp_path)
    assert [key for key in after if after[key] != before[key]] == ["Content/T.htm", "Content/sub/Y.htm"]
    assert texts(parse(tmp_path, "Content/T.htm")) == ["See Heading of U, About BBj, its own text and then Why."]


def test_links_of_a_table_of_contents_count_from_the_table_too(tmp_path: Path) -> None:
    """``../../Content/…`` and a neighbouring table are found; an entry without a link is a section; its title may be all."""
    root = write(
        tmp_path,
        {
            "P.flprj": "<CatapultProject/>",
            "Content/x/A.htm": page("<p>a</p>"),
            "Content/x/B.htm": page("<p>b</p>"),
            "Project/TOCs/Main.fltoc": toc(
                '<TocEntry Title="Book"><TocEntry Title="Only here" Link="../../Content/x/A.htm"/>'
                '<TocEntry Title="More" Link="parts/Sub.fltoc"/></TocEntry>'
            ),
            "Project/TOCs/parts/Sub.fltoc": toc(
                '<TocEntry Title="[%=System.LinkedTitle%]" Link="..\\..\\..\\Content\\x\\B.htm"/>'
            ),
        },
    )
    found = {name: parse(root, f"Content/x/{name}.htm") for name in "AB"}
    assert {name: (topic.title, topic.section_path) for name, topic in found.items()} == {
        "A": ("Only here", ("Book",)),
        "B": ("B", ("Book", "More")),
    }


def test_snippets_carry_conditions_in_every_place(tmp_path: Path) -> None:
    """Tags on the use, on the snippet's file and inside it all decide; so do those of a snippet in a snippet."""
    tagged = ' MadCap:conditions="Primary.Print"'
    root = write(
        tmp_path,
        {
            "Content/T.htm": page(
                f'<p>start</p><MadCap:snippetBlock src="Plain.flsnp"{tagged}/><MadCap:snippetBlock src="Whole.flsnp"/>'
                '<MadCap:snippetBlock src="Outer.flsnp"/><p>end</p>'
            ),
            "Content/Plain.flsnp": SNIPPET,
            "Content/Whole.flsnp": page("<p>whole</p>", attributes=tagged),
            "Content/Outer.flsnp": page(
                f'<p>outer</p><p{tagged}>inside</p><MadCap:snippetBlock src="Whole.flsnp"/>'
                '<MadCap:snippetBlock src="Plain.flsnp"/>'
            ),
        },
    )
    everything = ["start", "shared", "whole", "outer", "inside", "whole", "shared", "end"]
    assert texts(parse(root, "Content/T.htm")) == everything
    assert texts(parse(root, "Content/T.htm", conditions="exclude[Primary.Print]")) == ["start", "outer", "shared", "end"]


@pytest.mark.parametrize(
    ("tags", "valid"),
    [
        ("Primary.BASISHelp", None),
        ("Primary.BASISHelp,Primary.Deprecated", False),
        ("Superseded", False),
        ("A.notimplemented", False),
    ],
)
def test_what_is_deprecated_superseded_or_not_there_is_not_valid(tmp_path: Path, tags: str, valid: bool | None) -> None:
    """Such a tag of the whole topic is metadata twice: as it is written, and as ``still_valid``; one inside says nothing."""
    body = '<p MadCap:conditions="Primary.Deprecated">a</p>'
    write(tmp_path, {"T.htm": page(body, attributes=f' MadCap:conditions="{tags}"')})
    found = parse(tmp_path, "T.htm")
    assert found.metadata["conditions"] == tags.split(",")
    assert found.metadata.get("still_valid") is valid


@pytest.mark.parametrize(
    "body",
    [
        '<p MadCap:autonum="✔">Use it.</p><p MadCap:autonum="&lt;b&gt;Note: &lt;/b&gt;">This.</p>',
        '<p><span class="autonumber"><span>✔</span></span>Use it.</p>'
        '<p data-mc-autonum="&lt;b&gt;Note: &lt;/b&gt;"><span class="autonumber"><span><b>Note: </b></span></span>This.</p>',
    ],
    ids=["raw", "compiled"],
)
def test_an_automatic_number_is_shown_once_and_apart(tmp_path: Path, body: str) -> None:
    """The number, which may be markup, stands before the text and is no part of its first word, in raw and compiled topics."""
    write(tmp_path, {"T.htm": page(body)})
    assert texts(parse(tmp_path, "T.htm")) == ["✔ Use it.", "Note: This."]


def test_the_search_bar_of_the_skin_is_no_content(tmp_path: Path) -> None:
    """Labels and menus of the skin's parts in a compiled topic go, what stands around them stays."""
    bar = '<div class="search-bar x mc-component"><span>Filter: </span><ul><li><button>All</button></li></ul></div>'
    write(tmp_path, {"T.htm": page(f"<h1>Home</h1><form>{bar}</form><p>text</p>")})
    assert texts(parse(tmp_path, "T.htm")) == ["Home", "text"]


VARIABLES = """<CatapultVariableSet>
<Variable Name="Client" MadCap:conditions="UI.Swing" xmlns:MadCap="http://www.madcapsoftware.com/Schemas/MadCap.xsd">Swing</Variable>
<Variable Name="Client" Conditions="UI.Web">browser</Variable>
<Variable Name="Window" EvaluatedDefinition="any">
<Definition Conditions="UI.Swing">frame</Definition><Definition>page</Definition></Variable>
</CatapultVariableSet>"""


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ("exclude[UI.Web]", "A frame in the Swing."),
        ("exclude[UI.Swing]", "A page in the browser."),
        ("", "A frame in the Swing."),
    ],
)
def test_a_variable_has_its_definition_of_the_target(tmp_path: Path, conditions: str, expected: str) -> None:
    """Of several conditional definitions the first that is part of the target counts, in topics, titles and links alike."""
    shown = 'A <MadCap:variable name="V.Window"/> in the <MadCap:variable name="V.Client"/>.'
    root = write(
        tmp_path,
        {
            "P.flprj": "<CatapultProject/>",
            "Content/T.htm": page(f'<p>{shown}</p><p><MadCap:xref href="U.htm"/></p>'),
            "Content/U.htm": page("<p>u</p>", head="<title>A [%=V.Window%] in the [%=V.Client%].</title>"),
            "Project/VariableSets/V.flvar": VARIABLES,
        },
    )
    assert texts(parse(root, "Content/T.htm", conditions=conditions)) == [expected, expected]
    assert parse(root, "Content/U.htm", conditions=conditions).title == expected


def test_footnotes_are_words_of_their_own(tmp_path: Path) -> None:
    """A note stands in the text where its mark stands, and is not glued to the word that carries the mark."""
    note = "<MadCap:footnote><MadCap:footnoteBlock>note</MadCap:footnoteBlock></MadCap:footnote>"
    write(tmp_path, {"T.htm": page(f"<p>word{note}, more</p>")})
    assert texts(parse(tmp_path, "T.htm")) == ["word note , more"]


def test_a_topic_in_utf_16_has_its_snippets_and_titles(tmp_path: Path) -> None:
    """References are found in the text, whatever its encoding."""
    write(tmp_path, {"S.flsnp": SNIPPET, "U.htm": page("<h1>You</h1>")})
    body = '<p>a <MadCap:snippetText src="S.flsnp"/> <MadCap:xref href="U.htm"/></p>'
    (tmp_path / "T.htm").write_bytes(page(body).replace("utf-8", "utf-16").encode("utf-16"))
    assert texts(parse(tmp_path, "T.htm")) == ["a shared You"]


def test_a_moved_project_reads_the_same(tmp_path: Path) -> None:
    """Topics do not depend on where in the export their project lies."""

    def content(topic: Topic) -> tuple[object, ...]:
        return topic.blocks, topic.title, topic.section_path, topic.url

    here = project(tmp_path / "here")
    deeper = tmp_path / "deeper"
    shutil.copytree(here, deeper / "a/b")
    options = {"public_url": "https://example.org/{path}"}
    for key in ("Content/T.htm", "Content/sub/W.htm"):
        assert content(parse(deeper, f"a/b/{key}", **options)) == content(parse(here, key, **options))
