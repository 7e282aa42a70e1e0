"""The mdx source against all real inputs: independent counts of structure, and words by an extraction of another kind."""

from __future__ import annotations

import csv
import html
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache

import pytest

from bbj_pipeline.records import RawDocument, Reject, Topic
from bbj_pipeline.sources.mdx import SOURCE, MdxOptions
from bbj_pipeline_tests.paths import CORPORA, FACTS
from bbj_pipeline_tests.sources.html_oracle import words

INSTANCES = ("bbj-ai-strategy", "bbj-beginner-course", "webforj-dwc-docs")
FENCED_IN_QUOTES = {"bbj-ai-strategy/docs/05-documentation-chat/index.md": 2}
"""Fences behind ``> ``, which the independent count of lines that start with a fence cannot see."""
SURPLUS_CELLS = {f"docs/{version}/dwc/guide/form-validation.md": Counter({"bottom": 1}) for version in ("23-docs", "docs")}
"""A fifth cell in a table of four columns: GitHub's specification ignores the excess, and so does the published site."""


@cache
def exported(instance: str) -> tuple[RawDocument, ...]:
    items = list(SOURCE.export(MdxOptions(path=CORPORA / "mdx" / instance)))
    assert all(isinstance(item, RawDocument) for item in items)
    return tuple(item for item in items if isinstance(item, RawDocument))


@cache
def topics(instance: str) -> dict[str, tuple[RawDocument, Topic]]:
    contents = {raw.key: raw.content for raw in exported(instance)}
    parsed = {}
    for raw in exported(instance):
        if raw.role == "document":
            (result,) = SOURCE.parse(raw, MdxOptions(), contents.__getitem__)
            assert isinstance(result, Topic), result
            parsed[raw.key] = (raw, result)
    return parsed


def facts() -> dict[str, dict[str, str]]:
    with (FACTS / "mdx_files.tsv").open(encoding="utf-8") as lines:
        return {row["path"].removeprefix("mdx/"): row for row in csv.DictReader(lines, delimiter="\t")}


URL = r"\(\s*(?:<[^>]*>|(?:[^()\s]|\([^()]*\))*)(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)"
MARKS = str.maketrans({"\x04": "*", "\x05": "_", "\x06": "~", "\x00": " "})


@dataclass
class Read:
    """A Markdown file read line by line with regular expressions: no Markdown parser, no HTML parser."""

    prose: list[str] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    code: list[list[str]] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)


def read_lines(source: str, *, mdx: bool) -> Read:
    """Part a file into lines of prose without block marks, headings, fences, and the number of rows of each table."""
    found, fence, margin, in_table = Read(), "", "", False
    for line in re.sub(r"\A---\n.*?\n---\n", "", source.replace("\r\n", "\n"), flags=re.S).split("\n"):
        bare = re.sub(r"^(?:[ \t]*(?:>|[-*+](?=\s|$)|\d{1,9}[.)](?=\s|$)))*[ \t]*", "", line)
        mark = re.match(r"(`{3,}|~{3,})([^`]*)$", bare)
        if fence:
            if re.fullmatch(rf"{fence[0]}{{{len(fence)},}}\s*", bare):
                fence = ""
            else:
                found.code[-1].append(
                    re.sub(rf"^ {{0,{len(margin)}}}", "", re.sub(r"^>\s?", "", line) if ">" in margin else line)
                )
        elif mark:
            fence, margin = mark[1], line[: len(line) - len(bare)]
            found.code.append([])
            found.prose += ["", *re.findall(r'title="(.*?)"', mark[2]), ""]
        elif re.fullmatch(r":{3,}|[ |:\t-]*---[ |:\t-]*|(?:[*_-] ?){3,}|=+", bare):
            in_table = "|" in bare
            found.rows += [1] * in_table
            found.prose.append("")
        elif not (mdx and re.match(r"(import|export) ", line)) and not re.match(r" {0,3}\[[^\]]+\]: *\S+\s*$", line):
            in_table = in_table and bool(bare)
            if in_table:
                found.rows[-1] += 1
            if heading := re.match(r"#{1,6}\s+(.*)", bare):
                found.headings.append(heading[1])
            cells = re.sub(r"(?<!\\)\|", " \x00 ", bare) if re.match(r"\|.*\|\s*$", bare) else bare
            note = re.sub(r"^:::(\w+)\s*$", r"\1", re.sub(r"^:::\w+\[(.*)\]", r"\1", cells))
            found.prose.append(re.sub(r"^#{1,6}\s+|^[?!]>\s|^\[[ x]\] ", "", note))
    return found


def plain(text: str) -> str:
    """Return inline Markdown as a reader sees it: no links' targets, tags, emphasis marks; code spans and alternative
    texts of images as they are."""
    spans: list[str] = []

    def keep(match: re.Match[str]) -> str:
        spans.append(match[2])
        return f"\x02{len(spans) - 1}\x03"

    text = re.sub(r"<!--.*?-->|<(svg|script|style|iframe)\b.*?</\1>", "", text, flags=re.S)
    text = re.sub(r"(?<![`\\])(`+)(?!`)([^\n\0]+?)(?<!`)\1(?!`)", keep, text)
    text = re.sub(r"!\[[^\]]*\]\([^()\s]*img\.shields\.io[^()\s]*\)", "", text)
    text = re.sub(rf"!\[([^\]]*)\]{URL}", r" \1 ", text)
    text = re.sub(r"<img\b(?![^>]*img\.shields\.io)[^>]*?\balt=[\"{'`]+([^\"'`]*)[^>]*>", r" \1 ", text)
    text = re.sub(rf"\[((?:[^\[\]]|\[[^\[\]]*\])*)\](?:{URL}|\[[^\[\]]*\])", r"\1", text)
    text = re.sub(r"\{#[^}]*\}", " ", text)
    text = re.sub(r"<TabItem[^>]*label=\"([^\"]*)\"[^>]*>", r" \1 ", text)
    text = re.sub(r"<(https?://[^>\s]+)>", r" \1 ", text)
    text = re.sub(r"</?(?:br|li|ol|ul|div|p|tr|td)\b[^>]*>", " ", text)
    text = html.unescape(re.sub(r"</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>", "", text))
    text = re.sub(r"\\([\\`*_{}\[\]()#+.!|<>~-])", lambda m: {"*": "\x04", "_": "\x05", "~": "\x06"}.get(m[1], m[1]), text)
    for _ in range(2):
        text = re.sub(r"(\*{1,3})(?=[^\s*])((?:(?!\n\n).)+?)(?<=[^\s*])\1(?!\*)", r"\2", text, flags=re.S)
        text = re.sub(r"(?<!\w)(_{1,2}|~~)(?=[^\s_])((?:(?!\n\n).)+?)(?<=[^\s_])\1(?!\w)", r"\2", text, flags=re.S)
    return re.sub(r"\x02(\d+)\x03", lambda m: spans[int(m[1])].replace("\\|", "|"), text.translate(MARKS))


@pytest.mark.parametrize("instance", INSTANCES)
def test_every_document_comes_out_and_every_file_is_accounted_for(instance: str) -> None:
    """Keys in are keys out: each Markdown file of the corpus is a document or a resource, each document one topic."""
    known = {path.split("/", 1)[1] for path in facts() if path.startswith(f"{instance}/")}
    assert {raw.key for raw in exported(instance)} == known
    resources = {raw.key for raw in exported(instance) if raw.role == "resource"}
    assert resources == {key for key in known if any(part.startswith("_") for part in key.split("/"))}
    assert set(topics(instance)) == known - resources


@pytest.mark.parametrize("instance", INSTANCES)
def test_structure_equals_the_independent_counts(instance: str) -> None:
    """No heading, fence, BBj fence or admonition is lost or invented, and code never counts as one of them."""
    expected = facts()
    for key, (raw, topic) in topics(instance).items():
        fact = expected[f"{instance}/{key}"]
        quoted = FENCED_IN_QUOTES.get(f"{instance}/{key}", 0)
        blocks = topic.blocks
        assert sum(block.type == "heading" for block in blocks) == int(fact["n_headings_outside_fences"]), key
        assert sum(block.type == "code" for block in blocks) == int(fact["n_fences"]) + quoted, key
        assert sum(block.language == "bbj" for block in blocks) == int(fact["n_bbj_fences"]) + quoted, key
        opened = re.findall(r"^:::(\w+)(?:\[(.*)\])?[ \t]*$", raw.content.decode("utf-8"), re.M)
        titles = Counter(re.sub(r"[`*]", "", title) or word for word, title in opened)
        assert titles.total() == int(fact["n_admonitions"]), key
        # A note that begins with a list shows its title in a block of its own.
        notes = [
            block.title or block.text for block in blocks if block.type == "note" and (block.title or block.text in titles)
        ]
        assert Counter(notes) == titles, key


@pytest.mark.parametrize("instance", INSTANCES)
def test_titles_are_the_front_matter_title_or_the_first_heading(instance: str) -> None:
    """A title is what the author wrote."""
    for key, (_, topic) in topics(instance).items():
        fact = facts()[f"{instance}/{key}"]
        expected = fact["fm_title"] or fact["first_h1"]
        if expected:
            assert topic.title == " ".join(re.sub(r"[`*]", "", expected).split()), key


@pytest.mark.parametrize("instance", INSTANCES)
def test_words_headings_code_and_table_rows_equal_an_independent_reading(instance: str) -> None:
    """No word is lost, glued, split or invented, and headings, code lines and rows stand in the order of the file."""
    for key, (raw, topic) in topics(instance).items():
        source = read_lines(raw.content.decode("utf-8"), mdx=key.endswith(".mdx"))
        wanted = words(plain("\n".join(source.prose))) + words("\n".join("\n".join(lines) for lines in source.code))
        given = words("\n".join(f"{block.title or ''}\n{block.text}" for block in topic.blocks))
        surplus = SURPLUS_CELLS.get(key, Counter())
        assert given == wanted - surplus, (key, "lost", wanted - surplus - given, "invented", given - wanted)
        headings = [" ".join(plain(text).split()) for text in source.headings]
        assert [block.text for block in topic.blocks if block.type == "heading"] == headings, key
        code = [block.text.split("\n") for block in topic.blocks if block.type == "code"]
        assert code == [lines for lines in source.code if any(map(str.strip, lines))], key
        assert [len(block.rows or ()) for block in topic.blocks if block.type == "table"] == source.rows, key


def test_imports_and_tags_inside_fences_stay() -> None:
    """What looks like ESM or JSX inside code is code: the four-backtick fence of the corpus keeps its inner fences."""
    _, topic = topics("bbj-ai-strategy")["docs/03-fine-tuning/index.md"]
    outer = [block for block in topic.blocks if block.type == "code" and "```bbj" in block.text]
    assert outer
    assert all(block.text.count("```") % 2 == 0 for block in outer)
    for instance in INSTANCES:
        for key, (_, found) in topics(instance).items():
            inside = int(facts()[f"{instance}/{key}"]["n_import_inside_fences"])
            code = "\n".join(block.text for block in found.blocks if block.type == "code")
            assert len(re.findall(r"^import\b", code, re.M)) >= inside, key
            prose = "\n".join(block.text for block in found.blocks if block.type != "code")
            assert not re.search(r"@theme/|</?Tab(Item|s)\b|^:::", prose, re.M), key


def test_no_reject_is_needed_for_the_real_inputs() -> None:
    """None of the 283 real documents is refused."""
    results = [result for instance in INSTANCES for _, result in topics(instance).values()]
    assert not [result for result in results if isinstance(result, Reject)]
    assert len(results) == sum(raw.role == "document" for instance in INSTANCES for raw in exported(instance))
