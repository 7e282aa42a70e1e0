"""The reports as Markdown: health, near-duplicates and modernisation links, for the UI, the command line and a mail.

Counts first, then the worst offenders with links. Text from documents is escaped, and only web addresses become links.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote

from bbj_pipeline.records import DocumentId
from bbj_pipeline.stages.health import CATEGORIES, REMEDIES, Health
from bbj_pipeline.stages.modernisation import LinkGraph

__all__ = ["LOST_REASONS", "DuplicateLine", "render_duplicates", "render_health", "render_links", "shown"]

LOST_REASONS = {
    "dangling": "no such document is published",
    "ambiguous": "several documents are called so",
    "cycle": "it would close a cycle of successors",
}
"""Why a relation is not in the modernisation graph, for a reader."""
_WORST = 20
_LONGEST = 300
Documents = Mapping[DocumentId, tuple[str, str | None]]
"""Title and URL by document."""
DuplicateLine = tuple[DocumentId, str, DocumentId, str, float]
"""A copied document, its section (empty for the whole), its representative, that one's section, and their Jaccard."""


def render_health(health: Health, *, worst: int = _WORST) -> str:
    """Return the health report: a table of counts by source, then each category with its worst documents."""
    counts = health.counts()
    total = sum(health.documents.values())
    lines = [
        "# Corpus health",
        "",
        f"{total:,} documents of {len(health.documents)} sources on {health.checked_at:%Y-%m-%d %H:%M} UTC.",
        "",
        "| source | documents | staleness | " + " | ".join(name.replace("_", " ") for name in CATEGORIES) + " |",
        "| --- | --: | --: |" + " --: |" * len(CATEGORIES),
    ]
    for source, documents in health.documents.items():
        score = f"{health.staleness[source]:.2f}" if source in health.staleness else ""
        numbers = " | ".join(f"{counts[source][name]:,}" for name in CATEGORIES)
        lines.append(f"| {escape(source)} | {documents:,} | {score} | {numbers} |")
    for category, meaning in CATEGORIES.items():
        found = health.of(category)
        documents_found = len({finding.document for finding in found})
        lines += ["", f"## {category.replace('_', ' ').capitalize()}: {documents_found:,}", "", f"Documents: {meaning}.", ""]
        lines += [f"What to do: {REMEDIES[category]}.", ""] if found else []
        if category == "undated":  # a source that gives no dates gives none for any document: counted, not listed
            by_source = Counter(f"{item.document.kind}/{item.document.instance}" for item in found)
            lines += [f"- {escape(source)}: {number:,}" for source, number in sorted(by_source.items())] or ["none"]
            continue
        lines += [f"- {shown(item.document, item.title, item.url)}: {escape(item.detail)}" for item in found[:worst]]
        lines += [f"- … and {len(found) - worst:,} more"] if len(found) > worst else []
        lines += [] if found else ["none"]
    return "\n".join(lines) + "\n"


def render_duplicates(
    pages: Sequence[DuplicateLine], chunk_pairs: Mapping[tuple[str, str], int], documents: Documents, *, worst: int = _WORST
) -> str:
    """Return the report of near-duplicates.

    ``chunk_pairs`` counts copied chunks by (source of the copy, source of its representative), the same one for boilerplate.
    """
    lines = [
        "# Near-duplicates",
        "",
        f"{sum(chunk_pairs.values()):,} copied chunks, {len(pages):,} copied pages or sections.",
        "",
    ]
    if chunk_pairs:
        lines += ["| copies in | of | chunks |", "| --- | --- | --: |"]
        lines += [f"| {escape(a)} | {escape(b)} | {number:,} |" for (a, b), number in sorted(chunk_pairs.items())]
        lines.append("")
    lines += ["## Pages", ""]
    for document, section, representative, other, jaccard in pages[:worst]:
        lines.append(
            f"- {_named(document, documents)}{_section(section)} is a copy of"
            f" {_named(representative, documents)}{_section(other)} (Jaccard {jaccard:.2f})"
        )
    lines += [f"- … and {len(pages) - worst:,} more"] if len(pages) > worst else []
    lines += [] if pages else ["none"]
    return "\n".join(lines) + "\n"


def render_links(graph: LinkGraph, documents: Documents, *, worst: int = 100) -> str:
    """Return the report of the modernisation graph: its paths, and what was left out with the reason."""
    paths = [link for link in graph.links if link.relation == "superseded_by"]
    related = len(graph.links) - len(paths)
    lines = ["# Modernisation links", "", f"{len(paths):,} documents superseded, {related:,} related pairs.", ""]
    lines += ["## Superseded", ""]
    for link in paths[:worst]:
        note = f": {escape(link.note)}" if link.note else ""
        lines.append(f"- {_named(link.source, documents)} → {_named(link.target, documents)} ({link.origin}){note}")
    lines += [f"- … and {len(paths) - worst:,} more"] if len(paths) > worst else []
    lines += [] if paths else ["none"]
    reasons = Counter(item.reason for item in graph.dropped)
    lines += ["", f"## Left out: {len(graph.dropped):,}", ""]
    lines += (
        [f"{', '.join(f'{number:,} {reason}' for reason, number in sorted(reasons.items()))}.", ""] if reasons else ["none"]
    )
    for item in graph.dropped[:worst]:
        detail = f" ({escape(item.detail)})" if item.detail else ""
        relation = item.relation.replace("_", " ")
        lines.append(
            f"- {_named(item.source, documents)} {relation} `{_code(item.target)}`: {LOST_REASONS[item.reason]}{detail}"
        )
    return "\n".join(lines) + "\n"


def shown(document: DocumentId, title: str, url: str | None) -> str:
    """Return a document in Markdown: its title as a link where it has a web address, and its identity."""
    name = f"[{escape(title)}]({quote(url, safe=_SAFE)})" if url and url.startswith(("https://", "http://")) else escape(title)
    return f"{name} `{_code(str(document))}`"


_SAFE = "/:?#@!$&'*+,;=%-._~[]"


def escape(text: str) -> str:
    """Return text that Markdown and a table cell show as it is, on one line and of bounded length."""
    line = " ".join(text.split())
    line = line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
    return "".join(f"\\{char}" if char in "\\`*_[]|" else {"<": "&lt;", ">": "&gt;"}.get(char, char) for char in line)


def _named(document: DocumentId, documents: Documents) -> str:
    title, url = documents.get(document, (document.key, None))
    return shown(document, title, url)


def _section(section: str) -> str:
    return f" section {escape(section)}" if section else ""


def _code(text: str) -> str:
    return " ".join(text.split()).replace("`", "'")[:_LONGEST]


def listed(items: Iterable[str], *, worst: int = _WORST) -> str:
    """Return a bounded Markdown list, ``none`` for an empty one."""
    found = list(items)
    lines = [f"- {item}" for item in found[:worst]] + ([f"- … and {len(found) - worst:,} more"] if len(found) > worst else [])
    return "\n".join(lines) or "none"
