"""Mutations of real documents: flipped bits, cut and spliced files, hostile fragments between tokens, other encodings.

Pure functions of a ``random.Random`` and bytes; what is done with the result is not decided here.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["mutate", "mutate_json"]

_TOKEN = re.compile(rb"[A-Za-z_]+|\d+|\s+|[^\w\s]", re.A)
_ENCODINGS = (
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
_FRAGMENTS = {
    "flare": (*_COMMON, *_MARKUP),
    "web_crawl": (*_COMMON, *_MARKUP),
    "wordpress": (*_COMMON, *_MARKUP),
    "javadoc": (*_COMMON, *_MARKUP, b"/**", b"{@link ", b"{@code {", b"[Docs](", b"@param <x", b"\r\r[Docs](https://[)"),
    "mdx": (*_COMMON, *_MARKDOWN, *_MARKUP[:40]),
    "bbj_source": (*_COMMON, *_BBJ),
    "pdf": (*_COMMON, *_PDF),
}
_VALUES: tuple[Any, ...] = (
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


def mutate(rng: random.Random, content: bytes, others: Sequence[bytes], kind: str) -> bytes:
    """Return ``content`` changed in one to four ways; ``others`` are documents of the same kind to splice from."""
    for _ in range(rng.choice((1, 1, 2, 2, 3, 4))):
        content = rng.choice(_BYTE_MUTATIONS)(rng, content, others, kind)
    return content


def mutate_json(rng: random.Random, content: bytes, others: Sequence[bytes], kind: str) -> bytes:
    """Return a JSON document with values replaced, names lost or doubled, texts mutated; half the time mutate its bytes."""
    if rng.random() < 0.4:
        return mutate(rng, content, others, kind)
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return mutate(rng, content, others, kind)
    for _ in range(rng.randint(1, 6)):
        value = _change_value(rng, value, others, kind)
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.05:
        text = text.replace("{", '{"name": "twice", "content": 1, ', 1)
    if rng.random() < 0.03:
        text = text.replace(": ", ": " + "[" * (depth := rng.choice((50, 400, 900, 5000))), 1).replace(
            ", ", "]" * depth + ", ", 1
        )
    return text.encode("utf-8", "surrogatepass")


def _change_value(rng: random.Random, value: Any, others: Sequence[bytes], kind: str) -> Any:
    """Walk down to a random place and change what is there; containers on the way are changed in place."""
    holder: Any = None
    name: Any = None
    node = value
    while isinstance(node, dict | list) and node and (holder is None or rng.random() < 0.85):
        holder = node
        name = rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
        node = node[name]
    if holder is None:
        return copy.deepcopy(rng.choice(_VALUES))
    choice = rng.random()
    if isinstance(node, str) and choice < 0.6:
        text = mutate(rng, node.encode("utf-8", "replace"), others, kind).decode("utf-8", "surrogateescape")
        holder[name] = text
    elif choice < 0.7:
        del holder[name]
    elif choice < 0.8 and isinstance(holder, list):
        holder.extend(copy.deepcopy(node) for _ in range(rng.randint(1, 3)))
    else:
        holder[name] = copy.deepcopy(rng.choice(_VALUES))
    return value


def _flip(rng: random.Random, content: bytes, others: Sequence[bytes], kind: str) -> bytes:
    data = bytearray(content)
    for _ in range(rng.randint(1, 24) if data else 0):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def _truncate(rng: random.Random, content: bytes, others: Sequence[bytes], kind: str) -> bytes:
    return content[: rng.randint(0, len(content))] if rng.random() < 0.7 else content[rng.randint(0, len(content)) :]


def _splice(rng: random.Random, content: bytes, others: Sequence[bytes], kind: str) -> bytes:
    other = rng.choice(others)
    return content[: rng.randint(0, len(content))] + other[rng.randint(0, len(other)) :]


def _repeat(rng: random.Random, content: bytes, others: Sequence[bytes], kind: str) -> bytes:
    start = rng.randint(0, len(content))
    end = min(len(content), start + rng.choice((1, 5, 40, 300)))
    return content[:end] + content[start:end] * rng.choice((1, 10, 200)) + content[end:]


def _cut(rng: random.Random, content: bytes, others: Sequence[bytes], kind: str) -> bytes:
    start = rng.randint(0, len(content))
    return content[:start] + content[start + rng.choice((1, 2, 10, 200)) :]


def _insert(rng: random.Random, content: bytes, others: Sequence[bytes], kind: str) -> bytes:
    for _ in range(rng.randint(1, 6)):
        at = rng.randint(0, len(content))
        content = content[:at] + rng.choice(_FRAGMENTS[kind]) + content[at:]
    return content


def _tokens(rng: random.Random, content: bytes, others: Sequence[bytes], kind: str) -> bytes:
    """Swap, drop, double and replace whole tokens in a window: far more often well-formed than flipped bits."""
    start = rng.randint(0, len(content))
    tokens = _TOKEN.findall(content[start : start + 4000])
    if not tokens:
        return content
    for _ in range(rng.randint(1, 20)):
        at = rng.randrange(len(tokens))
        change = rng.randrange(4)
        if change == 0:
            other = rng.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif change == 1:
            tokens[at] = b""
        elif change == 2:
            tokens[at] *= 2
        else:
            tokens[at] = rng.choice(_FRAGMENTS[kind])
    return content[:start] + b"".join(tokens) + content[start + 4000 :]


def _encode(rng: random.Random, content: bytes, others: Sequence[bytes], kind: str) -> bytes:
    text = content.decode("utf-8", "replace")
    return text.encode(rng.choice(_ENCODINGS), "replace")


_BYTE_MUTATIONS: tuple[Callable[[random.Random, bytes, Sequence[bytes], str], bytes], ...] = (
    *(_flip, _truncate, _splice, _repeat, _cut, _insert, _insert, _tokens, _tokens, _encode),
)
