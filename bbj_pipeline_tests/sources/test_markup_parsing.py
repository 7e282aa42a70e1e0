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


def test_entities_are_neither_expanded_nor_fetched(tmp_path) -> None:
    """Declared entities stay unexpanded, in text and attributes, and no file is read for them."""
    secret = tmp_path / "secret.txt"
    secret.write_text("hidden")
    content = (
        f'<?xml version="1.0"?><!DOCTYPE html [<!ENTITY a "ha"><!ENTITY x SYSTEM "{secret.as_uri()}">]>'
        '<html><body><p title="&a;">1 &a; &x; 2</p></body></html>'
    )
    assert texts(content.encode()) == ["1 &a; &x; 2"]


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
