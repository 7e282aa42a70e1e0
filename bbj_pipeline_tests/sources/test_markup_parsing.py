"""What parsing promises: the right characters whatever the encoding, no network or expansion, bounded, nothing hidden."""

import pytest

from bbj_pipeline.sources.markup import MarkupError, parse_document, parse_fragment, to_blocks

XHTML = '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>T</title></head><body>{}</body></html>'


def texts(content: bytes, **options: str) -> list[str]:
    return [block.text for block in to_blocks(parse_document(content, **options).root)]


@pytest.mark.parametrize(
    "content",
    [
        XHTML.format("<p>Zażółć gęślą</p>").encode(),
        XHTML.replace(' xmlns="http://www.w3.org/1999/xhtml"', "").format("<p>Zażółć gęślą</p>").encode(),
        b"\xef\xbb\xbf" + ('<?xml version="1.0" encoding="utf-8"?>' + XHTML.format("<p>Zażółć gęślą</p>")).encode(),
        ('\r\n<?xml version="1.0" encoding="utf-8"?>\r\n' + XHTML.format("<p>Zażółć gęślą</p>")).encode(),
        ('<?xml version="1.0" encoding="utf-16"?>' + XHTML.format("<p>Zażółć gęślą</p>")).encode("utf-16"),
        ('<?xml version="1.0" encoding="utf-16"?>' + XHTML.format("<p>Zażółć gęślą</p>")).encode("utf-16-be"),
        ('<?xml version="1.0" encoding="iso-8859-2"?>' + XHTML.format("<p>Zażółć gęślą</p>")).encode("iso-8859-2"),
        XHTML.format("<p>Zażółć gęślą</p>").replace("<head>", '<head><meta charset="windows-1250"/>').encode("cp1250"),
        XHTML.format("<p>Za&#380;&oacute;&#322;&#263; g&#281;&#x15B;l&#261;</p>").encode(),
    ],
)
def test_characters_survive_every_encoding(content: bytes) -> None:
    """The text is the same in every encoding a document may come in, with and without the XHTML namespace."""
    assert texts(content) == ["Zażółć gęślą"]


def test_a_false_declaration_is_seen_through_and_reported() -> None:
    """Polish bytes that claim to be UTF-8 are read as windows-1250, and the warning says so."""
    content = '<?xml version="1.0" encoding="utf-8"?><html lang="pl"><body><p>treści są</p></body></html>'.encode("cp1250")
    parsed = parse_document(content)
    assert parsed.encoding == "cp1250"
    assert [block.text for block in to_blocks(parsed.root)] == ["treści są"]
    assert parsed.warnings == ("not utf-8 as declared: read as cp1250",)


def test_the_transport_wins_over_the_document() -> None:
    """An HTTP header's encoding is believed before the document's own."""
    content = '<html><head><meta charset="utf-8"></head><body><p>é</p></body></html>'.encode("cp1252")
    assert texts(content, encoding="windows-1252") == ["é"]


def test_html_entities_are_known_to_xml_documents() -> None:
    """Named entities that only HTML declares are characters; unknown ones stay visible as they were written."""
    assert texts(XHTML.format("<p>a&nbsp;b &mdash; &reg; &unheard; &lt;b&gt; &amp;</p>").encode()) == [
        "a b — ® &unheard; <b> &"
    ]


@pytest.mark.parametrize(
    ("subset", "found"),
    [
        ('<!ENTITY a "ha">', 'the internal entity "a"'),
        ("<!entity\n a 'ha'>", 'the internal entity "a"'),
        ('<!ENTITY x SYSTEM "file:///etc/hostname">', 'the external entity "x"'),
        ("<!ENTITY x PUBLIC 'p' 'http://localhost/x'>", 'the external entity "x"'),
        ('<!ENTITY % p "<!ELEMENT p ANY>"> %p;', 'the internal parameter entity "p"'),
        ('<!ENTITY % p SYSTEM "x.dtd"> %p;', 'the external parameter entity "p"'),
        ('<!ELEMENT p ANY><!ENTITY a "]>"><!ENTITY b "&a;">', 'the internal entity "a"'),
        ('<!-- it\'s ]> --><!ATTLIST p c CDATA "]>"><!ENTITY b "c">', 'the internal entity "b"'),
    ],
)
def test_a_document_that_declares_entities_is_refused(subset: str, found: str) -> None:
    """Of any sort, in any encoding, in a document or a fragment: the reason names the entity, and what to do."""
    html = f'<?xml version="1.0"?>\n<!-- x --><!DOCTYPE html [{subset}]><html><body><p title="&a;">1 &a; 2</p></body></html>'
    for refused in (
        lambda: parse_document(html.encode()),
        lambda: parse_document(html.encode("utf-16")),
        lambda: parse_document(f"<!doctype html>{html}".encode()),
        lambda: parse_fragment(f"<p>before</p>{html}"),
    ):
        with pytest.raises(MarkupError) as error:
            refused()
        assert error.value.code == "entity-declarations"
        assert found in error.value.reason
        assert "remove their declarations" in error.value.reason


@pytest.mark.parametrize(
    "doctype",
    [
        "<!DOCTYPE html>",
        "<!doctype HTML SYSTEM 'about:legacy-compat'>",
        '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">',
        '<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.01//EN>',
        '<!DOCTYPE html SYSTEM "a[b].dtd" [ <!-- it\'s no <!ENTITY a "b"> --> <!ATTLIST p c CDATA "]>"> <?x "?> ]>',
        '<!-- <!DOCTYPE html [<!ENTITY a "b">]> -->',
    ],
)
def test_a_doctype_without_entities_is_accepted(doctype: str) -> None:
    """Nothing of a DOCTYPE is text, none is fetched, and the letters of a declaration in a comment declare nothing."""
    assert texts(f"{doctype}\n<html><body><p>1 &a; 2</p></body></html>".encode()) == ["1 &a; 2"]


def test_words_about_entity_declarations_are_no_declarations() -> None:
    """Escaped, in CDATA or in a script: a page may explain what it must not do."""
    page = '<p>&lt;!DOCTYPE x [&lt;!ENTITY a "b">]></p><script>"<!DOCTYPE x [<!ENTITY a 1>]>"</script>'
    assert texts(page.encode()) == ['<!DOCTYPE x [<!ENTITY a "b">]>']
    assert texts(b'<div><![CDATA[<!DOCTYPE x [<!ENTITY a "b">]>]]></div>') == ['<!DOCTYPE x [<!ENTITY a "b">]>']


@pytest.mark.parametrize("control", ["\0", "\x0b", "\x0c", "\x1e", "&#0;", "&#x1F;", "&#11;"])
def test_control_characters_part_words(control: str) -> None:
    """What no document may contain costs neither the document nor a word: it reads as a space."""
    for html in (f"<p>one{control}two</p>", f"<p>one{control}two<br></p>"):
        assert texts(html.encode()) == ["one two"]
        assert [block.text for block in to_blocks(parse_fragment(html))] == ["one two"]


def test_references_to_what_is_no_character_are_told_apart_from_those_to_one() -> None:
    """128 to 159 are those of windows-1252, halves of pairs and numbers beyond Unicode U+FFFD, others what they say."""
    html = "<p>a&#150;b &#x80; &#8217;&#39; &#128512; &#xD83D; &#55357; &#x110000; &#99999999999999999999; &#00065;</p>"
    assert texts(html.encode()) == ["a\u2013b \u20ac \u2019' \U0001f600 \ufffd \ufffd \ufffd \ufffd A"]


def test_a_binary_file_is_told_from_a_short_text_with_a_nul() -> None:
    """Few NULs are a fault of the text, many make it a binary file; the reason says so."""
    assert texts(b"<p>a\0b\0</p>") == ["a b"]
    with pytest.raises(MarkupError, match="50 of 57 characters are NUL") as error:
        parse_document(b"<p>" + b"\0" * 50 + b"</p>")
    assert error.value.code == "not-markup"


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8"])
@pytest.mark.parametrize(
    "page",
    [
        "<html><head><title>Caf\u00e9</title></head><body><p>\u201cx\u201d</p><br></body></html>",
        "<html><head><title>T</title><body><p>\u00e9<br>1 < 2",
        "<body><p title='a>b' lang=\"de\">\u00e9<br><script>x</script><style>y</style><script>z</script></body>",
    ],
)
def test_a_short_page_without_loss_gets_no_warning_of_it(page: str, encoding: str) -> None:
    """The count behind the warning sees exactly what a reader sees, however few the characters are."""
    assert not [warning for warning in parse_document(page.encode(encoding)).warnings if "lost" in warning]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "empty"),
        (b"\xef\xbb\xbf \r\n\t", "empty"),
        (b"just words", "not-markup"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "not-markup"),
        (b"<html><body>" + b"<div>" * 3000, "too-deep"),
        (b"<r>" * 3000 + b"</r>" * 3000, "too-deep"),
        (b"<p " + b" ".join(b"a%d=1" % number for number in range(2000)) + b">x</p>", "too-many-attributes"),
        (b"<p>" + b"x" * (64 * 1024 * 1024), "too-large"),
    ],
)
def test_unusable_documents_have_a_named_reason(content: bytes, code: str) -> None:
    """What cannot be used is refused with a stable code, quickly."""
    with pytest.raises(MarkupError) as caught:
        parse_document(content)
    assert caught.value.code == code


def test_deep_documents_are_read_whole() -> None:
    """Nesting up to the bound loses no text, though it exceeds libxml2's first limit."""
    assert texts(b"<html><body>" + b"<div>" * 1900 + b"deep" + b"</div>" * 1900 + b"</body></html>") == ["deep"]


def test_a_truncated_document_is_recovered_and_reported() -> None:
    """What is there of a broken XHTML file is read, and a warning says that its end is missing."""
    parsed = parse_document(XHTML.format("<p>one</p><p>two").encode()[:-14])
    assert [block.text for block in to_blocks(parsed.root)][:2] == ["one", "two"]
    assert any("not well-formed" in warning for warning in parsed.warnings)
    assert any("truncated" in warning for warning in parsed.warnings)


def test_recovery_that_loses_text_is_reported() -> None:
    """A comment that is never closed swallows the rest of a page; the length comparison notices."""
    parsed = parse_document(b"<html><body><p>one</p><!-- " + b"many words here " * 20 + b"</body></html>")
    assert any("text may be lost" in warning for warning in parsed.warnings)


def test_self_closed_elements_do_not_swallow_a_broken_document() -> None:
    """In XHTML that needs recovery, ``<title/>`` and ``<a name="x"/>`` still end where they stand."""
    content = b'<html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head>'
    content += b'<body><h1><a name="k"/>One</h1><p>two<br></p></body></html>'
    blocks = to_blocks(parse_document(content).root)
    assert [(block.type, block.text, block.anchor) for block in blocks] == [("heading", "One", "k"), ("paragraph", "two", None)]


def test_capital_tags_are_tags() -> None:
    """Element and attribute names are read in any case."""
    assert texts(b'<HTML><BODY><P>one</P><P>two</P><PRE CLASS="language-BBj">x</PRE></BODY></HTML>') == ["one", "two", "x"]


def test_fragments_need_no_frame() -> None:
    """A fragment may be empty, begin with text, and close what it never opened."""
    assert to_blocks(parse_fragment("")) == ()
    assert [block.text for block in to_blocks(parse_fragment("one</div><p>two\0</b>"))] == ["one", "two"]
