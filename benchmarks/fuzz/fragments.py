"""The hostile fragments, encodings and JSON values that mutations put into documents. Constants only."""

from __future__ import annotations

from typing import Any

__all__ = ["ENCODINGS", "FRAGMENTS", "VALUES"]

ENCODINGS = (
    *("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7", "cp1252", "cp1250", "cp437", "shift_jis"),
    *("iso2022_jp", "gb18030", "cp037"),
)
_LABELS = (
    *("hex", "base64", "rot13", "zlib", "idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "utf-7"),
    *("utf-16", "utf-8", "iso-8859-2", "x-user-defined", "nonsense", "aliases", "mbcs"),
)
_COMMON = (
    *(b"\0", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xff\xfe", b"\r", b"\r\n", b"\t", b"\x1a", b"\x1e", b"\x0c", b"\x7f"),
    *(b"e\xcc\x81", b"\xe2\x84\xab", b"\xe2\x80\x8b", b"\xe2\x80\xae", b"\xc2\xa0", b"\xf0\x9f\x92\xa9", b"-1", b"0"),
    *(b"9" * 5000, b"1e999", b"99999999999999999999", b"A" * 3000, b" " * 3000, b"-" * 3000, b"*" * 3000, b"\n" * 300),
)
_MARKUP = (
    *(b"<table><tr><td rowspan=0 colspan=65535>", b"<td rowspan=99999>", b"</table>", b"<li>", b"</ul>", b"<ul><dl><dd>"),
    *(b"<pre>", b"</pre>", b"<code class='language-\xcc\x81x'>", b"<div>" * 300, b"<h1 id='e\xcc\x81'>", b"<h9>", b"</body>"),
    *(b"<!--", b"-->", b"<![CDATA[", b"]]>", b"<?xml version='1.0' encoding='utf-16'?>", b"<!DOCTYPE x [<!ENTITY a 'b'>]>"),
    *(b"&a;", b"&#0;", b"&#xD800;", b"&#1114112;", b"&nbsp;", b"&lt", b"<script>", b"<svg>", b"<template>", b"<a name='x'/>"),
    *(b"<MadCap:snippetBlock src='x.flsnp'/>", b"<MadCap:variable name='General.X'/>", b"<MadCap:keyword term=';;'/>"),
    *(b"<MadCap:dropDown><MadCap:dropDownBody>", b" MadCap:conditions='Default.X'", b"[%=General.X%]", b"<div role='tablist'>"),
    *(
        b"<div role='tab'>",
        b"<div role='tabpanel' hidden>",
        b"<html>",
        b"<frameset>",
        b"<plaintext>",
        b"<base href='http://[x'>",
    ),
    *(b"<link rel=canonical href='http://[x/'>", b"<time datetime='9999-99-99'>", b"<nav aria-label=breadcrumbs><li>"),
    *(f"<meta charset='{label}'>".encode() for label in _LABELS),
    *(f"<?xml version='1.0' encoding='{label}'?>".encode() for label in _LABELS),
    *(b"[caption id='x", b"[/code]", b"[code lang='x']", b"<!--[if gte mso 9]>", b"<![endif]-->", b"<p class='Code'>"),
)
_MARKDOWN = (
    *(
        b"```",
        b"````mdx\n",
        b"~~~",
        b"\n---\n",
        b"---\n",
        b"\n:::tip[x]\n",
        b"\n:::\n",
        b"::::",
        b"<Tabs values={[{label: 'A',",
    ),
    *(b"</Tabs>", b"<TabItem value='a' label={`x`}>", b"<>", b"</>", b"{", b"}", b"{/*", b"*/}", b"{'x'}", b"{`", b"<A b={{{{"),
    *(b"> " * 200, b"- " * 200, b"[" * 300, b"](" * 100, b"*" * 300, b"_a" * 100, b"![x](data:image/png;base64," + b"A" * 5000),
    *(b"\n| a | b |\n|---|---|\n| c \\| d |\n", b"\nimport X from './_x.mdx'\n", b"\nexport const x = {\n", b"<X/>", b"{#id}"),
    *(
        b"\n---\ntitle: &a [*a]\n---\n",
        b"title: 0x" + b"f" * 6000 + b"\n",
        b"since_version: .inf\n",
        b"slug: /../..\n",
        b"date: 2001-02-30\n",
    ),
    *(
        b"\n# ",
        b"\n===\n",
        b"\n[x]: y\n",
        b"\n    code\n",
        b"<!--",
        b"<details><summary>",
        b"<br>",
        b"\\",
        b"`",
        b"?> ",
        b"!> ",
    ),
)
_BBJ = (
    *(
        b"rem ",
        b"REM /**",
        b"*/",
        b"\n:",
        b"\n* ",
        b'"',
        b'""',
        b"'",
        b";",
        b"\n[[A.B]]\n",
        b"\nclass public X\n",
        b"\nclassend\n",
    ),
    *(
        b"\nmethod public void x(",
        b"\nmethodend\n",
        b"\ninterface public Y\n",
        b"\ndef fnx(",
        b"\nfnend\n",
        b"\n9999999 ",
        b"\nlabel:\n",
    ),
    *(
        b"\ngoto " + b"9" * 5000,
        b"\ngosub 1,2,3",
        b"err=" + b"8" * 5000,
        b"use ::x::",
        b"#include ",
        b"<<bbj>>",
        b"\n00010 REM",
        b"::",
    ),
)
_PDF = (
    *(
        b"/Length 999999999",
        b"/Length -1",
        b"/Type /Pages",
        b"/Kids [1 0 R 2 0 R 3 0 R]",
        b"/Count 1000000000",
        b"/Parent 1 0 R",
    ),
    *(
        b"/Filter [/FlateDecode /FlateDecode]",
        b"/Filter /JBIG2Decode",
        b"/Filter /DCTDecode",
        b"/Prev 0",
        b"/Root 1 0 R",
        b"endobj",
    ),
    *(
        b"/Predictor 15 /Columns 999999999",
        b"1 0 R",
        b"99 0 R",
        b"null",
        b"true",
        b"<<",
        b">>",
        b"[",
        b"]",
        b"(",
        b")",
        b"stream\n",
    ),
    *(
        b"endstream",
        b"xref",
        b"trailer",
        b"startxref\n0\n%%EOF",
        b"/Encrypt 1 0 R",
        b" Tj ",
        b" Tf ",
        b"BT ",
        b" ET ",
        b" Do ",
        b"q ",
    ),
    *(
        b"1e30 0 0 1e30 1e30 1e30 Tm ",
        b"nan",
        b"0 0 0 0 0 0 cm ",
        b" -1e300 0 Td ",
        b"/MediaBox [0 0 1e400 nan]",
        b"/Rotate 45 ",
    ),
    *(b"/MediaBox [0 0 0 0]", b"/Widths [1e300 -5 null (x)]", b"/FirstChar -7", b"/ToUnicode 5 0 R", b"[(a) 1e40 (b)] TJ "),
)
FRAGMENTS = {
    "flare": (*_COMMON, *_MARKUP),
    "web_crawl": (*_COMMON, *_MARKUP),
    "wordpress": (*_COMMON, *_MARKUP),
    "javadoc": (*_COMMON, *_MARKUP, b"/**", b"{@link ", b"{@code {", b"[Docs](", b"@param <x", b"\r\r[Docs](https://[)"),
    "mdx": (*_COMMON, *_MARKDOWN, *_MARKUP[:40]),
    "bbj_source": (*_COMMON, *_BBJ),
    "pdf": (*_COMMON, *_PDF),
}
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 10**30, 10**400, 1.5, float("nan"), float("inf"), "", " ", "\ud800", "\0", "e\u0301", [], {}),
    *(
        [[]],
        [None],
        {"rendered": None},
        {"rendered": ["x"]},
        {"rendered": "<p>x", "protected": True},
        {"name": None},
        "http://[x",
    ),
    *(
        [{"id": 1, "name": "x"}],
        "9999-99-99T99:99:99",
        "0000-00-00T00:00:00",
        "draft",
        "<p>a",
        "\u202e",
        {"": {"": ""}},
        "x" * 9000,
    ),
)
