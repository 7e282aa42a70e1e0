"""Hostile JSON: WordPress objects and JavaDoc packages with values of wrong types, and the hostile pages as their texts."""

from __future__ import annotations

import json
from typing import Any

from bbj_pipeline_tests.sources.hostile.builders import Builder
from bbj_pipeline_tests.sources.hostile.markup import MARKUP


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
        if "UTF-" not in name and "encoding" not in name and "10 MB" not in name
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
        if "UTF-" not in name and "encoding" not in name and "10 MB" not in name
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
