"""The web_crawl source against both real sites: independent counts, and words by an extraction that uses no HTML parser."""

import csv
import html
import re
from collections import Counter
from functools import cache
from typing import Any

import pytest

from bbj_pipeline.records import RawDocument, Topic
from bbj_pipeline.sources.web_crawl import SOURCE, WebCrawlOptions
from bbj_pipeline_tests.paths import CORPORA, FACTS

SITES = ("bbj-ai-strategy-site", "bbj-beginner-course-site")


def options(site: str, mode: str) -> WebCrawlOptions:
    return WebCrawlOptions.model_validate({mode: CORPORA / "web_crawl" / site})


@cache
def exported(site: str, mode: str) -> tuple[Any, ...]:
    return tuple(SOURCE.export(options(site, mode)))


@cache
def topics(site: str, mode: str) -> dict[str, Topic]:
    found = {}
    for raw in exported(site, mode):
        assert isinstance(raw, RawDocument), raw
        if raw.role == "document":
            (result,) = SOURCE.parse(raw, options(site, mode), lambda key: b"")
            assert isinstance(result, Topic), result
            found[raw.key] = result
    return found


def facts(site: str) -> dict[str, dict[str, str]]:
    with (FACTS / "web_html.tsv").open(encoding="utf-8") as lines:
        rows = {row["path"]: row for row in csv.DictReader(lines, delimiter="\t")}
    prefix = f"web_crawl/{site}/"
    return {path.removeprefix(prefix): row for path, row in rows.items() if path.startswith(prefix)}


def rendered(topic: Topic) -> str:
    """Everything a topic says: block texts with the titles of code and notes."""
    return "\n".join(f"{block.title or ''}\n{block.text}" for block in topic.blocks)


@pytest.mark.parametrize("site", SITES)
def test_pages_are_documents_and_utility_pages_are_not(site: str) -> None:
    """Every page of the site is a document, except the error page and the search page, which are resources."""
    roles = {raw.key: raw.role for raw in exported(site, "path")}
    assert set(roles) == set(facts(site))
    assert {key for key, role in roles.items() if role == "resource"} == {"404.html", "search.html"} & set(roles)


@pytest.mark.parametrize("site", SITES)
def test_structure_equals_the_independent_counts(site: str) -> None:
    """Headings, code blocks and tables of each article are as many as counted by other means."""
    for key, topic in topics(site, "path").items():
        row = facts(site)[key]
        found = Counter(block.type for block in topic.blocks)
        counts = (found["heading"], found["code"], found["table"])
        assert counts == tuple(int(row[name]) for name in ("article_headings", "article_code_blocks", "article_tables")), key


@pytest.mark.parametrize("site", SITES)
def test_admonitions_are_notes_with_their_titles(site: str) -> None:
    """Each admonition's title stands once, in a note: as its title, or as its text where the note begins with a list."""
    for key, topic in topics(site, "path").items():
        page = (CORPORA / "web_crawl" / site / key).read_text(encoding="utf-8")
        headings = re.findall(r'class="?admonitionHeading_\w+"?>(.*?)</div>', page, re.S)
        expected = [html.unescape(re.sub(r"<svg.*?</svg>|<[^<>]*>", "", heading)).strip() for heading in headings]
        notes = [block for block in topic.blocks if block.type == "note"]
        titles = [block.title for block in notes if block.title] + [block.text for block in notes if block.text in expected]
        assert sorted(titles) == sorted(expected), key
        assert len(expected) == int(facts(site)[key]["admonitions"]), key


def test_the_first_code_block_of_the_challenge() -> None:
    """Four lines, language and title, as the corpus' description gives them."""
    topic = topics("bbj-ai-strategy-site", "path")["docs/bbj-challenge.html"]
    first = next(block for block in topic.blocks if block.type == "code")
    assert len(first.text.split("\n")) == 4
    assert (first.language, first.title) == ("bbj", "Character UI -- Terminal I/O")


def test_code_lines_are_the_lines_of_the_page() -> None:
    """Each ``token-line`` of the page is one line of code, indentation included."""
    for site in SITES:
        for key, topic in topics(site, "path").items():
            page = (CORPORA / "web_crawl" / site / key).read_text(encoding="utf-8")
            pres = re.findall(r"<pre\b.*?</pre>", page, re.S)
            codes = [block.text for block in topic.blocks if block.type == "code"]
            for pre, code in zip(pres, codes, strict=True):
                lines = re.split(r"<br\s*/?>", pre)
                plain = [html.unescape(re.sub(r"<[^<>]*>", "", line)).rstrip() for line in lines]
                while plain and not plain[-1]:
                    plain.pop()
                assert [line.rstrip() for line in code.split("\n")] == plain, key


def test_hidden_tab_panels_are_content_under_their_labels() -> None:
    """The labels of both tab groups of the page stand before their panels' code."""
    topic = topics("bbj-ai-strategy-site", "path")["docs/bbj-challenge.html"]
    labels = [block.text for block in topic.blocks if block.type == "paragraph"]
    for label in ("Character UI", "Visual PRO/5", "BBj GUI", "DWC / Browser"):
        assert labels.count(label) == 2


def test_titles_urls_and_sections() -> None:
    """Titles are headings without U+200B, URLs are canonical, sections come from the breadcrumbs."""
    topic = topics("bbj-ai-strategy-site", "path")["docs/rag-database/getting-started.html"]
    assert topic.title == "Getting Started with RAG Ingestion"
    assert topic.url == "https://StephanWald.github.io/bbj-ai-strategy/docs/rag-database/getting-started"
    assert topic.section_path == ("RAG Database Design",)
    for site in SITES:
        assert not any("\u200b" in rendered(found) + found.title for found in topics(site, "path").values())


@pytest.mark.parametrize(("site", "base"), [(SITES[0], "/bbj-ai-strategy"), (SITES[1], "/BBj-Beginner-Course")])
def test_a_crawl_of_the_served_site_equals_the_folder(site: str, base: str) -> None:
    """By sitemap and links over HTTP the same topics come as from the folder; a key is the URL path, not the file's."""
    by_folder, by_crawl = topics(site, "path"), topics(site, "replay")
    paths = {f"{base}/{key}".removesuffix(".html").removesuffix("/index"): topic for key, topic in by_folder.items()}
    assert set(paths) == set(by_crawl)
    for key, topic in paths.items():
        other = by_crawl[key]
        assert (topic.blocks, topic.title, topic.url, topic.section_path) == (
            other.blocks, other.title, other.url, other.section_path,
        )  # fmt: skip


@pytest.mark.parametrize("site", SITES)
def test_a_crawl_gives_the_same_data_in_every_run(site: str) -> None:
    """Two replays on different ports give equal raw documents, and none names the loopback server."""
    again = tuple(SOURCE.export(options(site, "replay")))
    assert again == exported(site, "replay")
    assert "127.0.0.1" not in repr(again)
