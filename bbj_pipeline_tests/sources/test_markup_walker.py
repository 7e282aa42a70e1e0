"""What the walker promises: the white-space rules of CSS, every structure a block of its own, no word lost or glued."""

from collections import Counter
from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from bbj_pipeline.records import Block
from bbj_pipeline.sources.markup import Code, MarkupProfile, Note, code_text, parse_fragment, to_blocks
from bbj_pipeline_tests.sources.markup_words import visible_words


def blocks(html: str, profile: MarkupProfile | None = None) -> tuple[Block, ...]:
    return to_blocks(parse_fragment(html), profile) if profile else to_blocks(parse_fragment(html))


def shapes(html: str) -> list[tuple[str, str]]:
    return [(block.type, block.text) for block in blocks(html)]


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>add<b>Win</b>dow</p>", "addWindow"),
        ("<p>one\n   <i>two</i>\tthree </p>", "one two three"),
        ("<p>one<b> two</b>&nbsp;three</p>", "one two three"),
        ("<p>soft&shy;ware zero\u200bwidth</p>", "software zerowidth"),
        ("<p>first<br>second<br/><br/> third </p>", "first\nsecond\nthird"),
        ('<p>press<img alt="Page\n Up" src="x.png">here <img alt=""><img></p>', "press Page Up here"),
        ('<p>see <img alt="a chart" src="data:image/png;base64,AAAA">here</p>', "see a chart here"),
        ('<p>v<img alt="Version" src="https://img.shields.io/x">7<img alt="data:image/png;base64,AAAA"></p>', "v 7"),
        ("<p>1<!-- no -->2<script>no</script>3<style>no</style><template>no</template></p>", "123"),
        ("bare <span>text</span>", "bare text"),
    ],
)
def test_inline_runs_collapse_as_in_a_browser(html: str, text: str) -> None:
    """Inline elements neither glue nor split words, ``<br>`` breaks lines, what is not text is not read."""
    assert shapes(html) == [("paragraph", text)]


def test_blocks_end_the_run_before_them() -> None:
    """Text before, between and after block elements becomes paragraphs of its own, also inside an inline element."""
    assert [text for _, text in shapes("a<div>b<p>c</p>d</div><a>e<div>f</div>g</a>")] == list("abcdefg")


def test_lists_keep_their_levels_and_what_items_hold() -> None:
    """Nesting is the level; the first run is the item, then follow its paragraphs, code and tables in order."""
    found = blocks(
        "<ul><li>a<ol><li><p>b</p><p>more</p><pre>x</pre></li></ol>end</li><li><table><tr><td>1</td><td>2</td></tr></table></li></ul>"
    )
    assert [(block.type, block.text, block.level) for block in found] == [
        ("list_item", "a", 1),
        ("list_item", "b", 2),
        ("paragraph", "more", None),
        ("code", "x", None),
        ("paragraph", "end", None),
        ("table", "1\t2", None),
    ]


def test_definition_lists_are_terms_with_their_meaning_below() -> None:
    """A term is an item, its definition the item below it."""
    found = blocks("<dl><dt>term</dt><dd>meaning<p>more</p></dd></dl>")
    assert [(block.type, block.text, block.level) for block in found] == [
        ("list_item", "term", 1),
        ("list_item", "meaning", 2),
        ("paragraph", "more", None),
    ]


def test_tables_are_full_grids() -> None:
    """A row says what spans it from above, columns repeat nothing; header rows are those of ``thead`` and of only ``th``."""
    (table,) = blocks(
        "<table><tr><th colspan=2>H</th><th>I</th></tr>"
        "<tr><th>r</th><td rowspan=2>b</td><td>c</td></tr><tr><td>d</td><td>e</td></tr></table>"
    )
    assert table.rows == (("H", "", "I"), ("r", "b", "c"), ("d", "b", "e"))
    assert table.header_rows == 1
    (table,) = blocks("<table><thead><tr><td>h</td><td>i</td></tr></thead><tbody><tr><td>a</td></tr></tbody></table>")
    assert (table.rows, table.header_rows) == ((("h", "i"), ("a", "")), 1)


def test_a_rowspan_of_zero_reaches_to_the_end_of_its_section() -> None:
    """``rowspan=0`` and spans past the end stop with the row group."""
    (table,) = blocks(
        "<table><tbody><tr><td rowspan=0>a</td><td>b</td></tr><tr><td>c</td></tr></tbody>"
        "<tbody><tr><td>d</td><td>e</td></tr></tbody></table>"
    )
    assert table.rows == (("a", "b"), ("a", "c"), ("d", "e"))


def test_a_value_that_spans_rows_stands_in_each_of_them() -> None:
    """Also behind a row's last own cell, and for a cell that spans columns too; what repeats is bounded."""
    (table,) = blocks(
        "<table><tr><td>a</td><td rowspan=3>b</td></tr><tr><td>c</td></tr><tr></tr><tr><td>d</td><td>e</td></tr>"
        "<tr><td colspan=2 rowspan=2>f</td><td>g</td></tr><tr><td>h</td></tr></table>"
    )
    assert table.rows == (("a", "b", ""), ("c", "b", ""), ("d", "e", ""), ("f", "", "g"), ("f", "", "h"))
    (table,) = blocks(f"<table><tr><td rowspan=5000>{'w' * 9_000}</td><td>x</td></tr>{'<tr><td>y</td></tr>' * 4_000}</table>")
    assert len(table.text) < 1_100_000
    assert sum("y" in row for row in table.rows) == 4_000


def test_a_nested_table_follows_the_row_it_stands_in() -> None:
    """The rows after it are read after it, below their header again; a header is repeated above rows alone."""
    found = blocks(
        "<table><tr><th>Name</th><th>Value</th></tr><tr><td>a</td><td>1<table><tr><td>x</td><td>y</td></tr></table></td></tr>"
        "<tr><td>b</td><td>2</td></tr><tr><td></td><td><table><tr><td>z</td></tr></table></td></tr></table>after"
    )
    assert [(block.rows or block.text, block.header_rows) for block in found] == [
        ((("Name", "Value"), ("a", "1")), 1),
        ((("x", "y"),), 0),
        ((("Name", "Value"), ("b", "2"), ("", "")), 1),
        ((("z",),), 0),
        ("after", None),
    ]


def test_the_rest_of_a_cell_with_a_table_stays_in_its_place() -> None:
    """A table in a cell is a block of its own; the other texts of the row are one row, lists and code as lines."""
    found = blocks(
        "<table><tr><td>a<table><tr><td>n</td><td>m</td></tr></table>b</td>"
        "<td><ul><li>x</li><li>y</li></ul><pre>p\n  q</pre></td></tr></table>after"
    )
    assert [block.rows for block in found] == [(("a\nb", "x\ny\np\n  q"),), (("n", "m"),), None]


def test_text_between_cells_is_not_lost() -> None:
    """A caption, and text that XML allows where HTML does not, stand before the table."""
    assert shapes("<table><caption>Title</caption><tr><td>a</td><td>b</td></tr></table>") == [
        ("paragraph", "Title"),
        ("table", "a\tb"),
    ]


def test_layout_tables_are_read_as_the_content_they_place() -> None:
    """One cell, or headings in data cells: the structure inside counts, not the grid."""
    assert shapes("<table><tr><td><h2>A</h2><pre>x</pre></td></tr></table>") == [("heading", "A"), ("code", "x")]
    assert [kind for kind, _ in shapes("<table><tr><td><h2>A</h2>a</td><td><h2>B</h2>b</td></tr></table>")] == [
        "heading",
        "paragraph",
        "heading",
        "paragraph",
    ]


def test_code_is_verbatim() -> None:
    """Indentation and blank lines stay, ``<br>`` and block children are line ends, U+00A0 is a space."""
    (code,) = blocks(
        '<div class="language-bbj"><pre>\nfor i=1 to 3\n\n&nbsp; print i<br/><span>next</span> <b>i</b>\n</pre></div>'
    )
    assert (code.type, code.text, code.language) == ("code", "for i=1 to 3\n\n  print i\nnext i", "bbj")
    (code,) = blocks("<pre><code class='lang-JS'><div>a</div><div>b</div></code></pre>")
    assert (code.text, code.language) == ("a\nb", "js")


def test_headings_have_levels_and_anchors() -> None:
    """The anchor is the heading's own or that of an ``a`` inside; zero-width marks and line breaks are gone."""
    found = blocks('<h2 id="x">One<br>two<a href="#x">\u200b</a></h2><h3><a name="y"></a>Three</h3><h4>Four</h4>')
    assert [(block.text, block.level, block.anchor) for block in found] == [
        ("One two", 2, "x"),
        ("Three", 3, "y"),
        ("Four", 4, None),
    ]


def test_hidden_tab_panels_are_content_under_their_labels() -> None:
    """Each panel follows its own label, nested tabs included; labels without panels are kept."""
    html = """<div><ul role=tablist><li role=tab>A</li><li role=tab>B</li></ul>
      <div role=tabpanel>one<div><ul role=tablist><li role=tab>C</li></ul><div role=tabpanel>two</div></div></div>
      <div role=tabpanel hidden>three</div></div><div><ul role=tablist><li role=tab>lone</li></ul></div>end"""
    assert [text for _, text in shapes(html)] == ["A", "one", "C", "two", "B", "three", "lone", "end"]


def _profile() -> MarkupProfile:
    def note(element):
        return Note(element.get("title")) if element.get("class") == "note" else None

    def code(element):
        following = element.getnext()
        return Code(code_text(element), "bbj", "T", last=following) if element.get("class") == "line" else None

    return MarkupProfile(chrome=lambda element: element.get("class") == "nav", note=note, code=code, language="text")


def test_notes_are_blocks_by_paragraph_with_the_title_once() -> None:
    """Each paragraph is a note, the first has the title; code inside stays code, in order."""
    found = blocks("<div class=note title=Hint><p>a</p><pre>x</pre><p>b</p></div><p>c</p>", _profile())
    assert [(block.type, block.text, block.title) for block in found] == [
        ("note", "a", "Hint"),
        ("code", "x", None),
        ("note", "b", None),
        ("paragraph", "c", None),
    ]
    found = blocks("<div class=note title=Hint><pre>x</pre></div>", _profile())
    assert [(block.type, block.text) for block in found] == [("note", "Hint"), ("code", "x")]


def test_a_profile_decides_chrome_and_code() -> None:
    """Chrome is gone but not the text after it; a code shape may take in the siblings that belong to it."""
    found = blocks("<p>a<span class=nav>no</span>b</p><p class=line>x</p><p>y</p>tail<pre>z</pre>", _profile())
    assert [(block.type, block.text, block.language) for block in found] == [
        ("paragraph", "ab", None),
        ("code", "x", "bbj"),
        ("paragraph", "tail", None),
        ("code", "z", "text"),
    ]


def test_hostile_spans_are_bounded() -> None:
    """A hundred thousand cells of a thousand columns each neither hang nor fill the memory, and no text is lost."""
    (table,) = blocks("<table><tr>" + "<td colspan=1000>x" * 100_000 + "</table>")
    assert table.text.count("x") == 100_000


WORDS = st.sampled_from(["alpha", "beta ", " gamma", " ", "\n", "BBjAPI()", "x$", "<&>"])
TREE = st.recursive(
    WORDS.map(escape),
    lambda inner: st.builds(
        lambda tag, parts: f"<{tag}>{''.join(parts)}</{tag}>",
        st.sampled_from(
            ["div", "section", "b", "span", "code", "em", "ul", "li", "blockquote", "td", "table", "tr", "dl", "dd"]
        ),
        st.lists(inner, max_size=4),
    ),
    max_leaves=25,
)


@given(TREE)
def test_no_word_is_lost_glued_or_split(html: str) -> None:
    """For any nesting of blocks and inlines the words are those that an independent extraction sees."""
    root = etree.fromstring(f"<body>{html}</body>")
    found = Counter(word for block in to_blocks(root) for word in block.text.split())
    assert found == visible_words(f"<body>{html}</body>")
