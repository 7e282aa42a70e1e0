"""Hostile documents by kind, made here and small to write down; what must come of them is asserted in the tests.

A builder returns the bytes of one document, or a ``(content, resources)`` pair where other files decide how it reads.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from typing import Any

Built = bytes | tuple[bytes, Mapping[str, bytes]]
Builder = Callable[[], Built]

BIG_LINE = 50 * 1024**2
DEEP = 10_000
MADCAP = 'xmlns:MadCap="http://www.madcapsoftware.com/Schemas/MadCap.xsd"'


def page(body: str, head: str = "", doctype: str = "") -> bytes:
    return f"{doctype}<html {MADCAP}><head>{head}<title>T</title></head><body><p>kept</p>{body}</body></html>".encode()


def _laughs() -> str:
    rows = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    return f'<?xml version="1.0"?><!DOCTYPE html [<!ENTITY l0 "ha">{rows}]>'


MARKUP: dict[str, Builder] = {
    "billion laughs": lambda: page("<p>&l11;</p>", doctype=_laughs()),
    "billion laughs in an attribute": lambda: page('<p title="&l11;">x</p>', doctype=_laughs()),
    "doctype with a bracket in quotes": lambda: page(
        "<p>&a;</p>", doctype='<!DOCTYPE html [<!ENTITY a "]>"><!ENTITY b "&a;">]>'
    ),
    "10,000 doctypes": lambda: page("", doctype="<!DOCTYPE html>" * DEEP),
    "comment without end": lambda: page("<!--" * 100_000),
    "nested elements": lambda: page("<div>" * DEEP + "x" + "</div>" * DEEP),
    "nested elements without end": lambda: page("<b>" * 100_000 + "x"),
    "nested lists": lambda: page("<ul><li>" * DEEP + "x"),
    "nested block quotes": lambda: page("<blockquote>" * 1_500 + "x" + "</blockquote>" * 1_500),
    "nested tables": lambda: page("<table><tr><td>a</td><td>" * 600 + "x" + "</td></tr></table>" * 600),
    "nested headings": lambda: page("<h1>" * 1_500 + "x"),
    "nested tabs": lambda: page("<div role='tablist'><div role='tab'>" * 700 + "x" * 100_000),
    "nested code": lambda: page("<pre><code>" * 700 + "x" * 100_000),
    "huge spans": lambda: page("<table>" + '<tr><td colspan="99999" rowspan="99999">x</td><td>y</td></tr>' * 800 + "</table>"),
    "one wide row over many narrow ones": lambda: page(
        "<table><tr>" + "<td>w</td>" * 1_500 + "</tr>" + "<tr><td>n</td></tr>" * 1_500 + "</table>"
    ),
    "a million attributes": lambda: page("<p " + " ".join(f"a{n}='1'" for n in range(1_000_000)) + ">x</p>"),
    "attributes without space": lambda: page("<p " + "".join(f'a{n}=""' for n in range(100_000)) + ">x</p><br>"),
    "attributes by slashes": lambda: page("<p/" + "/".join(f"a{n}" for n in range(100_000)) + ">x</p><br>"),
    "attributes behind a bracket in quotes": lambda: page(
        "<p x='>' " + " ".join(f"a{n}" for n in range(100_000)) + ">x</p><br>"
    ),
    "attributes behind an opening bracket": lambda: page(
        "<p x='<' " + " ".join(f"a{n}" for n in range(100_000)) + ">x</p><br>"
    ),
    "a name of a megabyte": lambda: page("<" + "a" * 1_000_000 + ">x"),
    "a class of a megabyte": lambda: page("<p class='" + "Code " * 200_000 + "'>x</p>"),
    "one line of 50 MB": lambda: page("<p>" + "word " * (BIG_LINE // 5) + "</p>"),
    "one word of 20 MB": lambda: page("<p>" + "w" * (20 * 1024**2) + "</p>"),
    "base64 of 200,000 characters": lambda: page('<img src="data:image/png;base64,' + "A" * 200_000 + '"/>'),
    "zero bytes": lambda: page("<p>a\0b</p>"),
    "lone surrogates": lambda: page("<p>&#xD800; &#55357;</p>") + b"\xed\xa0\x80",
    "invalid UTF-8": lambda: page("<p>caf") + b"\xe9\xff\xfe</p>",
    "UTF-16 of an odd length": lambda: b"\xff\xfe" + page("").decode().encode("utf-16-le") + b"x",
    "UTF-16 with half a pair": lambda: b"\xff\xfe" + page("").decode().encode("utf-16-le") + b"\x00\xd8",
    "UTF-32": lambda: page("").decode().encode("utf-32"),
    **{
        f"encoding {label}": (lambda label=label: page("<p>\u00e9</p>", head=f"<meta charset='{label}'>") + b"\xff")
        for label in ("hex", "zlib", "rot13", "idna", "punycode", "undefined", "unicode_escape", "utf-7", "utf-16", "x" * 500)
    },
    "character references out of range": lambda: page("<p>&#0; &#x110000; &#99999999999999999999; &#xFFFE;</p>"),
    "a processing instruction without end": lambda: page("<?" * 50_000),
    "CDATA without end": lambda: page("<![CDATA[" * 50_000),
    "plaintext": lambda: page("<plaintext>" * 1_000 + "x"),
    "a frameset": lambda: page("<frameset><frame src='file:///etc/passwd'></frameset>"),
    "script without end": lambda: page("<script>" * 20_000),
    "removed siblings with texts": lambda: page("<p>" + "<MadCap:keyword term='x'/>abcdefgh" * 60_000 + "</p>"),
    "a hundred thousand links": lambda: page("<a href='http://[x'>y</a>" * 100_000),
    "a deep title": lambda: page("", head="<title>" + "<b>" * 5_000 + "</title>"),
    "only a head": lambda: b"<html><head>" + b"<meta name='a'>" * 50_000,
}


def _snippets(depth: int, width: int) -> Built:
    uses = "<MadCap:snippetBlock src='s{}.flsnp'/>"
    files = {f"s{n}.flsnp": page(uses.format(n + 1) * width) for n in range(depth)} | {f"s{depth}.flsnp": page("<p>end</p>")}
    return page(uses.format(0)), files


def _variables() -> Built:
    chain = "".join(f'<Variable Name="v{n}" EvaluatedDefinition="{f"[%=V.v{n - 1}%]" * 10}"/>' for n in range(1, 30))
    variables = f'<CatapultVariableSet><Variable Name="v0" EvaluatedDefinition="ha"/>{chain}</CatapultVariableSet>'
    return page('<MadCap:variable name="V.v29"/>'), {"V.flvar": variables.encode()}


FLARE: dict[str, Builder] = {
    **MARKUP,
    "snippets that use each other twice": lambda: _snippets(30, 2),
    "a snippet that uses itself": lambda: (
        page("<MadCap:snippetBlock src='s.flsnp'/>"),
        {"s.flsnp": page("<MadCap:snippetBlock src='s.flsnp'/>" * 100)},
    ),
    "variables that use each other ten times": _variables,
    "excluded siblings": lambda: page("<p>" + "<span MadCap:conditions='Default.X'>n</span>yes " * 60_000 + "</p>"),
    "nested drop-downs": lambda: page("<MadCap:dropDown><MadCap:dropDownBody>" * 900 + "x"),
}


def post(**fields: Any) -> bytes:
    whole: dict[str, Any] = {
        "id": 1, "type": "post", "status": "publish", "link": "https://example.org/1", "slug": "one",
        "title": {"rendered": "T"}, "content": {"rendered": "<p>kept</p>"}, "categories": [1], "tags": [],
    }  # fmt: skip
    return json.dumps(whole | fields).encode()


WRONG: tuple[Any, ...] = (
    *(None, True, False, -1, 10**30, 1.5, "", "\ud800\0", [], {}, [[]], [None], [{"id": 1}], {"rendered": 5}),
    *({"rendered": ["x"]}, {"": {}}, "http://[x", "9999-99-99T00:00:00"),
)
WORDPRESS: dict[str, Builder] = {
    **{
        name: (lambda build=build: post(content={"rendered": build().decode("utf-8", "surrogateescape")}))  # type: ignore[union-attr,misc]
        for name, build in MARKUP.items()
        if "UTF-" not in name and "encoding" not in name and "50 MB" not in name
    },
    **{
        f"{field} is {number}": (lambda field=field, value=value: post(**{field: value}))
        for field in (
            "id",
            "type",
            "status",
            "link",
            "slug",
            "title",
            "content",
            "categories",
            "tags",
            "modified_gmt",
            "protected",
        )
        for number, value in enumerate(WRONG)
    },
    "deep JSON": lambda: b'{"content": ' + b"[" * 100_000,
    "a status of 5,000 letters": lambda: post(status="x" * 5_000),
    "deep JSON in a field": lambda: post()[:-1] + b', "x": ' + b"[" * 900 + b"]" * 900 + b"}",
    "deep type": lambda: post()[:-1] + b', "type": ' + b"[" * 900 + b"]" * 900 + b"}",
    "a number of 100,000 digits": lambda: post()[:-1] + b', "x": ' + b"9" * 100_000 + b"}",
    "names twice": lambda: post()[:-1] + b', "title": 1, "title": {"rendered": "second"}}',
    "not JSON": lambda: b"<html>",
    "half a pair": lambda: post(title={"rendered": "\ud800"}, slug="\ud800", link="https://example.org/\ud800", type="\ud83d"),
    "shortcodes without end": lambda: post(content={"rendered": "<p>kept " + "[caption id='x' " * 20_000 + "</p>"}),
    "code shortcodes without end": lambda: post(content={"rendered": "<p>kept " + "[code]" * 20_000 + "[/code]</p>"}),
    "code shortcodes without beginning": lambda: post(content={"rendered": "<p>kept " + "[/code]" * 20_000 + "</p>"}),
    "Word conditions without end": lambda: post(content={"rendered": "<p>kept " + "&lt;!--[if mso]&gt;" * 10_000 + "</p>"}),
    "Word conditions without bracket": lambda: post(
        content={"rendered": "<p>kept " + "&lt;!--[if mso " * 10_000 + "<![if mso" * 9_000}
    ),
    "zero bytes as names": lambda: post(title={"rendered": "\0"}, slug="\0", content={"rendered": "<p>kept\0</p>"}),
    "pre without end": lambda: post(content={"rendered": "<p>kept</p>" + "<pre>[/code]" * 20_000}),
}


def package(**fields: Any) -> bytes:
    whole: dict[str, Any] = {"name": "p", "classes": [{"name": "C", "docu": "kept", "methods": []}]}
    return json.dumps(whole | fields).encode()


def described(docu: str) -> bytes:
    return package(classes=[{"name": "C", "docu": docu, "methods": [{"name": "m", "docu": docu, "params": []}]}])


JAVADOC: dict[str, Builder] = {
    **{
        name: (lambda build=build: package(classes=[{"name": "C", "docu": build().decode("utf-8", "surrogateescape")}]))  # type: ignore[union-attr,misc]
        for name, build in MARKUP.items()
        if "UTF-" not in name and "encoding" not in name and "50 MB" not in name
    },
    **{f"classes is {number}": (lambda value=value: package(classes=value)) for number, value in enumerate(WRONG)},
    **{f"name is {number}": (lambda value=value: package(name=value)) for number, value in enumerate(WRONG)},
    **{f"docu is {number}": (lambda value=value: package(docu=value)) for number, value in enumerate(WRONG)},
    **{
        f"{field} of a class is {number}": (lambda field=field, value=value: package(classes=[{"name": "C", field: value}]))
        for field in ("name", "docu", "fields", "constructors", "methods")
        for number, value in enumerate(WRONG)
    },
    **{
        f"params is {number}": (
            lambda value=value: package(classes=[{"name": "C", "methods": [{"name": "m", "params": value}]}])
        )
        for number, value in enumerate(WRONG)
    },
    "deep JSON": lambda: b'{"name": "p", "classes": ' + b"[" * 100_000,
    "deep JSON in a field": lambda: package()[:-1] + b', "x": ' + b"[" * 900 + b"]" * 900 + b"}",
    "a number of 100,000 digits": lambda: package()[:-1] + b', "x": ' + b"9" * 100_000 + b"}",
    "half a pair": lambda: package(name="p\ud800", classes=[{"name": "C\udfff", "docu": "\ud83d x"}]),
    "100,000 classes of one name": lambda: package(classes=[{"name": "C"}] * 100_000),
    "asterisks without end": lambda: described("/**" + "*" * 300_000),
    "link tag and spaces": lambda: described("/** {@link a" + " " * 300_000 + "*/"),
    "code tag and spaces": lambda: described("/** {@code" + " " * 300_000 + "*/"),
    "braces": lambda: described("/** " + "{@code {" * 50_000 + "*/"),
    "docs links": lambda: described("[Docs](" * 100_000),
    "docs link and spaces": lambda: described("kept [Docs](" + " " * 300_000),
    "zero bytes as names": lambda: package(name="\0", classes=[{"name": "\0"}, {"name": "C\0"}, {"name": "C"}]),
    "deprecated": lambda: described("kept this " * 100_000),
}
MDX: dict[str, Builder] = {
    "brackets": lambda: b"kept " + b"[" * DEEP,
    "image brackets": lambda: b"kept " + b"![" * DEEP,
    "closed brackets": lambda: b"kept " + b"[" * DEEP + b"x" + b"](y)" * DEEP,
    "parentheses": lambda: b"kept [x](" + b"(" * DEEP,
    "block quotes": lambda: b"kept\n\n" + b"> " * DEEP + b"x",
    "nested lists": lambda: b"kept\n\n" + b"- " * DEEP + b"x",
    "indented lists": lambda: b"kept\n\n" + b"".join(b" " * (2 * n) + b"- x\n" for n in range(400)),
    "emphasis": lambda: b"kept " + b"*a _b " * DEEP,
    "closed emphasis": lambda: b"kept " + b"*" * DEEP + b"a" + b"*" * DEEP,
    "back-ticks": lambda: b"kept " + b" ".join(b"`" * (n % 300 + 1) for n in range(3_000)),
    "angle brackets": lambda: b"kept " + b"<" * 50_000,
    "jsx": lambda: b"kept\n\n" + b"<A>" * DEEP + b"\n",
    "jsx on lines": lambda: b"kept\n\n" + b"<A>\n" * DEEP,
    "jsx attributes": lambda: b"kept <A " + b"b={{{{" * DEEP,
    "jsx expressions": lambda: b"kept " + b"{" * DEEP,
    "jsx expressions on lines": lambda: b"kept\n\n" + b"{\n" * DEEP,
    "jsx strings": lambda: b"kept " + b"{'" * DEEP,
    "tabs": lambda: b"kept\n\n" + b"<Tabs><TabItem label='a'>\n\n" * 2_000,
    "admonitions": lambda: b"kept\n\n" + b":::tip\n" * DEEP,
    "comments": lambda: b"kept\n\n" + b"<!--\n" * DEEP,
    "fences": lambda: b"kept\n\n" + b"".join(b"`" * (3 + n % 50) + b"\n" for n in range(5_000)),
    "references": lambda: b"kept\n\n" + b"".join(b"[a%d]: b\n" % n for n in range(5_000)) + b"[a1]" * 5_000,
    "headings": lambda: b"kept\n\n" + b"# a\n" * DEEP,
    "a heading id that is not NFC": lambda: b"# kept {#e\xcc\x81}\n\n<h2 id='e\xcc\x81'>x</h2>\n",
    "headings of one id": lambda: b"kept\n\n" + b"# a {#x}\n" * DEEP,
    "table columns": lambda: b"kept\n\n" + b"|a" * 3_000 + b"|\n" + b"|-" * 3_000 + b"|\n" + b"|b|\n" * 1_500,
    "table pipes": lambda: b"kept\n\n|a|\n|-|\n" + b"|" * 100_000 + b"\n",
    "entities": lambda: b"kept " + b"&#xD800; &#0; &#99999999;" * 2_000,
    "links": lambda: b"kept " + b"http://a.b/" * 5_000,
    "autolinks": lambda: b"kept " + b"<http://" * DEEP,
    "html attributes": lambda: b"kept\n\n<p " + b" ".join(b"a%d" % n for n in range(50_000)) + b">x</p>",
    "imports": lambda: b"import X from './_x.mdx'\n" * 5_000 + b"\nkept\n",
    "imports without end": lambda: b"import {\n" * 5_000 + b"\nkept\n",
    "exports without end": lambda: b"export const x = {\n" * 3_000 + b"\nkept\n",
    "one line of 50 MB": lambda: b"kept " + b"word " * (BIG_LINE // 5),
    "one line of base64": lambda: b"kept ![x](data:image/png;base64," + b"A" * 200_000 + b")",
    "base64 as a reference": lambda: b"kept ![x][y]\n\n[y]: data:image/png;base64," + b"A" * 200_000,
    "zero bytes": lambda: b"kept \0 a",
    "only zero bytes": lambda: b"\0" * 100_000,
    "invalid UTF-8": lambda: b"kept \xff\xfe\xed\xa0\x80",
    "UTF-16 of an odd length": lambda: b"\xff\xfek\0e\0p\0t\0\0\xd8x",
    "tabulators": lambda: b"kept\n\n" + b"\t" * 100_000 + b"x",
    "empty lines": lambda: b"kept" + b"\n" * 1_000_000,
    "yaml anchors": lambda: (
        b"---\na0: &a0 [x]\n"
        + b"".join(b"a%d: &a%d [%s]\n" % (n, n, b",".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 12))
        + b"keywords: *a11\n---\nkept\n"
    ),
    "yaml merges": lambda: (
        b"---\na0: &a0 {x: 1}\n"
        + b"".join(b"a%d: &a%d {<<: [%s]}\n" % (n, n, b",".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 12))
        + b"---\nkept\n"
    ),
    "yaml that refers to itself": lambda: b"---\ntitle: &a [*a]\nkeywords: *a\n---\nkept\n",
    "yaml nests": lambda: b"---\ntitle: " + b"[" * 8_000 + b"\n---\nkept\n",
    "yaml nests in maps": lambda: b"---\n" + b"? " * 4_000 + b"\n---\nkept\n",
    "yaml numbers": lambda: (
        b"---\ntitle: 0x" + b"f" * 6_000 + b"\nslug: 0x" + b"f" * 6_000 + b"\nsince_version: .inf\n---\nkept\n"
    ),
    "yaml dates": lambda: b"---\ndate: 2001-02-30\n---\nkept\n",
    "yaml tags": lambda: b"---\ntitle: !!python/object/apply:os.system [id]\n---\nkept\n",
    "yaml half pairs": lambda: b'---\ntitle: "\\ud800"\nslug: "\\ud800"\nid: "\\udfff"\n"\\ud800": x\n---\nkept\n',
    "yaml zero": lambda: b'---\ntitle: "a\\0b"\nkeywords: ["\\0"]\n---\nkept\n',
    "yaml names": lambda: b"---\n1: a\nnull: b\n[x]: c\n---\nkept\n",
    "front matter of 10 MB": lambda: b"---\n" + b"a: b\n" * 2_000_000 + b"---\nkept\n",
    "front matter without end": lambda: b"---\n" + b"---x\n" * 100_000,
}
BBJ: dict[str, Builder] = {
    "string without end": lambda: b'rem kept\na$="' + b"x" * 1_000_000,
    "quotes": lambda: b"rem kept\na$=" + b'"' * 1_000_001,
    "mnemonics without end": lambda: b"rem kept\nprint " + b"'" * 1_000_001,
    "classes without end": lambda: b"class public A\n" * 20_000,
    "methods without end": lambda: b"class public A\n" + b"method public void x()\n" * 20_000,
    "functions without end": lambda: b"def fnx(a,\n" * 20_000,
    "parameters without end": lambda: b"def fnx(" + b"a," * 500_000,
    "method words": lambda: b"class public A\nmethod " + b"a " * 300_000,
    "labels": lambda: b"".join(b"l%d:\n" % n for n in range(20_000)),
    "labels on one line": lambda: b"rem kept\n" + b"a:" * 300_000,
    "statements on one line": lambda: b"rem kept\n" + b"a=1;" * 250_000,
    "continuations": lambda: b"rem kept\n" + b":\n" * 300_000,
    "line numbers": lambda: b"".join(b"%07d rem kept\n" % n for n in range(40_000)),
    "the same line number": lambda: b"0010 gosub 0010\n" * 40_000,
    "a line number of 5,000 digits": lambda: b"rem kept\ngoto " + b"9" * 5_000 + b"\n" + b"8" * 5_000 + b" rem x\n",
    "jump lists": lambda: b"rem kept\ngosub " + b"1," * 300_000,
    "comment and spaces": lambda: b"rem a" + b" " * 300_000 + b"b\nprint 1\n",
    "comment and dashes": lambda: b"rem a" + b"-" * 300_000 + b"b\nprint 1\n",
    "comment and stars": lambda: b"rem /** a " + b"*" * 300_000 + b" b\nprint 1\n",
    "comment without end": lambda: b"rem /**\n" + b"rem * a\n" * 40_000,
    "block comment without end": lambda: b"rem /**\n" + b" * a\n" * 40_000,
    "callpoints": lambda: b"[[A.B]]\nprint 1\n" * 20_000,
    "brackets": lambda: b"rem kept\n[[" + b"[" * 300_000,
    "parentheses": lambda: b"rem kept\na=" + b"(" * 300_000,
    "one line of 50 MB": lambda: b"rem kept\nprint " + b"a1," * (BIG_LINE // 3),
    "one comment of 50 MB": lambda: b"rem " + b"word " * (BIG_LINE // 5),
    "bytes that are no UTF-8": lambda: b"rem kept \xe9\n" + b"rem \xe9 word\n" * 200_000,
    "zero bytes": lambda: b"rem kept\0",
    "control characters": lambda: b"\x01\x02\x03" * 1_000,
    "tokenised": lambda: b"<<bbj>>" + bytes(range(256)),
    "UTF-16 of an odd length": lambda: b"\xff\xfer\0e\0m\0 \0x\0\0\xd8x",
    "uses": lambda: b"use ::a::" * 100_000,
}


def pdf(*objects: str | bytes, trailer: str = "") -> bytes:
    """Return a PDF of objects numbered from 1; the first one is the catalogue."""
    out = b"%PDF-1.7\n"
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        body = content if isinstance(content, bytes) else content.encode("latin-1")
        out += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n".encode()


def stream(content: bytes, extra: str = "") -> bytes:
    return f"<< /Length {len(content)} {extra} >>\nstream\n".encode() + content + b"\nendstream"


CATALOGUE = "<< /Type /Catalog /Pages 2 0 R >>"
PAGES = "<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
PAGE = (
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
    " /Resources << /Font << /F1 5 0 R >> /XObject << /X 6 0 R >> >> >>"
)
FONT = "<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>"
TEXT = b"BT /F1 12 Tf 72 700 Td (kept) Tj ET "


def one_page(content: bytes, extra: str = "", form: bytes | str = "null", page_object: str = PAGE, font: str = FONT) -> bytes:
    return pdf(CATALOGUE, PAGES, page_object, stream(content, extra), font, form)


def _deflated(times: int, size: int) -> bytes:
    content = b"\0" * size
    for _ in range(times):
        content = zlib.compress(content, 9)
    return content


PDF: dict[str, Builder] = {
    "a sound one": lambda: one_page(TEXT),
    "a page tree that is its own child": lambda: pdf(CATALOGUE, "<< /Type /Pages /Kids [2 0 R] /Count 1 >>"),
    "a page tree in a circle": lambda: pdf(
        CATALOGUE,
        "<< /Type /Pages /Kids [3 0 R 3 0 R] /Count 2 >>",
        "<< /Type /Pages /Parent 2 0 R /Kids [2 0 R 2 0 R] /Count 2 >>",
    ),
    "a page tree that doubles at every level": lambda: pdf(
        CATALOGUE,
        *(f"<< /Type /Pages /Kids [{n + 1} 0 R {n + 1} 0 R] /Count 2 >>" for n in range(2, 40)),
        "<< /Type /Page /MediaBox [0 0 1 1] >>",
    ),
    "a billion pages declared": lambda: pdf(
        CATALOGUE, "<< /Type /Pages /Kids [3 0 R] /Count 1000000000 >>", PAGE, stream(TEXT), FONT, "null"
    ),
    "an object that is itself": lambda: pdf(CATALOGUE, PAGES, "3 0 R"),
    "a length that is itself": lambda: pdf(
        CATALOGUE, PAGES, PAGE, b"<< /Length 4 0 R >>\nstream\nBT ET\nendstream", FONT, "null"
    ),
    "a Flate bomb": lambda: one_page(_deflated(1, 1024**3 // 2), "/Filter /FlateDecode"),
    "a Flate bomb in a Flate bomb": lambda: one_page(_deflated(2, 1024**3 // 4), "/Filter [/FlateDecode /FlateDecode]"),
    "an LZW stream of noise": lambda: one_page(bytes(range(256)) * 4_000, "/Filter /LZWDecode"),
    "a run-length bomb": lambda: one_page(b"\x81a" * 1_000_000, "/Filter /RunLengthDecode"),
    "a JBIG2 stream as content": lambda: one_page(b"\xff" * 1_000, "/Filter /JBIG2Decode"),
    "a predictor of a billion columns": lambda: one_page(
        zlib.compress(b"\2" * 1_000), "/Filter /FlateDecode /DecodeParms << /Predictor 15 /Columns 999999999 >>"
    ),
    "forms that draw themselves": lambda: one_page(
        TEXT + b"/X Do ",
        form=stream(TEXT + b"/X Do " * 50, "/Type /XObject /Subtype /Form /Resources << /XObject << /X 6 0 R >> >>"),
    ),
    "nested arrays": lambda: one_page(TEXT + b"[" * 100_000),
    "nested dictionaries": lambda: pdf(CATALOGUE, PAGES, PAGE, stream(TEXT), "<< /A " * DEEP + ">>" * DEEP, "null"),
    "numbers without measure": lambda: one_page(
        b"BT /F1 1e38 Tf 1e38 0 0 1e38 1e38 1e38 Tm (kept) Tj 99999999999999999999999999 0 Td (more) Tj ET"
    ),
    "a matrix of zeros": lambda: one_page(b"0 0 0 0 0 0 cm " + TEXT),
    "a page without measure": lambda: one_page(
        TEXT, page_object=PAGE.replace("[0 0 612 792]", "[0 0 " + "9" * 400 + " -" + "9" * 400 + "]")
    ),
    "a page of no size": lambda: one_page(TEXT, page_object=PAGE.replace("[0 0 612 792]", "[0 0 0 0]")),
    "a page box of the wrong type": lambda: one_page(TEXT, page_object=PAGE.replace("[0 0 612 792]", "(x)")),
    "font widths of the wrong type": lambda: one_page(
        TEXT, font="<< /Type /Font /Subtype /TrueType /BaseFont /X /FirstChar (a) /Widths [null (x) 1e30] >>"
    ),
    "a ToUnicode map without measure": lambda: pdf(
        CATALOGUE,
        PAGES,
        PAGE,
        stream(TEXT),
        "<< /Type /Font /Subtype /Type0 /BaseFont /X /ToUnicode 6 0 R >>",
        stream(b"1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfrange <00000000> <ffffffff> <0000> endbfrange"),
    ),
    "zero bytes and half pairs": lambda: one_page(b"BT /F1 12 Tf 72 700 Td (a\\000b kept \\377\\376\\330\\000) Tj ET"),
    "a hundred thousand texts": lambda: one_page(b"BT /F1 12 Tf 72 700 Td " + b"(kept) Tj 0 -1 Td " * 60_000 + b"ET"),
    "an outline in a circle": lambda: pdf(
        "<< /Type /Catalog /Pages 2 0 R /Outlines 6 0 R >>",
        PAGES,
        PAGE,
        stream(TEXT),
        FONT,
        "<< /First 7 0 R /Last 7 0 R >>",
        "<< /Title (x) /Dest [3 0 R /Fit] /Next 7 0 R /First 6 0 R >>",
    ),
    "a cross-reference in a circle": lambda: pdf(CATALOGUE, PAGES, PAGE, stream(TEXT), FONT, "null", trailer="/Prev 9"),
    "encrypted by nonsense": lambda: pdf(
        CATALOGUE, PAGES, PAGE, stream(TEXT), FONT, "null", trailer="/Encrypt << /Filter /X /V 99 >>"
    ),
    "no root": lambda: pdf("null"),
    "a header alone": lambda: b"%PDF-1.7",
    "empty": lambda: b"",
    "10 MB of nothing": lambda: b"%PDF-1.7\n" + b"\0" * 10_000_000,
    "10 MB of object headers": lambda: b"%PDF-1.7\n" + b"1 0 obj\n" * 1_000_000,
}
DOCUMENTS: dict[str, dict[str, Builder]] = {
    "flare": FLARE, "web_crawl": MARKUP, "wordpress": WORDPRESS, "javadoc": JAVADOC, "mdx": MDX, "bbj_source": BBJ, "pdf": PDF,
}  # fmt: skip
KEYS = {
    "flare": "a.htm",
    "web_crawl": "a.html",
    "wordpress": "1",
    "javadoc": "p.json",
    "mdx": "a.mdx",
    "bbj_source": "a.bbj",
    "pdf": "a.pdf",
}
