"""The mdx source on small documents of our own: what Docusaurus shows is text, what it runs or hides is not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from bbj_pipeline.records import Block, RawDocument, Reject, Topic
from bbj_pipeline.settings import SAMPLES_DIR
from bbj_pipeline.sources.mdx import SOURCE, MdxOptions

GUIDE = MdxOptions(path=SAMPLES_DIR / "mdx" / "dwc-guide", public_url="https://guide.example.org/{path}")


def parse(text: str | bytes, key: str = "docs/page.mdx", parts: Mapping[str, bytes] | None = None) -> Topic | Reject:
    content = text.encode() if isinstance(text, str) else text
    raw = RawDocument(key=key, content=content, dependencies=tuple(parts or ()))
    (result,) = SOURCE.parse(raw, MdxOptions(public_url="https://site/{path}"), dict(parts or {}).__getitem__)
    return result


def blocks(text: str, key: str = "docs/page.mdx", parts: Mapping[str, bytes] | None = None) -> tuple[Block, ...]:
    topic = parse(text, key, parts)
    assert isinstance(topic, Topic), topic
    return topic.blocks


def shown(text: str, key: str = "docs/page.mdx") -> list[str]:
    return [block.text for block in blocks(text, key)]


def reject(text: str | bytes, key: str = "docs/page.mdx") -> Reject:
    result = parse(text, key)
    assert isinstance(result, Reject), result
    return result


def write(root: Path, files: Mapping[str, str]) -> MdxOptions:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return MdxOptions(path=root)


def test_code_keeps_what_looks_like_esm_or_jsx() -> None:
    """`import`, `List<String>` and `<Button>` are code inside fences and code spans, and gone outside."""
    text = "import X from './x';\n\nSee `List<String>`.\n\n```java title=\"A.java\"\nimport a.B;\n<Button>ok</Button>\n```\n\n"
    text += "<Button>Go</Button>\n"
    prose, code, button = blocks(text)
    assert prose.text == "See List<String>."
    assert (code.text, code.language, code.title) == ("import a.B;\n<Button>ok</Button>", "java", "A.java")
    assert button.text == "Go"


def test_a_longer_fence_holds_shorter_ones() -> None:
    """A four-backtick fence is one code block, whatever stands in it."""
    inner = "```bbj\nprint 1\n```\n:::tip\nno note\n:::"
    (code, after) = blocks(f"````md\n{inner}\n````\n\nafter")
    assert (code.type, code.text) == ("code", inner)
    assert after.text == "after"


def test_code_is_verbatim() -> None:
    """Indentation, tabs, U+00A0 and blank lines inside a fence come out as they went in."""
    inner = "  a\tb\u00a0c\n\n\n    d &amp; <e>"
    (code,) = blocks(f"```bbj\n{inner}\n```\n")
    assert code.text == inner


def test_tab_labels_are_text() -> None:
    """Labels of tabs stand before their panels, also when they come from the `values` of the tab bar."""
    modern = '<Tabs>\n<TabItem value="a" label="Apple">\n\n    red\n\n</TabItem>\n</Tabs>\n'
    older = "<Tabs values={[{label: 'Apple', value: 'a'}]}>\n<TabItem value=\"a\">\n\nred\n\n</TabItem>\n</Tabs>\n"
    assert shown(modern) == shown(older) == ["Apple", "red"]


def test_admonitions_are_notes_with_their_titles() -> None:
    """Both ways of writing a title, the default title, nesting, and code, tables and lists that stay themselves."""
    text = (
        "::::note[A `b` title]\n\none\n\ntwo\n\n:::tip\n\ninner\n\n:::\n\n```bbj\nprint 1\n```\n\n::::\n\n"
        ":::warning Be careful\n- item\n:::\n\nafter"
    )
    one, two, inner, code, title, item, after = blocks(text)
    assert [(b.type, b.text, b.title) for b in (one, two, inner)] == [
        ("note", "one", "A b title"),
        ("note", "two", None),
        ("note", "inner", "tip"),
    ]
    assert (code.type, code.language) == ("code", "bbj")
    assert (title.type, title.text, item.type) == ("note", "Be careful", "list_item")
    assert (after.type, after.text) == ("paragraph", "after")


def test_heading_ids_are_anchors_and_not_text() -> None:
    """`{#id}` is the anchor; without it it is GitHub's slug, numbered when it repeats. Docusaurus gives a page's title none."""
    found = blocks("# A `b` C {#top}\n\n## D {#own}\n\n## Setting Up\n\n## Setting Up\n", "docs/page.md")
    assert [(b.text, b.level, b.anchor) for b in found] == [
        ("A b C", 1, None),
        ("D", 2, "own"),
        ("Setting Up", 2, "setting-up"),
        ("Setting Up", 2, "setting-up-1"),
    ]


def test_tables_keep_escaped_pipes_and_cells() -> None:
    """`\\|` is a pipe inside a cell, also in a code span."""
    (table,) = blocks("| a | b |\n| --- | --- |\n| `x \\| y` | 1<br/>2 |\n")
    assert table.rows == (("a", "b"), ("x | y", "1\n2"))
    assert table.header_rows == 1


def test_expressions_show_what_is_known_without_running_them() -> None:
    """Comments and code are gone; literals and front matter values are text; escaped braces are braces."""
    text = "---\ntitle: T\n---\nA{/* no */} {'b'} {frontMatter.title} {items.map(i => <li>{i}</li>)} \\{x\\}\n"
    text += "\n{/* a\n\nb */}\n\nend"
    assert shown(text) == ["A b T {x}", "end"]


def test_statements_of_several_lines_are_removed() -> None:
    """Multi-line imports and exports are no text, and prose that begins with their words is."""
    text = "import {\n  a,\n} from 'x'\nexport const meta = {\n  a: [1],\n\n  b: 2,\n};\n\nimport the file first.\n"
    assert shown(text) == ["import the file first."]
    assert shown("import X from './x'\n# Title\n") == ["Title"]
    assert shown("import './a.css'\nimport type {T} from 't'\nText\n") == ["Text"]
    assert shown("export default values to a file\n", "docs/page.md") == ["export default values to a file"]


def test_components_keep_their_children() -> None:
    """Tags over several lines with braces in attributes go, text children and visible labels stay, `<Head>` is not text."""
    text = (
        "<Card\n  title=\"Shown\"\n  style={{color: 'red', x: {y: 1}}}\n  onClick={() => { f('a > b') }}\n>\n"
        "**bold** text\n</Card>\n\n"
        '<Head>\n<meta name="x"/>\n<title>hidden</title>\n</Head>\n\n'
        "<Admonition type='danger' title='Boom'>\ncareful\n</Admonition>\n"
    )
    first, second, note = blocks(text)
    assert (first.text, second.text) == ("Shown", "bold text")
    assert (note.type, note.title, note.text) == ("note", "Boom", "careful")


def test_plain_markdown_keeps_generic_types_and_braces() -> None:
    """In a plain .md file a capitalised word in angle brackets that nothing closes, and braces, are what the author wrote."""
    assert shown("Returns a List<String> with {name: 'x'}.\n", "docs/page.md") == ["Returns a List<String> with {name: 'x'}."]


def test_html_in_markdown_is_read_by_the_walker() -> None:
    """Tables, details and line breaks written as HTML become blocks; a heading right after a closing tag is a heading."""
    text = "<table><tr><th>a</th></tr><tr><td>\n\n**b**\n\n</td></tr></table>\n\n"
    text += "<div>\n</div>\n## Next\n\n<details>\n<summary>More</summary>\n\nrest\n\n</details>\n"
    found = blocks(text, "docs/page.md")
    assert [(b.type, b.text) for b in found if b.type != "table"] == [
        ("heading", "Next"),
        ("paragraph", "More"),
        ("paragraph", "rest"),
    ]
    assert found[0].rows == (("a",), ("b",))


def test_images_say_their_alternative_text_and_urls_are_not_text() -> None:
    """Base64 data, badges and link targets are dropped, alternative and link text stay; 200,000 characters cost nothing."""
    data = "A" * 200_000
    text = f"![alt](data:image/png;base64,{data}) <img src='data:image/svg+xml;base64,{data}' alt='icon'/> [text](https://u.example)\n"
    assert shown(text) == ["alt icon text"]
    assert shown("see ![a *b*](x.png)here ![Version](https://img.shields.io/badge/7)\n") == ["see a b here"]


def test_footnotes_and_task_lists_keep_their_words() -> None:
    """Marks and boxes go, words stay."""
    assert shown("- [ ] open\n- [x] done\n\nA[^1] b.\n\n[^1]: The note.\n") == ["open", "done", "A b.", "The note."]


def test_docsify_callouts_are_notes() -> None:
    """`?>` and `!>` at the start of a paragraph mark a note."""
    (note,) = blocks("?> **Note:** read this\n", "docs/page.md")
    assert (note.type, note.text) == ("note", "Note: read this")


def test_partials_are_included_with_their_own_partials() -> None:
    """`<X/>` is replaced by the imported partial; a partial that imports itself ends; a missing one is named."""
    parts = {
        "docs/_a.mdx": b"---\nx: 1\n---\nimport B from './sub/_b.mdx';\n\nin a\n\n<B/>\n",
        "docs/sub/_b.mdx": b"import A from '../_a.mdx';\n\nin b\n\n<A/>\n",
    }
    text = "import A from './_a.mdx';\n\nbefore\n\n<A />\n\nafter\n"
    assert [b.text for b in blocks(text, parts=parts)] == ["before", "in a", "in b", "after"]
    raw = RawDocument(key="docs/page.mdx", content=text.encode(), dependencies=tuple(parts))
    (topic,) = SOURCE.parse(raw, MdxOptions(), {}.__getitem__)
    assert isinstance(topic, Topic)
    assert topic.metadata["missing_partials"] == ["docs/_a.mdx: not in the export"]


def test_broken_front_matter_is_a_reject_with_its_line() -> None:
    """A person finds the fault: the line of the file, not of the YAML."""
    found = reject("---\ntitle: ok\nother: a: b\n---\ntext\n")
    assert found.code == "front-matter"
    assert "line 3" in found.reason
    assert reject("---\n- a\n---\ntext\n").code == "front-matter"
    assert reject("---\nd: 2024-13-45\n---\ntext\n").code == "front-matter"


def test_front_matter_may_be_missing_and_a_rule_is_none() -> None:
    """A file without front matter, or one that begins with a horizontal rule, is read whole."""
    assert shown("text\n") == ["text"]
    assert shown("---\n\ntext\n") == ["text"]


def test_drafts_are_rejected_and_unlisted_pages_are_not() -> None:
    """`draft: true` is not published; `unlisted: true` is."""
    assert reject("---\ndraft: true\n---\ntext\n").code == "draft"
    assert isinstance(parse("---\nunlisted: true\n---\ntext\n"), Topic)
    assert reject("---\ntitle: T\n---\n<DocCardList />\n").code == "empty"


@pytest.mark.parametrize(
    ("key", "front", "title", "url"),
    [
        ("docs/01-intro/02-first-steps.md", "", "First steps", "docs/intro/first-steps"),
        ("docs/01-intro/index.md", "", "Intro", "docs/intro"),
        ("docs/intro/intro.mdx", "", "Intro", "docs/intro"),
        ("docs/a/b.md", "slug: /top\n", "B", "docs/top"),
        ("a/b.md", "slug: c/d\n", "B", "a/c/d"),
        ("a/b.md", "id: other\ntitle: Mine\n", "Mine", "a/other"),
        ("a/7.0-notes.md", "", "7.0 notes", "a/7.0-notes"),
        ("a/b c.md", "", "B c", "a/b%20c"),
        ("a/b.md", "slug: ../../../x\n", "B", "x"),
    ],
)
def test_titles_and_urls_follow_docusaurus(key: str, front: str, title: str, url: str) -> None:
    """Number prefixes are not part of names or URLs; `slug` and `id` change the URL and never lead out of the site."""
    topic = parse(f"---\n{front}---\ntext\n", key)
    assert isinstance(topic, Topic)
    assert (topic.title, topic.url) == (title, f"https://site/{url}")


def test_metadata_is_what_the_front_matter_knows() -> None:
    """Keywords, description and dates are metadata and no text."""
    topic = parse("---\ndescription: d\nkeywords: [a, b]\nlast_update: {date: 2025-01-02}\nsince_version: '24.00'\n---\ntext\n")
    assert isinstance(topic, Topic)
    assert topic.metadata == {
        "description": "d",
        "keywords": ["a", "b"],
        "last_updated": "2025-01-02",
        "since_version": "24.00",
    }
    assert [b.text for b in topic.blocks] == ["text"]


def test_export_tells_documents_from_resources_and_passes_over_the_rest(tmp_path: Path) -> None:
    """Partials, sidebars and category files are no documents; packages, build output and generated JSON are passed over."""
    options = write(
        tmp_path,
        {
            "docs/_sidebar.md": "- [a](b)",
            "docs/_parts/p.md": "part",
            "docs/a.mdx": "import P from './_parts/p.md';\nimport Q from '@site/docs/_sidebar.md';\n"
            "import N from './_none.md';\n\n<P/>",
            "docs/02-api/_category_.yml": "label: The API\n",
            "docs/02-api/01-deep-dive/x.md": "x",
            "docs/generated.json": "{}",
            "node_modules/p/README.md": "no",
            "build/docs/a.md": "no",
            ".git/x.md": "no",
        },
    )
    found = {item.key: item for item in SOURCE.export(options) if isinstance(item, RawDocument)}
    assert {key for key, raw in found.items() if raw.role == "document"} == {"docs/a.mdx", "docs/02-api/01-deep-dive/x.md"}
    assert {key for key, raw in found.items() if raw.role == "resource"} == {"docs/_sidebar.md", "docs/_parts/p.md"}
    assert found["docs/a.mdx"].dependencies == ("docs/_parts/p.md", "docs/_sidebar.md")
    assert found["docs/02-api/01-deep-dive/x.md"].metadata == {"section_path": ["The API", "Deep dive"]}


def test_links_out_of_the_root_are_rejected(tmp_path: Path) -> None:
    """Neither a symbolic link nor an import reads a file outside the instance's folder."""
    secret = tmp_path / "secret.md"
    secret.write_text("secret")
    options = write(tmp_path / "site", {"a.mdx": "import S from '../secret.md';\n\ntext <S/>\n"})
    (tmp_path / "site" / "link.md").symlink_to(secret)
    document, link = SOURCE.export(options)
    assert isinstance(document, RawDocument)
    assert document.dependencies == ()
    assert isinstance(link, Reject)
    assert link.code == "outside-root"


def test_bytes_that_are_not_utf8_are_windows_1252_and_said_so() -> None:
    """cp1252 is read and noted, byte order marks are honoured, binary files are named rejects."""
    topic = parse("Müller – “x”\n".encode("cp1252"))
    assert isinstance(topic, Topic)
    assert topic.blocks[0].text == "Müller – “x”"
    assert topic.metadata["encoding"] == "cp1252"
    marked = parse(b"\xff\xfe" + "ä".encode("utf-16-le"))
    assert isinstance(marked, Topic)
    assert marked.blocks[0].text == "ä"
    assert reject(b"\0\1\2" * 100).code == "binary"


def test_the_sample_guide_tells_the_four_generations() -> None:
    """The sample is a whole Docusaurus guide: every document parses, the window page shows all four generations."""
    raws = {item.key: item for item in SOURCE.export(GUIDE) if isinstance(item, RawDocument)}
    contents = {key: raw.content for key, raw in raws.items()}
    topics = {}
    for key, raw in raws.items():
        if raw.role == "document":
            (topics[key],) = SOURCE.parse(raw, GUIDE, contents.__getitem__)
    assert len(topics) == 9
    window = topics["docs/01-windows/01-create-a-window.mdx"]
    assert isinstance(window, Topic)
    assert window.url == "https://guide.example.org/docs/windows/create-a-window"
    assert window.section_path == ("Windows and controls",)
    titles = [block.title for block in window.blocks if block.type == "code" and block.title]
    assert titles == ["greeting.src", "greeting-vpro5.src", "greeting-gui.bbj", "greeting-dwc.bbj"]
    assert any("process_events" in block.text for block in window.blocks if block.type == "code")
