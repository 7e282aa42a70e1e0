"""Raw Flare projects written here: snippets in snippets, conditions, tables of contents, keywords, and what is missing."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import ValidationError

from bbj_pipeline.records import RawDocument, Reject, Topic
from bbj_pipeline.sources.flare import SOURCE, FlareOptions

HTML = (
    '<?xml version="1.0" encoding="utf-8"?>\n<html xmlns:MadCap="http://www.madcapsoftware.com/Schemas/MadCap.xsd"{}>{}</html>'
)


def page(body: str, *, head: str = "", attributes: str = "") -> str:
    return HTML.format(attributes, f"<head>{head}</head><body>{body}</body>")


def toc(entries: str) -> str:
    return f'<?xml version="1.0" encoding="utf-8"?><CatapultToc Version="1">{entries}</CatapultToc>'


def write(root: Path, files: Mapping[str, str]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return root


def export(root: Path, **options: str) -> dict[str, RawDocument]:
    return {item.key: item for item in SOURCE.export(FlareOptions(path=root, **options)) if isinstance(item, RawDocument)}


def parse(root: Path, key: str, **options: str) -> Topic:
    raw = export(root, **options)
    allowed = {name: raw[name].content for name in raw[key].dependencies}
    (found,) = SOURCE.parse(raw[key], FlareOptions(path=root, **options), allowed.__getitem__)
    assert isinstance(found, Topic), found
    return found


def texts(topic: Topic) -> list[str]:
    return [block.text for block in topic.blocks]


def test_snippets_nest_and_are_dependencies(tmp_path: Path) -> None:
    """A snippet in a snippet is found from where it is written, and both are dependencies of the topic, spelled as they are."""
    root = write(
        tmp_path,
        {
            "P.flprj": "<CatapultProject/>",
            "Content/a/T.htm": page(
                '<p>See <MadCap:snippetText src="../R/Outer.flsnp"/>, then.</p>'
                '<MadCap:snippetBlock src="/Content/R/block%20one.flsnp"/>'
            ),
            "Content/R/Outer.flsnp": page('<p>outer</p><p><MadCap:snippetText src="deep/INNER.flsnp"/></p>'),
            "Content/R/deep/Inner.flsnp": page("inner"),
            "Content/R/block one.flsnp": page("<ul><li>x</li></ul><pre>y</pre>"),
        },
    )
    assert export(root)["Content/a/T.htm"].dependencies == (
        "Content/R/Outer.flsnp",
        "Content/R/block one.flsnp",
        "Content/R/deep/Inner.flsnp",
    )
    found = parse(root, "Content/a/T.htm")
    assert [(block.type, block.text) for block in found.blocks] == [
        ("paragraph", "See outer inner, then."),
        ("list_item", "x"),
        ("code", "y"),
    ]


def test_what_is_missing_is_reported_and_harms_nothing_else(tmp_path: Path) -> None:
    """A missing snippet or variable and a snippet in itself are warnings; the text around them stays."""
    root = write(
        tmp_path,
        {
            "Content/T.htm": page(
                '<h1>T</h1><p>a <MadCap:snippetText src="No.flsnp"/> b <MadCap:variable name="S.No"/> c'
                ' <MadCap:snippetText src="Loop.flsnp"/> d <MadCap:snippetText src="../../../etc/x.flsnp"/>e</p>'
            ),
            "Content/Loop.flsnp": page('<p>loop <MadCap:snippetText src="Loop.flsnp"/></p>'),
            "Project/VariableSets/S.flvar": '<CatapultVariableSet><Variable Name="Yes">x</Variable></CatapultVariableSet>',
        },
    )
    found = parse(root, "Content/T.htm")
    assert texts(found) == ["T", "a b c loop d e"]
    assert found.metadata["warnings"] == [
        "snippet not found: No.flsnp",
        "variable not found: S.No",
        "snippet refers to itself: Content/Loop.flsnp",
        "snippet not found: ../../../etc/x.flsnp",
    ]


def test_variables_stand_in_text_titles_and_each_other(tmp_path: Path) -> None:
    """A value may come from the text or the definition, hold another variable, and be the only content of a title."""
    root = write(
        tmp_path,
        {
            "Content/T.htm": page('<p>x<MadCap:variable name="S.Full"/>y</p>', head="<title>[%=S.Short%]</title>"),
            "Content/U.htm": page('<h1><MadCap:variable name="s.short" /> guide</h1><p>u</p>'),
            "Project/VariableSets/S.flvar": "<CatapultVariableSet>"
            '<Variable Name="Short" EvaluatedDefinition="BBj">old</Variable>'
            '<Variable Name="Full">[%=S.Short%] 25</Variable></CatapultVariableSet>',
        },
    )
    assert (parse(root, "Content/T.htm").title, texts(parse(root, "Content/T.htm"))) == ("BBj", ["xBBj 25y"])
    assert parse(root, "Content/U.htm").title == "BBj guide"


@pytest.mark.parametrize(
    ("expression", "kept"),
    [
        (None, ["both", "new", "old", "web"]),
        ("exclude[Primary.Old]", ["new", "web"]),
        ("include[Primary.New], exclude[Primary.Old]", ["both", "new", "web"]),
        ("exclude[Primary.Old and not Primary.New]", ["both", "new", "web"]),
        ("exclude[(Primary.Old or primary.web) and not Primary.New]", ["both", "new"]),
    ],
)
def test_a_targets_conditions_decide(tmp_path: Path, expression: str | None, kept: list[str]) -> None:
    """Content is dropped when an exclusion matches its tags, unless an inclusion does too; the text after it stays."""
    body = (
        '<p MadCap:conditions="Primary.Old,Primary.New">both</p><p MadCap:conditions="Primary.New">new</p>'
        '<p MadCap:conditions="Primary.Old">old</p>'
        '<p><MadCap:conditionalText MadCap:conditions="Primary.Web">web</MadCap:conditionalText></p>'
    )
    root = write(tmp_path, {"T.htm": page(body)})
    assert texts(parse(root, "T.htm", **({"conditions": expression} if expression else {}))) == kept


def test_topic_conditions_are_metadata_and_exclude_whole_topics(tmp_path: Path) -> None:
    """Tags on the root are the topic's conditions, tags inside are kept apart; an excluded topic is not exported."""
    attributes = ' MadCap:conditions="Primary.BASISHelp,Primary.Deprecated"'
    root = write(tmp_path, {"T.htm": page('<p>a<b MadCap:conditions="Primary.Superseded">b</b></p>', attributes=attributes)})
    found = parse(root, "T.htm")
    assert found.metadata["conditions"] == ["Primary.BASISHelp", "Primary.Deprecated"]
    assert found.metadata["inline_conditions"] == ["Primary.Superseded"]
    assert export(root, conditions="exclude[Primary.Deprecated]") == {}


@pytest.mark.parametrize("expression", ["Primary.Old", "exclude[a or]", "exclude[(a]", "exclude[a) b]", "skip[a]"])
def test_an_unreadable_expression_is_an_error_of_the_configuration(expression: str) -> None:
    """A condition expression that cannot be read is refused when the options are made, saying what is expected."""
    with pytest.raises(ValidationError, match=r"write (include|tags)"):
        FlareOptions(conditions=expression)


def test_tables_of_contents_link_each_other(tmp_path: Path) -> None:
    """Linked tables are read in place, literal titles name untitled topics, further places are kept, loops end."""
    linked = '<TocEntry Title="[%=System.LinkedTitle%]" Link="/Content/{}.htm#x"{}'
    root = write(
        tmp_path,
        {
            "P.flprj": "<CatapultProject/>",
            "Content/A.htm": page("<h1>Alpha</h1><p>a</p>"),
            "Content/B.htm": page("<p>no heading</p>"),
            "Content/sub_dir/C.htm": page("<p>no heading</p>"),
            "Project/TOCs/Main.fltoc": toc(
                linked.format("A", ">")
                + '<TocEntry Title="Own title" Link="/Content/b.htm"/></TocEntry>'
                + '<TocEntry Title="Part" Link="/Project/TOCs/Sub.fltoc"/>'
            ),
            "Project/TOCs/Alone.fltoc": toc(
                '<TocEntry Title="Elsewhere"><TocEntry Title="x" Link="/Content/A.htm"/></TocEntry>'
            ),
            "Project/TOCs/Sub.fltoc": toc(
                linked.format("B", "/>") + '<TocEntry Title="Back" Link="/Project/TOCs/Main.fltoc"/>'
            ),
        },
    )
    found = parse(root, "Content/B.htm", toc="Main")
    assert (found.title, found.section_path) == ("Own title", ("Alpha",))
    assert found.metadata["other_section_paths"] == [["Part"]]
    assert parse(root, "Content/A.htm").section_path == ("Elsewhere",)
    assert parse(root, "Content/A.htm", toc="main.fltoc").section_path == ()
    lost = parse(root, "Content/sub_dir/C.htm")
    assert (lost.title, lost.section_path) == ("C", ("sub dir",))


def test_keywords_and_concepts_are_metadata_and_never_text(tmp_path: Path) -> None:
    """Index terms inside headings and words leave no trace in the text."""
    root = write(
        tmp_path,
        {
            "T.htm": page(
                '<h1><MadCap:keyword term="addWindow method;windows:create" />add<MadCap:keyword term="x"/>Window</h1>'
                '<p>text<MadCap:concept term="GUI" /> more</p>'
                '<MadCap:relatedTopics><MadCap:relatedTopic src="U.htm" title="U" />'
                "</MadCap:relatedTopics>"
            )
        },
    )
    found = parse(root, "T.htm")
    assert (found.title, texts(found)) == ("addWindow", ["addWindow", "text more"])
    assert found.metadata["keywords"] == ["addWindow method", "windows:create", "x", "GUI"]
    assert found.metadata["related"] == ["U.htm"]


def test_interactive_elements_keep_their_words_apart(tmp_path: Path) -> None:
    """Drop-downs, togglers, popups, cross references and code snippets read like text, code like code."""
    root = write(
        tmp_path,
        {
            "T.htm": page(
                "<MadCap:dropDown><MadCap:dropDownHead><MadCap:dropDownHotspot>Head</MadCap:dropDownHotspot></MadCap:dropDownHead>"
                "<MadCap:dropDownBody><p>body</p></MadCap:dropDownBody></MadCap:dropDown>"
                '<p>A <MadCap:toggler targets="x">togg</MadCap:toggler>ler, '
                "<MadCap:popup><MadCap:popupHead>term</MadCap:popupHead><MadCap:popupBody>meaning</MadCap:popupBody></MadCap:popup>"
                'and <MadCap:xref href="U.htm">see U</MadCap:xref>.</p>'
                "<MadCap:codeSnippet><MadCap:codeSnippetCaption>Title</MadCap:codeSnippetCaption>"
                '<MadCap:codeSnippetCopyButton /><MadCap:codeSnippetBody style="mc-code-lang: BBj;">'
                "a=1\n  b=2</MadCap:codeSnippetBody></MadCap:codeSnippet>"
                '<MadCap:miniTocProxy /><p MadCap:autonum="1.">numbered</p>'
            )
        },
    )
    found = parse(root, "T.htm")
    assert [(block.type, block.text, block.language) for block in found.blocks] == [
        ("paragraph", "Head", None),
        ("paragraph", "body", None),
        ("paragraph", "A toggler, term meaning and see U.", None),
        ("paragraph", "Title", None),
        ("code", "a=1\n  b=2", "bbj"),
        ("paragraph", "1. numbered", None),
    ]


def test_public_urls_begin_below_content(tmp_path: Path) -> None:
    """In a project the path is that below ``Content/``, quoted; built output of the project is no topic."""
    root = write(
        tmp_path,
        {
            "q/P.flprj": "<CatapultProject/>",
            "q/Content/x/y z.htm": page("<p>a</p>"),
            "q/Output/z.htm": page("<p>b</p>"),
            "r.html": page("<p>c</p>"),
        },
    )
    url = "https://example.org/help/{path}"
    assert sorted(export(root)) == ["q/Content/x/y z.htm", "r.html"]
    assert parse(root, "q/Content/x/y z.htm", public_url=url).url == "https://example.org/help/x/y%20z.htm"
    assert parse(root, "r.html", public_url=url).url == "https://example.org/help/r.html"


def test_a_topic_without_text_is_a_reject(tmp_path: Path) -> None:
    """A topic that has only a title is named, not an empty success."""
    root = write(tmp_path, {"T.htm": page("<p>&#160;</p>", head="<title>T</title>")})
    (found,) = SOURCE.parse(export(root)["T.htm"], FlareOptions(path=root), {}.__getitem__)
    assert found == Reject("T.htm", "no-content", "the topic has no text")


def test_an_unreadable_table_of_contents_is_named(tmp_path: Path) -> None:
    """A broken table is a reject of its own; its topics fall back to their folders."""
    root = write(
        tmp_path, {"P.flprj": "<x/>", "Content/a/T.htm": page("<p>t</p>"), "Project/TOCs/M.fltoc": "<CatapultToc><TocEntry"}
    )
    found = list(SOURCE.export(FlareOptions(path=root)))
    assert [(item.key, getattr(item, "code", None)) for item in found] == [
        ("Content/a/T.htm", None),
        ("Project/TOCs/M.fltoc", "unreadable-toc"),
    ]
    assert parse(root, "Content/a/T.htm").section_path == ("a",)


def test_a_resource_that_was_refused_does_not_exist(tmp_path: Path) -> None:
    """A snippet that leads out of the export is a reject, and the topics that use it say that it is missing."""
    (tmp_path / "secret.flsnp").write_text(page("<p>secret</p>"))
    root = write(tmp_path / "root", {"Content/T.htm": page('<p>a <MadCap:snippetText src="S.flsnp"/></p>')})
    (root / "Content/S.flsnp").symlink_to(tmp_path / "secret.flsnp")
    raw = export(root)
    assert list(raw) == ["Content/T.htm"]
    (found,) = SOURCE.parse(raw["Content/T.htm"], FlareOptions(path=root), {}.__getitem__)
    assert isinstance(found, Topic)
    assert texts(found) == ["a"]
    assert found.metadata["warnings"] == ["snippet not found: S.flsnp"]


def test_a_project_file_that_declares_entities_is_refused_with_all_that_show_it(tmp_path: Path) -> None:
    """Whatever the file is for: a reject of its own; half a topic never takes the place of a whole one that is served."""
    bomb = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha">]>'
    root = write(
        tmp_path,
        {
            "P.flprj": f"{bomb}<CatapultProject/>",
            "Project/TOCs/Main.fltoc": bomb + toc('<TocEntry Title="&a;" Link="/Content/Sound.htm"/>'),
            "Project/Targets/Web.fltar": f"{bomb}<CatapultTarget/>",
            "Project/ConditionTagSets/C.flcts": f"{bomb}<CatapultConditionTagSet/>",
            "Project/VariableSets/V.flvar": f'{bomb}<CatapultVariableSet><Variable Name="v">x</Variable></CatapultVariableSet>',
            "Content/Bad.flsnp": bomb + page("<p>&a;</p>").partition("?>")[2],
            "Content/Outer.flsnp": page('<MadCap:snippetBlock src="Bad.flsnp"/>'),
            "Content/Shows.htm": page('<p>x</p><MadCap:snippetBlock src="Outer.flsnp"/>'),
            "Content/Says.htm": page('<p>x <MadCap:variable name="V.v"/></p>'),
            "Content/Sound.htm": page("<p>sound</p>"),
            "Content/Own.htm": bomb + page("<p>&a;</p>").partition("?>")[2],
        },
    )
    found = {item.key: item for item in SOURCE.export(FlareOptions(path=root))}
    refused = {key: item for key, item in found.items() if isinstance(item, Reject)}
    assert set(found) - set(refused) == {"Content/Outer.flsnp", "Content/Sound.htm", "Content/Own.htm"}
    assert {item.code for item in refused.values()} == {"entity-declarations"}
    assert "in Content/Bad.flsnp: the DOCTYPE declares" in refused["Content/Shows.htm"].reason
    assert "in Project/VariableSets/V.flvar: the DOCTYPE declares" in refused["Content/Says.htm"].reason
    assert texts(parse(root, "Content/Sound.htm")) == ["sound"]
    own = found["Content/Own.htm"]
    assert isinstance(own, RawDocument)
    (reject,) = SOURCE.parse(own, FlareOptions(path=root), {}.__getitem__)
    assert isinstance(reject, Reject)
    assert reject.code == "entity-declarations"


def test_a_pipe_in_the_folder_does_not_block(tmp_path: Path) -> None:
    """What is no file is a reject and is never opened."""
    os.mkfifo(tmp_path / "pipe.htm")
    assert [getattr(item, "code", None) for item in SOURCE.export(FlareOptions(path=tmp_path))] == ["not-a-file"]
