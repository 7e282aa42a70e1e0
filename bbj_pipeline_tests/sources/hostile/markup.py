"""Hostile pages for every kind that reads HTML or XHTML, and those that only Flare's own elements make possible."""

from __future__ import annotations

from bbj_pipeline_tests.sources.hostile.builders import BIG, DEEP, Builder, Built, page


def _laughs() -> str:
    rows = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    return f'<?xml version="1.0"?><!DOCTYPE html [<!ENTITY l0 "ha">{rows}]>'


ENTITIES: dict[str, Builder] = {
    "billion laughs": lambda: page("<p>&l11;</p>", doctype=_laughs()),
    "billion laughs in an attribute": lambda: page('<p title="&l11;">x</p>', doctype=_laughs()),
    "quadratic blow-up": lambda: page("<p>" + "&a;" * 50_000 + "</p>", doctype=f'<!DOCTYPE r [<!ENTITY a "{"a" * 50_000}">]>'),
    "doctype with a bracket in quotes": lambda: page(
        "<p>&a;</p>", doctype='<!DOCTYPE html [<!ENTITY a "]>"><!ENTITY b "&a;">]>'
    ),
    "an external entity": lambda: page("<p>&x;</p>", doctype='<!DOCTYPE html [<!ENTITY x SYSTEM "file:///etc/passwd">]>'),
    "an external parameter entity": lambda: page(
        "<p>x</p>", doctype='<!DOCTYPE html [<!ENTITY % x SYSTEM "http://127.0.0.1:9/x.dtd"> %x;]>'
    ),
}
"""Documents that bring entities of their own; all are refused."""

MARKUP: dict[str, Builder] = {
    **ENTITIES,
    "doctypes without end": lambda: page("<p>" + "<!DOCTYPE html [" * 50_000 + "<!ENTITY"),
    "a doctype of quotes": lambda: page("", doctype="<!DOCTYPE html [" + "\"'" * 100_000),
    "brackets in quotes without end": lambda: page("<p>" + '<a "' * 50_000 + "<br>"),
    "10,000 doctypes": lambda: page("", doctype="<!DOCTYPE html>" * DEEP),
    "comment without end": lambda: page("<!--" * 100_000),
    "nested elements": lambda: page("<div>" * DEEP + "x" + "</div>" * DEEP),
    "nested elements without end": lambda: page("<b>" * 100_000 + "x"),
    "nested lists": lambda: page("<ul><li>" * DEEP + "x"),
    "nested block quotes": lambda: page("<blockquote>" * 1_500 + "x" + "</blockquote>" * 1_500),
    "nested tables": lambda: page("<table><tr><td>a</td><td>" * 600 + "x" + "</td></tr></table>" * 600),
    "nested headings": lambda: page("<h1>" * 1_500 + "x"),
    "nested tabs": lambda: page("<div role='tablist'><div role='tab'>" * 400 + "x" * 50_000),
    "nested code": lambda: page("<pre><code>" * 400 + "x" * 50_000),
    "huge spans": lambda: page("<table>" + '<tr><td colspan="99999" rowspan="99999">x</td><td>y</td></tr>' * 400 + "</table>"),
    "one wide row over many narrow ones": lambda: page(
        "<table><tr>" + "<td>w</td>" * 1_500 + "</tr>" + "<tr><td>n</td></tr>" * 1_500 + "</table>"
    ),
    "200,000 attributes": lambda: page("<p " + " ".join(f"a{n}='1'" for n in range(200_000)) + ">x</p>"),
    "attributes without space": lambda: page("<p " + "".join(f'a{n}=""' for n in range(100_000)) + ">x</p><br>"),
    "attributes by slashes": lambda: page("<p/" + "/".join(f"a{n}" for n in range(100_000)) + ">x</p><br>"),
    "attributes behind a bracket in quotes": lambda: page(
        "<p x='>' " + " ".join(f"a{n}" for n in range(100_000)) + ">x</p><br>"
    ),
    "attributes behind an opening bracket": lambda: page(
        "<p x='<' " + " ".join(f"a{n}" for n in range(100_000)) + ">x</p><br>"
    ),
    "more tags than memory": lambda: page("<p>" * 3_000_000),
    "a name of a megabyte": lambda: page("<" + "a" * 1_000_000 + ">x"),
    "a class of a megabyte": lambda: page("<p class='" + "Code " * 200_000 + "'>x</p>"),
    "one line of 10 MB": lambda: page("<p>" + "word " * (BIG // 5) + "</p>"),
    "one word of 10 MB": lambda: page("<p>" + "w" * BIG + "</p>"),
    "base64 of 200,000 characters": lambda: page('<img src="data:image/png;base64,' + "A" * 200_000 + '"/>'),
    "zero bytes": lambda: page("<p>a\0b</p>"),
    "lone surrogates": lambda: page("<p>&#xD800; &#55357;</p>") + b"\xed\xa0\x80",
    "accents without end": lambda: page("<p>kept a" + "\u0300\u0316" * 100_000 + "</p>"),
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
    "removed siblings with texts": lambda: page("<p>" + "<MadCap:keyword term='x'/>abcdefgh" * 20_000 + "</p>"),
    "30,000 links": lambda: page("<a href='http://[x'>y</a>" * 30_000),
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
    "a snippet that declares entities": lambda: (
        page("<MadCap:snippetBlock src='s.flsnp'/>"),
        {"s.flsnp": page("<p>&l11;</p>", doctype=_laughs())},
    ),
    "a variable set that declares entities": lambda: (
        page('<MadCap:variable name="V.v"/>'),
        {"V.flvar": f'{_laughs()}<CatapultVariableSet><Variable Name="v">&l11;</Variable></CatapultVariableSet>'.encode()},
    ),
    "snippets that use each other twice": lambda: _snippets(30, 2),
    "a snippet that uses itself": lambda: (
        page("<MadCap:snippetBlock src='s.flsnp'/>"),
        {"s.flsnp": page("<MadCap:snippetBlock src='s.flsnp'/>" * 100)},
    ),
    "variables that use each other ten times": _variables,
    "excluded siblings": lambda: page("<p>" + "<span MadCap:conditions='Default.X'>n</span>yes " * 20_000 + "</p>"),
    "nested drop-downs": lambda: page("<MadCap:dropDown><MadCap:dropDownBody>" * 900 + "x"),
}
