"""Code over the window: whole functions, scope repeated around parts, lines never cut; checked by other means than ours."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

import pytest

from bbj_pipeline.records import Block
from bbj_pipeline.stages.chunking import chunk
from bbj_pipeline_tests.fakes import WordTokenizer
from bbj_pipeline_tests.stages.documents import make_doc
from benchmarks.chunk_checks import fences_are_balanced, functions_of, torn_functions


def split(text: str, language: str | None, window: int = 200) -> list[str]:
    """The fenced parts of a document that is this code alone, in order."""
    doc = make_doc(Block("code", text, language=language), doc_type="example", title="listing")
    chunks = chunk(doc, WordTokenizer(window))
    assert all(item.tokens <= window and fences_are_balanced(item.content) for item in chunks)
    own = [line for item in chunks for line in item.content.split("\n")]
    assert [line for line in text.split("\n") if line.strip() and line not in own] == []
    return [part for item in chunks for part in re.findall(r"^```\w*\n(.*?)\n```$", item.content, re.DOTALL | re.MULTILINE)]


def bbj(methods: int, lines: int) -> str:
    body = "\n\n".join(
        f"  rem Step {number} of the work\n  method public void step{number}(HashMap map!)\n"
        + "\n\n".join(f"    a{number}_{line} = {line}\n    map!.put({line}, {line})" for line in range(lines))
        + "\n  methodend"
        for number in range(methods)
    )
    return f"use java.util.HashMap\nuse ::other.bbj::Other\n\nclass public Steps\n\n{body}\n\nclassend\n"


def test_methods_of_bbj_are_whole_with_their_comment_and_scope() -> None:
    """Each method stands in one chunk with its comment; the class line and the import it needs are repeated."""
    text = bbj(14, 8)
    parts = split(text, "bbj")
    assert len(parts) > 3
    for number in range(14):
        (holder,) = [part for part in parts if f"method public void step{number}(" in part]
        assert f"rem Step {number} of the work\n  method public void step{number}(" in holder
        assert holder.count("methodend") == len(re.findall("^  method public", holder, re.MULTILINE))
    for part in parts[1:]:
        assert part.startswith("use java.util.HashMap\nclass public Steps\n")
        assert "other.bbj" not in part


def test_a_method_over_the_window_repeats_its_own_line() -> None:
    """Parts of one method begin with import, class and method, then three dots; every statement stands in one of them."""
    parts = split(bbj(1, 80), "bbj")
    for part in parts[1:-1]:
        head = part.split("\n")[:4]
        assert head == [
            "use java.util.HashMap",
            "class public Steps",
            "  method public void step0(HashMap map!)",
            "    rem ...",
        ]
    own = [line for part in parts for line in part.split("\n") if "map!.put" in line]
    assert own == [f"    map!.put({line}, {line})" for line in range(80)]


def test_continued_lines_are_not_parted() -> None:
    """A statement that goes on with a colon on the next line stays with its beginning."""
    statements = [f'message{number}$ = "one two three four five " +\n:   "six seven eight nine"' for number in range(60)]
    parts = split("\n".join(statements), "bbj", 100)
    assert len(parts) > 4
    assert all(any(statement in part for part in parts) for statement in statements)


def test_old_programs_are_cut_between_subroutines() -> None:
    """Line-numbered code has no methods: what GOSUB calls stays whole."""
    routines = [
        [f"{at} REM --- Routine {at}", *(f"{at + n} LET A{n} = {n} + {at}" for n in range(1, 9)), f"{at + 9} RETURN"]
        for at in range(1000, 1400, 20)
    ]
    calls = [f"{10 + number} GOSUB {routine[0].split()[0]}" for number, routine in enumerate(routines)]
    parts = split("\n".join([*calls, "90 END", *(line for routine in routines for line in routine)]), "bbj", 150)
    assert all(any("\n".join(routine) in part for part in parts) for routine in routines)


def python(functions: int) -> str:
    body = "\n\n\n".join(
        f"# about number {number}\n@cached\ndef work{number}(path: Path) -> int:\n"
        + "\n\n".join(f"    value_{line} = path / {line}\n    print(value_{line})" for line in range(7))
        + "\n    return 0"
        for number in range(functions)
    )
    methods = "\n\n".join(
        f"    def method{n}(self):\n" + "\n".join(f"        self.x{k} = {k}" for k in range(20)) for n in range(6)
    )
    return f"import json\nfrom pathlib import Path\n\n\n{body}\n\n\nclass Keeper:\n    limit = 3\n\n{methods}\n"


def test_python_functions_are_whole_and_parts_are_python() -> None:
    """Every function that Python's own parser finds stands whole in a part, decorators and comment with it; a part can be
    parsed again, because the class line and its imports stand above it."""
    text = python(9)
    parts = split(text, "python", 150)
    doc = make_doc(Block("code", text, language="python"), doc_type="example")
    assert not list(torn_functions(doc.topic, chunk(doc, WordTokenizer(150))))
    for number in range(9):
        assert any(f"# about number {number}\n@cached\ndef work{number}(" in part for part in parts)
    for part in parts:
        ast.parse(part)
        assert ("Path" in part.replace("import Path", "")) == ("from pathlib import Path" in part) or "import json\n" in part
    later = [part for part in parts if "def method5" in part]
    assert later[0].startswith("class Keeper:\n    # ...\n    def method")


JAVA = "package shop;\n\nimport java.util.List;\nimport java.io.File;\n\n/** Keeps orders. */\npublic class Orders {\n\n%s\n}\n"
SCRIPT = "import {open} from 'shop';\n\nexport class Orders {\n\n%s\n}\n"


def braced(head: str, count: int) -> str:
    return "\n\n".join(
        f"  // number {n}\n  {head % n} {{\n"
        + "\n\n".join(f"    if (a > {k}) {{\n      go({k}, '}}');\n    }}" for k in range(5))
        + "\n  }"
        for n in range(count)
    )


@pytest.mark.parametrize(
    ("language", "text", "opening"),
    [
        ("java", JAVA % braced("public List<String> find%d(int a)", 12), "import java.util.List;\npublic class Orders {\n"),
        ("typescript", SCRIPT % braced("find%d(a: number): void", 12), "export class Orders {\n"),
        ("js", SCRIPT % braced("find%d(a)", 12), "export class Orders {\n"),
    ],
)
def test_methods_between_braces_are_whole(language: str, text: str, opening: str) -> None:
    """Blank lines inside of methods, and braces in strings, do not mislead: brackets balance in every part but its opening."""
    parts = split(text, language)
    assert len(parts) > 3
    for part in parts[1:]:
        assert part.startswith(opening)
        own = re.sub(r"'[^']*'", "", part.removeprefix(opening)).rstrip()
        last = part is parts[-1]
        assert own.count("{") == own.count("}") - last
    for number in range(12):
        assert sum(f"// number {number}\n" in part for part in parts) == 1


FUNCTIONS = "\n\n".join(
    f"function work{n}(order) {{\n" + "\n\n".join(f"  step{k}(order, {k});" for k in range(12)) + "\n}" for n in range(12)
)


@pytest.mark.parametrize(
    ("language", "text"),
    [("java", JAVA % braced("public void find%d(int a)", 12)), ("js", FUNCTIONS), ("python", python(14))],
    ids=["java", "javascript", "python"],
)
def test_functions_are_whole_where_the_fence_names_no_language(language: str, text: str) -> None:
    """A manual does not say what its code is: lines that only one language has tell it, and functions stay whole."""
    doc = make_doc(Block("code", text), doc_type="example", title="listing")
    chunks = chunk(doc, WordTokenizer(200))
    assert len(chunks) > 2
    named = replace(doc.topic, blocks=(replace(doc.topic.blocks[0], language=language),))
    assert len(functions_of(named.blocks[0])) >= 12
    assert list(torn_functions(named, chunks)) == []


def test_use_lines_stand_above_the_methods_that_need_them() -> None:
    """A program is many blocks: a chunk whose code names an imported class has its ``use`` line, the others have not, and a
    chunk that the lines would bring over the window goes without."""
    methods = [
        (Block("heading", f"Method m{n}", level=3), Block("code", f"method m{n}()\n" + body * 20 + "methodend", language="bbj"))
        for n, body in enumerate(("a! = new HashMap()\n", "b = 1 + 2\n", "c! = new Other() + HashMap.x\n"))
    ]
    blocks = [
        Block("code", "use java.util.HashMap\nuse ::other.bbj::Other", language="bbj"),
        *(b for pair in methods for b in pair),
    ]
    doc = make_doc(*blocks, doc_type="example", title="Steps", metadata={"uses": ["java.util.HashMap", "::other.bbj::Other"]})
    first, *later = chunk(doc, WordTokenizer(120))
    assert first.content.count("use java.util.HashMap") == 1
    shown = {
        name: [line for line in item.content.split("\n") if line.startswith("use ")]
        for item in later
        for name in re.findall(r"method (m\d)", item.content)
    }
    assert shown["m1"] == []
    assert shown["m2"] == ["use java.util.HashMap", "use ::other.bbj::Other"]
    counts = set()
    for window in range(100, 180):
        made = chunk(doc, WordTokenizer(window))
        assert all(item.tokens <= window for item in made)
        counts.add(sum(item.content.count("use java.util.HashMap") for item in made))
    assert len(counts) > 1


def test_a_function_with_everything_in_one_call_is_cut_between_statements() -> None:
    """A script wrapped in one call is taken apart inside of it: functions in the wrapper stay whole."""
    inner = "\n".join(
        f"  function go{n}(a) {{\n" + "\n".join(f"    call({k}, a);" for k in range(9)) + "\n  }" for n in range(12)
    )
    parts = split(f"$(function () {{\n{inner}\n}});", "javascript", 100)
    for number in range(12):
        (holder,) = [part for part in parts if f"function go{number}(a)" in part]
        assert holder[holder.index(f"function go{number}(a)") :].count("call(8, a);\n  }") >= 1


@pytest.mark.parametrize("language", [None, "powershell", "bbj", "java", "python", "typescript"])
def test_a_line_over_the_window_alone_is_cut_inside(language: str | None) -> None:
    """Lines that fit stay whole around one that does not, which is cut between words."""
    giant = "x = " + " + ".join(f"w{number}x" for number in range(300))
    text = "\n".join([*(f"before{n} = {n}" for n in range(50)), giant, *(f"after{n} = {n}" for n in range(50))])
    doc = make_doc(Block("code", text, language=language), doc_type="example")
    contents = [item.content for item in chunk(doc, WordTokenizer(100))]
    lines = [line for content in contents for line in content.split("\n")]
    assert all(line in lines for line in text.split("\n") if line != giant)
    assert [word for line in lines for word in re.findall(r"w\d+x", line)] == re.findall(r"w\d+x", giant)


def test_other_code_is_cut_at_blank_lines() -> None:
    """Without a grammar a paragraph of lines stays whole, and one at the margin begins a part before one that is indented."""
    paragraphs = [f"step {n} {{\n" + "\n".join(f"  do {k}" for k in range(9)) + f"\n\n  done {n}\n}}" for n in range(20)]
    parts = split("\n\n".join(paragraphs), "recipe", 100)
    assert all(any(paragraph in part for part in parts) for paragraph in paragraphs)


@pytest.mark.parametrize("language", ["java", "javascript", "python", None])
def test_hostile_code_is_split_too(language: str) -> None:
    """Ten thousand open brackets, a file of one line, binary rubbish: everything comes back in parts that fit."""
    for text in (
        "(\n" * 10_000,
        "a(" * 3_000,
        "function f() " * 10_000,
        "public f(" * 10_000 + ";",
        "a(" * 5_000 + "\n" + ")" * 5_000,
        "\n".join("{[(<" * 50 for _ in range(200)),
        "\x07\x1b" * 2_000 + "\n\n" + "} " * 900,
    ):
        doc = make_doc(Block("code", text, language=language), doc_type="example")
        chunks = chunk(doc, WordTokenizer(200))
        assert all(item.tokens <= 200 for item in chunks)
        assert sum(item.content.count("(") for item in chunks) >= text.count("(")
