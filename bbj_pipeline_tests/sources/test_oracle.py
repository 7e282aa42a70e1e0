"""Nothing is lost: words, headings, code lines and table rows of all real HTML inputs equal those of ``html_oracle``.

Tables of exceptions stand at the top, each entry with its reason; there is no other tolerance.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from bbj_pipeline.records import Block, Topic
from bbj_pipeline_tests.paths import CORPORA
from bbj_pipeline_tests.sources import test_flare_corpora, test_mdx_corpora, test_web_crawl_corpora, test_wordpress_corpora
from bbj_pipeline_tests.sources.html_oracle import Attributes, Seen, code_lines, grid, one_line, seen, words

CODEC_BY_NAME = {"cp1250": "cp1250", "iso-8859-2": "iso-8859-2", "utf16": "utf-16"}
"""The edge cases are named after their bytes; all other topics are UTF-8."""
CODE_TABLE = r'<table\b[^>]*class="TableStyle-Code".*?</table>'
CODE_RUN = r'(?:<p\b[^>]*class="code-snippet"[^>]*>.*?</p>\s*)+'
PRETTY_PRINT = re.compile(r"[ \t\r]*\n[ \t\r]*")
AUTOMATIC_NUMBER = re.compile(r'(<span class="autonumber">.*?</span>\s*</span>)', re.S)
"""A mark, as that of a list, and no part of the word after it, also where its author wrote no space between them."""
CODE_IN_CELLS = {"flare/saleslogix-clean/Examples/ContextualListConfiguration.xml.htm"}
"""A listing in the left column of a table, a line a row, explained in the right one: cells, compared as such."""
NOT_IN_THE_PAGE = "mermaid"
"""Diagrams are drawn by a script in the browser: their source is in the Markdown and not in the page as built."""

NO_LANGUAGE = "text"
"""What Docusaurus calls the language of a fence that names none."""


def flare_clean() -> Iterator[tuple[str, Topic, Seen, list[list[str]]]]:
    for name in test_flare_corpora.CLEAN:
        for key, (document, topic) in test_flare_corpora.parse_all(CORPORA / "flare" / name).items():
            if isinstance(topic, Topic):
                codec = next((codec for mark, codec in CODEC_BY_NAME.items() if key.startswith(mark)), "utf-8-sig")
                source = document.content.decode(codec)
                marked = AUTOMATIC_NUMBER.sub(r"\1 ", source)
                yield f"{name}/{key}", topic, seen(marked, generated_by_flare), flare_code(source)


def generated_by_flare(tag: str, attributes: Attributes) -> bool:
    return not {"nocontent", "search-bar", "MCDropDown_Image_Icon"}.isdisjoint((attributes.get("class") or "").split())


def flare_code(source: str) -> list[list[str]]:
    """Return the code of a topic by regular expressions: ``pre``, tables of one column that frame code, runs of paragraphs."""
    blocks = []
    for run in re.findall(rf"{CODE_TABLE}|{CODE_RUN}|<pre\b.*?</pre>", source, re.S):
        if run.startswith("<pre"):
            blocks.append(code_lines(html.unescape(re.sub(r"<[^<>]*>", "", run))))
            continue
        lines: list[str] = []
        for paragraph in re.findall(r"<p\b[^>]*>(.*?)</p>", run, re.S):
            marked = re.sub(r"<br\s*/?>", "\x02", PRETTY_PRINT.sub(" ", re.sub(r"\A\s*\n\s*", "", paragraph)))
            lines += html.unescape(re.sub(r"<[^<>]*>", "", marked)).replace("\u00a0", " ").split("\x02")
        blocks.append(code_lines("\n".join(lines)))
    return [block for block in blocks if block]


def sites() -> Iterator[tuple[str, Topic, Seen, list[list[str]]]]:
    for site in test_web_crawl_corpora.SITES:
        for key, topic in test_web_crawl_corpora.topics(site, "path").items():
            page = (CORPORA / "web_crawl" / site / key).read_text(encoding="utf-8")
            start, end = ("<article", "</article>") if "<article" in page else ("main-wrapper", "<footer")
            found = seen(page[page.index(start) : page.rindex(end)].partition(">")[2], around_an_article)
            yield f"{site}/{key}", topic, found, pre_lines(page)


def around_an_article(tag: str, attributes: Attributes) -> bool:
    return tag in ("nav", "footer") or "hash-link" in (attributes.get("class") or "").split()


def posts() -> Iterator[tuple[str, Topic, Seen, list[list[str]]]]:
    for name in ("code-posts", "multilingual"):
        for key, topic in test_wordpress_corpora.topics(name).items():
            content = test_wordpress_corpora.posts(name)[key]["content"]["rendered"]
            yield f"{name}/{key}", topic, seen(content), pre_lines(content)


def pre_lines(source: str) -> list[list[str]]:
    inner = re.findall(r"<pre\b[^>]*>(.*?)</pre\s*>", source, re.S)
    broken = (re.sub(r"<br\s*/?>", "\n", pre) for pre in inner)
    blocks = [code_lines(html.unescape(re.sub(r"</?[a-zA-Z][^<>]*>", "", pre))) for pre in broken]
    return [block for block in blocks if block]


KINDS: dict[str, tuple[int, Callable[[], Iterator[tuple[str, Topic, Seen, list[list[str]]]]]]] = {
    "flare": (144, flare_clean),
    "web_crawl": (14, sites),
    "wordpress": (48, posts),
}


def said(blocks: tuple[Block, ...]) -> str:
    return "\n".join(f"{block.title or ''}\n{block.text}" for block in blocks)


def tables(found: Seen) -> tuple[list[list[list[str]]], Counter[str]]:
    """Return rows of cells that are not empty, of the tables that have text and more than one cell, and the words that
    spanning cells say again in further rows.

    A table of one cell, or of one column that frames code, is a frame; no real table has another one inside.
    """
    grids = [grid(table) for table in found.tables if sum(map(len, table)) > 1]
    kept = [(rows, again) for rows, again in grids if any(map(any, rows))]
    again = sum((words for _, words in kept), Counter[str]())
    return [[[cell for cell in row if cell] for row in rows] for rows, _ in kept], again


@pytest.mark.parametrize("kind", KINDS)
def test_words_headings_code_and_tables_are_those_of_the_source(kind: str) -> None:
    """In every document: the same words as often, the same headings, code lines and cells in the same order."""
    expected_count, documents = KINDS[kind]
    count = 0
    for key, topic, found, code in documents():
        count += 1
        rows_wanted, again = tables(found)
        wanted = words("".join(found.pieces)) + again
        given = words(said(topic.blocks))
        assert given == wanted, (key, "lost", wanted - given, "invented", given - wanted)
        headings = [one_line(text) for text in found.headings]
        assert [block.text for block in topic.blocks if block.type == "heading"] == [text for text in headings if text], key
        given_code = [code_lines(block.text) for block in topic.blocks if block.type == "code"]
        assert given_code == ([] if f"{kind}/{key}" in CODE_IN_CELLS else code), key
        rows = [block.rows or () for block in topic.blocks if block.type == "table"]
        assert [[[one_line(cell) for cell in row if cell] for row in table] for table in rows] == rows_wanted, key
    assert count == expected_count


def test_the_same_pages_as_markdown_and_as_built_give_the_same_blocks() -> None:
    """Docusaurus itself is the judge of the Markdown parser: block by block its pages equal our reading of their sources."""
    compared = 0
    for instance, base in (("bbj-ai-strategy", ""), ("bbj-beginner-course", "docs/")):
        pages = test_web_crawl_corpora.topics(f"{instance}-site", "path")
        for key, (_, topic) in test_mdx_corpora.topics(instance).items():
            route = re.sub(r"/\d+-|^\d+-", "/", key.removesuffix(".mdx").removesuffix(".md")).removesuffix("/index")
            page = pages["index.html" if route == "docs/introduction" else f"{route.removeprefix(base)}.html"]
            assert shape(topic) == shape(page), key
            compared += 1
    assert compared == 13


def shape(topic: Topic) -> list[tuple[object, ...]]:
    return [
        (block.type, block.text, block.level, language, block.title, block.rows, block.header_rows, block.anchor)
        for block in topic.blocks
        if (language := None if block.language == NO_LANGUAGE else block.language) != NOT_IN_THE_PAGE
    ]


@pytest.mark.parametrize(
    "fault", ["glued word", "split word", "lost word", "lost full stop", "lost accent", "doubled block", "lost number"]
)
def test_the_oracle_sees_each_kind_of_fault(fault: str) -> None:
    """Words are compared with their punctuation, so that none of the faults this corpus suffers from passes unseen."""
    text = "In BBj 7.00, call addWindow() – «naïve» code."
    wrong = {
        "glued word": text.replace("call add", "calladd"), "split word": text.replace("addWindow", "add Window"),
        "lost word": text.replace("call ", ""), "lost full stop": text.rstrip("."), "lost accent": text.replace("ï", "i"),
        "doubled block": f"{text}\n{text}", "lost number": text.replace("7.00", "7"),
    }  # fmt: skip
    assert words(wrong[fault]) != words("".join(seen(f"<p>In <b>BBj</b> 7.00, call{text[text.index(' add') :]}</p>").pieces))
    assert words(text) == words("".join(seen(f"<p>In <b>BBj</b> 7.00, call{text[text.index(' add') :]}</p>").pieces))
