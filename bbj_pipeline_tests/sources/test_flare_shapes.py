"""The shapes of Flare's markup that mean code, notes, tables with headers, and navigation."""

import pytest

from bbj_pipeline.records import Block, RawDocument, Topic
from bbj_pipeline.sources.flare import SOURCE, FlareOptions

HTML = '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>T</title></head><body>{}</body></html>'


def blocks(body: str) -> tuple[Block, ...]:
    raw = RawDocument("T.htm", HTML.format(body).encode(), metadata={})
    (found,) = SOURCE.parse(raw, FlareOptions(), {}.__getitem__)
    assert isinstance(found, Topic)
    assert found.raw_sha256 == raw.sha256
    return found.blocks


@pytest.mark.parametrize(
    ("markup", "text", "language"),
    [
        (
            '<table class="Code_Table">\n<tr>\n<td>\n<pre xml:space="preserve"><code class="language-bbj">'
            'a$="x"\n  print a$</code></pre>\n</td>\n</tr>\n</table>',
            'a$="x"\n  print a$',
            "bbj",
        ),
        (
            '<table class="TableStyle-Code2"><tr><td><p>a</p>\n<p>&#160;&#160;b</p><p>&#160;</p><p>c</p></td></tr></table>',
            "a\n  b\n\nc",
            None,
        ),
        ('<table class="TableStyle-Code"><tr><td>a<br/>&#160;b\n   wrapped</td></tr></table>', "a\n b wrapped", None),
        ('<table class="Code_Table"><tr><td><pre>a</pre></td></tr><tr><td><pre>b</pre></td></tr></table>', "a\nb", None),
        (
            '<p class="Code">a</p>\n<p class="Code">  b  c<br/>d</p>\n<p class="code-snippet"> </p><p class="Code">e</p>',
            "a\n  b  c\nd\n\ne",
            None,
        ),
        ('<p class="Code">\n      PRINT\n      X</p>', "PRINT X", None),
    ],
)
def test_code_shapes_are_one_code_block(markup: str, text: str, language: str | None) -> None:
    """Code tables and runs of code paragraphs are one block: indentation kept, the export's own wrapping not."""
    assert [(block.type, block.text, block.language) for block in blocks(markup)] == [("code", text, language)]


def test_a_code_table_that_is_more_than_code_keeps_everything() -> None:
    """Prose beside the code, or a second column, is not swallowed by the code shape."""
    found = blocks('<table class="Code_Table"><tr><td><p>Say:</p><pre>x</pre></td></tr></table>')
    assert [(block.type, block.text) for block in found] == [("paragraph", "Say:"), ("code", "x")]
    found = blocks('<table class="Code_Table"><tr><td>a</td><td><pre>x</pre></td></tr></table>')
    assert [(block.type, block.rows) for block in found] == [("table", (("a", "x"),))]


def test_a_header_cell_of_a_code_table_is_its_title() -> None:
    """A table that frames code under a heading gives the code that title."""
    (found,) = blocks('<table class="Code_Table"><tr><th>Example</th></tr><tr><td><pre>x</pre></td></tr></table>')
    assert (found.type, found.text, found.title) == ("code", "x", "Example")


def test_runs_of_code_end_where_other_content_stands() -> None:
    """Text between two code lines separates their blocks."""
    found = blocks('<p class="Code">a</p>then<p class="Code">b</p><p>c</p><p class="Code">d</p>')
    assert [block.type for block in found] == ["code", "paragraph", "code", "paragraph", "code"]


def test_notes_are_notes() -> None:
    """Paragraphs, boxes and one-cell tables of note classes are notes; code in them stays code."""
    found = blocks(
        '<p class="Note">one</p><div class="warning"><p>two</p><pre>x</pre></div>'
        '<table class="TableStyle-Note"><tr><td>three</td></tr></table><p class="Footnotes">four</p><p class="mc-note">five</p>'
    )
    assert [(block.type, block.text) for block in found] == [
        ("note", "one"),
        ("note", "two"),
        ("code", "x"),
        ("paragraph", "three"),
        ("paragraph", "four"),
        ("note", "five"),
    ]


def test_tables_of_methods_have_their_header_row() -> None:
    """The header row is known by ``thead``, by header cells, or by Flare's class for the top of a table."""
    body = '<table class="Methods_Table">{}<tr><td>Window</td><td>add()</td></tr></table>'
    for header in (
        "<thead><tr><td>Return</td><td>Method</td></tr></thead>",
        "<tr><th>Return</th><th>Method</th></tr>",
        '<tr><td><p class="Tabletop">Return</p></td><td><p class="Tabletop">Method</p></td></tr>',
        '<tr><td class="TableStyle-A-HeadE-Column1-Header1">Return</td>'
        '<td class="TableStyle-A-HeadD-Column2-Header1">Method</td></tr>',
    ):
        (table,) = blocks(body.format(header))
        assert (table.rows, table.header_rows) == ((("Return", "Method"), ("Window", "add()")), 1)


def test_generated_navigation_is_not_content() -> None:
    """Boxes that Flare fills from the table of contents are gone, text after them is not."""
    found = blocks(
        '<div class="MCBreadcrumbsBox_0">You are here</div>a<div class="MCMiniTocBox_0 miniToc nocontent"><p>x</p></div>b'
    )
    assert [block.text for block in found] == ["a", "b"]
