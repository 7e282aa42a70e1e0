"""The cross-source reports: reads the published tables, hands them to the pure stages, and stores what they find.

Free of Dagster, as all steps; each report is one function that returns its Markdown and its counts.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.records import DocumentId
from bbj_pipeline.settings import Settings
from bbj_pipeline.sources.config import load_sources
from bbj_pipeline.stages.duplicates import CHUNK_THRESHOLD, PAGE_THRESHOLD, Unit, find_copies
from bbj_pipeline.stages.health import Health, Page, judge_health
from bbj_pipeline.stages.health_report import LOST_REASONS, render_duplicates, render_health, render_links
from bbj_pipeline.stages.identifiers import identifiers
from bbj_pipeline.stages.modernisation import CuratedLink, KnownDocument, Library, Statement, build_graph, parse_links
from bbj_pipeline.stages.modernisation.addresses import name_form
from bbj_pipeline.storage.corpus import (
    CorpusReader,
    CorpusRow,
    DocumentCopy,
    corpus_reader,
    replace_duplicates,
    replace_links,
    save_report,
)
from bbj_pipeline.storage.database import Database

__all__ = ["Report", "curated_links", "report_duplicates", "report_health", "report_links"]

_REFERENCES = frozenset({"api-reference", "language-reference"})
"""Types of pages that are each about one name, and fill in the same form for it."""
_SECTIONS = 2
"""Levels of headings down to which the sections of a manual are compared with pages: chapters, and what they hold."""


@dataclass(frozen=True, slots=True)
class Report:
    """A report as it was stored; ``health`` is there for the plot of the health report."""

    markdown: str
    counts: dict[str, int]
    health: Health | None = None


def report_links(settings: Settings, database: Database, run_id: str) -> Report:
    """Build the modernisation graph over all published documents and store it. Raises ``ConfigurationError`` for a curated
    link that cannot be true; the stored graph then stays as it was."""
    curated = curated_links(settings)
    configured = {(item.ref.kind, item.ref.instance) for item in load_sources(settings.sources_file)}
    rank = Preference(settings.preferred_sources)
    known: list[KnownDocument] = []
    statements: list[Statement] = []
    with corpus_reader(database) as reader:
        for document, rows in _documents(reader):
            first = rows[0]
            known.append(KnownDocument(document, first.title, first.url, rank.of(document)))
            targets = {
                "superseded_by": first.superseded_by,
                "supersedes": first.supersedes,
                "related": _texts(first.metadata.get("related")),
            }
            if any(targets.values()):
                statements.append(Statement(document, targets, first.migration_note or ""))
    graph = build_graph(Library(known), statements, curated, configured=configured)
    named = {item.id: (item.title, item.url) for item in known}
    markdown = render_links(graph, named)
    counts = {
        "documents": len(known),
        "superseded": sum(link.relation == "superseded_by" for link in graph.links),
        "related": sum(link.relation == "related" for link in graph.links),
        "curated": sum(link.origin == "curated" for link in graph.links),
        "dropped": len(graph.dropped),
    }
    replace_links(database, graph, named)
    save_report(database, "links", markdown, counts, run_id)
    return Report(markdown, counts)


def report_duplicates(settings: Settings, database: Database, run_id: str) -> Report:
    """Find near-duplicate chunks and pages over all sources and store them."""
    rank = Preference(settings.preferred_sources)
    with corpus_reader(database) as reader:
        copies = find_copies(lambda: _chunk_units(reader, rank), threshold=CHUNK_THRESHOLD)
        found = find_copies(lambda: _page_units(reader, rank), threshold=PAGE_THRESHOLD, inside_documents=False)
        titles: dict[DocumentId, tuple[str, str | None]] = {}
        owners: dict[str, str] = {}
        wanted = {name for copy in copies for name in (copy.member, copy.representative)}
        for row in reader.rows():
            titles.setdefault(row.document, (row.title, row.url))
            if row.id in wanted:
                owners[row.id] = f"{row.kind}/{row.instance}"
    pages = _without_parts([DocumentCopy(*_place(copy.member), *_place(copy.representative), copy.jaccard) for copy in found])
    pairs = Counter((owners[copy.member], owners[copy.representative]) for copy in copies)
    lines = [(item.document, item.section, item.representative, item.representative_section, item.jaccard) for item in pages]
    markdown = render_duplicates(lines, pairs, titles)
    counts = {"chunks": len(copies), "pages": len(pages), "across_sources": sum(n for (a, b), n in pairs.items() if a != b)}
    replace_duplicates(database, copies, pages)
    save_report(database, "duplicates", markdown, counts, run_id)
    return Report(markdown, counts)


def report_health(settings: Settings, database: Database, run_id: str, now: datetime.datetime) -> Report:
    """Judge every published document and store the report; ``now`` is what ages are counted to."""
    rank = Preference(settings.preferred_sources)
    with corpus_reader(database) as reader:
        pages = [_page(document, rows) for document, rows in _documents(reader)]
        copies = reader.document_copies()
        dropped = reader.dropped_links()
    library = Library(KnownDocument(page.id, page.title, page.url, rank.of(page.id)) for page in pages)
    health = judge_health(
        pages,
        library,
        copies=[
            (
                item.document,
                f"{'section ' + item.section if item.section else 'page'} like {item.representative}"
                f" (Jaccard {item.jaccard:.2f})",
            )
            for item in copies
        ],
        lost=[
            (
                item.source,
                f"{item.relation.replace('_', ' ')} {item.target}: {LOST_REASONS[item.reason]}"
                + (f" ({item.detail})" if item.detail else ""),
            )
            for item in dropped
        ],
        now=now,
    )
    markdown = render_health(health)
    counts = {"documents": len(pages)}
    for numbers in health.counts().values():
        for category, number in numbers.items():
            counts[category] = counts.get(category, 0) + number
    save_report(database, "health", markdown, counts, run_id)
    return Report(markdown, counts, health)


def curated_links(settings: Settings) -> tuple[CuratedLink, ...]:
    """Read the curated links: the file of ``BBJ_LINKS``, else ``links.yaml`` beside ``sources.yaml`` if there is one."""
    path: Path = settings.links or settings.sources_file.parent / "links.yaml"
    if settings.links is None and not path.exists():
        return ()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"cannot read {path} ({error})", remedy="set BBJ_LINKS to a links file, or unset it") from None
    return parse_links(text, path.name)


class Preference:
    """Ranks documents by their source, the most preferred 0; ``kind/instance`` may be named as well as ``kind``."""

    def __init__(self, preferred: Sequence[str]) -> None:
        self._ranks = {name: number for number, name in reversed(list(enumerate(preferred)))}
        self._last = len(preferred)

    def of(self, document: DocumentId) -> int:
        """Return the rank of the document's instance, else of its kind, else the last."""
        by_kind = self._ranks.get(document.kind, self._last)
        return self._ranks.get(f"{document.kind}/{document.instance}", by_kind)


def _documents(reader: CorpusReader) -> Iterator[tuple[DocumentId, list[CorpusRow]]]:
    for document, rows in groupby(reader.rows(), key=lambda row: row.document):
        yield document, list(rows)


def _order(row: CorpusRow, rank: Preference) -> tuple[object, ...]:
    """The preferred source first, then the newest; a document without a date is no newer than one with."""
    changed = -row.last_updated.timestamp() if row.last_updated else 0.0
    return (rank.of(row.document), changed, row.kind, row.instance, row.doc_key, row.ordinal)


def _chunk_units(reader: CorpusReader, rank: Preference) -> Iterator[Unit]:
    for row in reader.rows():
        subject = frozenset(identifiers("\n".join((row.title, *row.heading_path)))) if row.doc_type in _REFERENCES else ()
        yield Unit(row.id, str(row.document), row.content, _order(row, rank), frozenset(subject))


def _page_units(reader: CorpusReader, rank: Preference) -> Iterator[Unit]:
    """Yield a unit for each document and, of a manual, for each of its sections: a topic may be printed as a section."""
    for document, rows in _documents(reader):
        first = rows[0]
        subject = frozenset(identifiers(first.title)) if first.doc_type in _REFERENCES else frozenset()
        yield Unit(_unit_id(document, ""), str(document), _joined(rows), _order(first, rank), subject)
        if document.kind == "pdf":
            for section, part in _sections(rows).items():
                order = (*_order(first, rank), section)
                yield Unit(_unit_id(document, section), str(document), _joined(part), order)


def _sections(rows: Sequence[CorpusRow]) -> dict[str, list[CorpusRow]]:
    found: dict[str, list[CorpusRow]] = {}
    for row in rows:
        for depth in range(1, min(_SECTIONS, len(row.heading_path)) + 1):
            found.setdefault(" > ".join(row.heading_path[:depth]), []).append(row)
    return found


def _joined(rows: Sequence[CorpusRow]) -> str:
    return "\n".join(row.content for row in rows)


def _unit_id(document: DocumentId, section: str) -> str:
    return "\0".join((*document, section))


def _place(unit_id: str) -> tuple[DocumentId, str]:
    kind, instance, key, section = unit_id.split("\0")
    return DocumentId(kind, instance, key), section


def _without_parts(copies: Sequence[DocumentCopy]) -> list[DocumentCopy]:
    """Leave out a section whose whole document, or whose chapter, is a copy of the same document."""
    whole = {(item.document, item.section, item.representative) for item in copies}

    def covered(item: DocumentCopy) -> bool:
        parts = item.section.split(" > ") if item.section else []
        above = [" > ".join(parts[:count]) for count in range(len(parts))]
        return any((item.document, section, item.representative) in whole for section in above)

    return [item for item in copies if not covered(item)]


def _page(document: DocumentId, rows: Sequence[CorpusRow]) -> Page:
    first = rows[0]
    links = first.metadata.get("links")
    in_toc = first.metadata.get("in_toc")
    return Page(
        id=document,
        title=first.title,
        url=first.url,
        last_updated=first.last_updated,
        tagged=any(row.generation for row in rows),
        tokens=sum(row.tokens for row in rows),
        chunks=len(rows),
        in_toc=in_toc if isinstance(in_toc, bool) else None,
        links=tuple((str(pair[0]), str(pair[1])) for pair in links if len(pair) == 2) if isinstance(links, list) else (),
        versions=tuple(dict.fromkeys(_versions(document, rows))),
    )


def _versions(document: DocumentId, rows: Sequence[CorpusRow]) -> Iterator[tuple[str, str]]:
    """Yield (name, version): of a JavaDoc member its own, of any other page that of what its title names."""
    for row in rows:
        if row.since_version is None:
            continue
        if document.kind != "javadoc":
            yield name_form(row.title.split(" - ")[0]), row.since_version
        elif row.heading_path and row.metadata.get("signatures"):
            yield name_form(f"{row.title}.{row.heading_path[-1]}"), row.since_version
        else:
            yield name_form(row.title), row.since_version


def _texts(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []
