"""Parsing speed of all seven kinds on the real corpora, each beside what its library alone needs for the same bytes.

    python -m benchmarks.parse [KIND …] [--runs N]

One process, CPU time, best of N runs. *Bare* is the library's own parse and nothing else (named in the table); *pass* is a
plain recursive pass over the same lxml trees that only collects texts, without making anything of them. Speeds are of the
documents' own bytes: snippets that a topic inserts are work and do not count. Nothing is asserted: numbers are for people.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lxml import etree
from markdown_it import MarkdownIt
from pypdf import PdfReader

from bbj_pipeline.records import Block, RawDocument, Topic
from bbj_pipeline.sources.bbj_source.declarations import declarations_of
from bbj_pipeline.sources.bbj_source.lexer import lex
from bbj_pipeline.sources.config import load_sources
from bbj_pipeline.sources.contract import Source, SourceOptions
from bbj_pipeline.sources.flare.profile import FLARE
from bbj_pipeline.sources.markup import MarkupError, MarkupProfile, parse_document, parse_fragment, to_blocks
from bbj_pipeline.sources.mdx.render import Rendered, render
from bbj_pipeline.sources.registry import get_source
from bbj_pipeline.sources.web_crawl.page import content_root
from bbj_pipeline.sources.web_crawl.profile import DOCUSAURUS

CORPORA = Path(__file__).with_name("corpora.yaml")
TABLE_ROWS = 2_000
WORDS = ("addWindow", "addButton", "setCallback", "openSysGui", "CTRL", "SENDMSG", "flags", "title", "x", "y", "id", "width")

Work = Callable[[], object]


@dataclass(frozen=True)
class Document:
    """One document with everything its parse needs."""

    source: Source[Any]
    options: SourceOptions
    raw: RawDocument
    resources: dict[str, bytes] = field(repr=False)

    def parse(self) -> list[Any]:
        return list(self.source.parse(self.raw, self.options, self.resources.__getitem__))


@dataclass(frozen=True)
class Case:
    """Documents that are timed together, the library's bare work on them, and the stages of ours that can be timed alone."""

    name: str
    documents: Sequence[Document]
    bare_name: str
    bare: Work
    plain_pass: Work | None = None
    stages: tuple[tuple[str, Work], ...] = ()

    @property
    def bytes(self) -> int:
        return sum(len(document.raw.content) for document in self.documents)


def main() -> None:
    arguments = argparse.ArgumentParser(description="CPU time of parsing, beside the libraries' own")
    arguments.add_argument("kinds", nargs="*", help="only these kinds (default: all)")
    arguments.add_argument("--runs", type=int, default=5, help="best of this many runs (default: 5)")
    given = arguments.parse_args()
    print(f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores, best of {given.runs}, CPU time\n")
    print(
        f"{'':30}{'docs':>6}{'MB':>7}{'MB/s':>8}{'docs/s':>9}{'bare':>8}{'x bare':>8}{'pass':>8}{'x pass':>8}  bare is; of ours"
    )
    for build in CASES:
        for case in build() if not given.kinds or build.__name__ in given.kinds else ():
            report(case, given.runs)


def report(case: Case, runs: int) -> None:
    """Print one line of the table: speeds in MB/s, ratios to the bare parse and to the plain pass, shares of the stages."""
    ours = best(lambda: [document.parse() for document in case.documents], runs)
    bare = best(case.bare, runs)
    through = best(case.plain_pass, runs) if case.plain_pass else 0.0
    megabytes = case.bytes / 1e6
    passed = f"{megabytes / through:8.1f}{ours / through:8.1f}" if through else " " * 16
    blocks = best(lambda: remade(case.documents), runs)
    shares = [(name, best(work, runs)) for name, work in case.stages]
    told = ", ".join(f"{name} {100 * seconds / ours:.0f} %" for name, seconds in (*shares, ("(of it making blocks)", blocks)))
    print(
        f"{case.name:30}{len(case.documents):6}{megabytes:7.2f}{megabytes / ours:8.1f}{len(case.documents) / ours:9.0f}"
        f"{megabytes / bare:8.1f}{ours / bare:8.1f}{passed}  {case.bare_name}; {told}"
    )
    sys.stdout.flush()


def cpu_seconds() -> float:
    """CPU time of this process and of the finished ones it started."""
    return time.process_time() + sum(os.times()[2:4])


def best(work: Work, runs: int) -> float:
    """Seconds of the fastest of ``runs`` calls."""
    fastest = float("inf")
    for _ in range(runs):
        start = cpu_seconds()
        work()
        fastest = min(fastest, cpu_seconds() - start)
    return fastest


_made: dict[int, list[Block]] = {}


def remade(documents: Sequence[Document]) -> None:
    """Make all blocks of the documents once more: what the records alone cost."""
    if id(documents) not in _made:
        topics = [item for document in documents for item in document.parse() if isinstance(item, Topic)]
        _made[id(documents)] = [block for topic in topics for block in topic.blocks]
    for block in _made[id(documents)]:
        Block(
            block.type, block.text, block.level, block.language, block.title, block.rows, block.header_rows, block.anchor,
            block.page, block.lines,
        )  # fmt: skip


# -- the documents -----------------------------------------------------------------------------------------------------


def documents_of(kind: str, *instances: str) -> list[Document]:
    """All documents of the named instances of the corpora."""
    found: list[Document] = []
    for instance in load_sources(CORPORA):
        if instance.ref.kind != kind or (instances and instance.ref.instance not in instances):
            continue
        raws = [item for item in instance.source.export(instance.options) if isinstance(item, RawDocument)]
        resources = {raw.key: raw.content for raw in raws}
        found.extend(Document(instance.source, instance.options, raw, resources) for raw in raws if raw.role == "document")
    return found


def dense_table() -> Document:
    """A topic that is one table of bare one-word cells: the most elements a byte that markup can have."""
    rows = ("".join(f"<td>{WORDS[(row * 5 + column) % len(WORDS)]}</td>" for column in range(6)) for row in range(TABLE_ROWS))
    table = "".join(f"<tr>{row}</tr>\n" for row in rows)
    content = f"<html><head><title>Methods</title></head><body><h1>Methods</h1><table>{table}</table></body></html>"
    source = get_source("flare")
    return Document(source, source.options_type(), RawDocument("Methods.htm", content.encode()), {})


# -- the cases ---------------------------------------------------------------------------------------------------------


def flare() -> Iterable[Case]:
    yield markup_case("flare, Clean XHTML", documents_of("flare", "localization-clean", "saleslogix-clean"), FLARE)
    yield markup_case("flare, raw project", documents_of("flare", "localization-project"), FLARE)
    yield markup_case("flare, a table of 12,000 cells", [dense_table()], FLARE)


def web_crawl() -> Iterable[Case]:
    yield markup_case("web_crawl", documents_of("web_crawl"), DOCUSAURUS, html=True)


def markup_case(name: str, documents: list[Document], profile: MarkupProfile, *, html: bool = False) -> Case:
    """A case whose documents are whole pages; unusable ones (empty files) are in none of the timings but the total."""
    contents = [document.raw.content for document in documents]
    trees = []
    for content in contents:
        try:
            trees.append(parse_document(content).root)
        except MarkupError:
            continue
    tops = [content_root(tree) if html else tree for tree in trees]
    bare = bare_html if html else bare_xml
    return Case(
        name,
        documents,
        "lxml HTML" if html else "lxml XML",
        lambda: [bare(content) for content in contents],
        plain_pass=lambda: [texts_of(tree) for tree in tops],
        stages=(
            ("parse", lambda: [parsed(content) for content in contents]),
            ("walk", lambda: [to_blocks(top, profile) for top in tops]),
        ),
    )


def parsed(content: bytes) -> object:
    try:
        return parse_document(content)
    except MarkupError:
        return None


def bare_xml(content: bytes) -> object:
    try:
        return etree.fromstring(content)
    except etree.XMLSyntaxError:
        return bare_html(content) if content.strip() else None


def bare_html(content: bytes) -> object:
    return etree.fromstring(content, etree.HTMLParser())


def texts_of(top: etree._Element) -> list[str]:
    """The plain pass: the tag and all texts of a tree in reading order."""
    found: list[str] = []

    def collect(element: etree._Element) -> None:
        if element.tag and element.text:
            found.append(element.text)
        for child in element:
            collect(child)
            if child.tail:
                found.append(child.tail)

    collect(top)
    return found


def wordpress() -> Iterable[Case]:
    documents = documents_of("wordpress", "code-posts", "multilingual")
    fragments = [json.loads(document.raw.content).get("content", {}).get("rendered", "") for document in documents]

    def bare() -> None:
        for document, fragment in zip(documents, fragments, strict=True):
            json.loads(document.raw.content)
            if fragment.strip():
                bare_html(fragment.encode())

    yield Case("wordpress", documents, "json and lxml HTML", bare)


def mdx() -> Iterable[Case]:
    documents = documents_of("mdx")
    bare = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    texts = [document.raw.content.decode("utf-8", "replace") for document in documents]

    def rendered() -> list[tuple[Rendered, str]]:
        started = [(Rendered({}, lambda name, into: None), text) for text in texts]
        return [(into, render(text, into, mdx=False)) for into, text in started]

    htmls = rendered()
    trees = [(into, parse_fragment(html)) for into, html in htmls]
    yield Case(
        "mdx",
        documents,
        "markdown-it",
        lambda: [bare.parse(text) for text in texts],
        stages=(
            ("Markdown to HTML", rendered),
            ("parse HTML", lambda: [parse_fragment(html) for _, html in htmls]),
            ("walk", lambda: [to_blocks(tree, into.profile) for into, tree in trees]),
        ),
    )


def javadoc() -> Iterable[Case]:
    documents = documents_of("javadoc")
    yield Case("javadoc", documents, "json", lambda: [json.loads(document.raw.content) for document in documents])


def bbj_source() -> Iterable[Case]:
    documents = documents_of("bbj_source")
    yield source_case("bbj_source", documents)
    listing = b"\n".join(document.raw.content for document in documents if b"\0" not in document.raw.content) * 16
    source = get_source("bbj_source")
    yield source_case(
        "bbj_source, one of its size", [Document(source, source.options_type(), RawDocument("all.bbj", listing), {})]
    )


def source_case(name: str, documents: list[Document]) -> Case:
    texts = [document.raw.content.decode("cp1252", "replace") for document in documents]
    lines = [lex(text) for text in texts]
    return Case(
        name,
        documents,
        "decode and split",
        lambda: [document.raw.content.decode("cp1252", "replace").splitlines() for document in documents],
        stages=(
            ("lex", lambda: [lex(text) for text in texts]),
            ("declarations", lambda: [declarations_of(each) for each in lines]),
        ),
    )


def pdf() -> Iterable[Case]:
    documents = documents_of("pdf", "manuals")

    def bare() -> None:
        for document in documents:
            for page in PdfReader(io.BytesIO(document.raw.content)).pages:
                page.extract_text()

    yield Case("pdf", documents, "pypdf extract_text", bare)


CASES: tuple[Callable[[], Iterable[Case]], ...] = (flare, web_crawl, wordpress, mdx, javadoc, bbj_source, pdf)


if __name__ == "__main__":
    main()
