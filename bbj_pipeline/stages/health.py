"""The health of the corpus: which documents are stale, copied, untagged, orphaned, oversized, or contradict or miss others.

Pure functions over one record a document; how the findings read stands in ``health_report``. A finding is for the writers:
it names the document, what is wrong, and where to look.
"""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bbj_pipeline.records import DocumentId
from bbj_pipeline.stages.modernisation.addresses import is_address
from bbj_pipeline.stages.modernisation.targets import LINKED_KINDS, Library
from bbj_pipeline.stages.modernisation.versions import version_order

__all__ = ["CATEGORIES", "REMEDIES", "STALE_DAYS", "Health", "HealthFinding", "Page", "judge_health", "staleness"]

STALE_DAYS = 180
"""Age in days from which a document is warned of (the architecture this follows: "documents older than 6 months")."""
OVERSIZED_TOKENS = 15_000
"""Tokens of a document that no reader reads and no answer can cite as a whole: some forty printed pages."""
_MOSTLY = 0.5
"""Share of an instance's pages that must be linked before a page without a link is called an orphan."""
_ENTRY_NAMES = ("index", "readme", "default", "home", "_index")

CATEGORIES = {
    "stale": f"not changed for {STALE_DAYS} days",
    "undated": "nothing says when it was changed",
    "duplicated": "a near-duplicate of a preferred document",
    "untagged": "of no known generation",
    "orphaned": "in no table of contents, and no page links to it",
    "oversized": f"more than {OVERSIZED_TOKENS:,} tokens",
    "broken_links": "links to a page of its own source that is not there",
    "contradicting_versions": "two sources give different versions for one name",
    "lost_relations": "names a successor or related page that is not found, is several, or closes a cycle",
}
"""What is looked for, and what each means."""
REMEDIES = {
    "stale": "read it against the current version, then change it or save it again as it is",
    "undated": "give the source dates: front matter, the export's file times, or the site's sitemap",
    "duplicated": "keep one text and link to it; search shows the preferred one until then",
    "untagged": "name the generation in the text or show its code; where it concerns all or none, say so in the source's"
    " generation_overrides",
    "orphaned": "link to it from the page above it or add it to the table of contents, or withdraw it",
    "oversized": "divide it into a page a subject",
    "broken_links": "correct the address, or publish the page it names",
    "contradicting_versions": "find out which version is right and correct the other page",
    "lost_relations": "write the name as the page's title or link to the page; where it is not published, publish it or take"
    " the reference out",
}
"""What a writer can do about each."""


@dataclass(frozen=True, slots=True)
class Page:
    """A published document as far as its health goes. ``versions`` are (name, since version) it states."""

    id: DocumentId
    title: str
    url: str | None
    last_updated: datetime.datetime | None
    tagged: bool
    tokens: int
    chunks: int
    in_toc: bool | None = None
    links: tuple[tuple[str, str], ...] = ()
    versions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class HealthFinding:
    """One thing that is wrong with one document; ``weight`` orders findings of a category, the worst first."""

    category: str
    document: DocumentId
    title: str
    url: str | None
    detail: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Health:
    """All findings, the worst first in each category, and the number of documents by source (``kind/instance``)."""

    findings: tuple[HealthFinding, ...]
    documents: Mapping[str, int]
    checked_at: datetime.datetime
    staleness: Mapping[str, float] = field(default_factory=dict)

    def of(self, category: str) -> list[HealthFinding]:
        """Return the findings of a category, the worst first."""
        return [finding for finding in self.findings if finding.category == category]

    def counts(self) -> dict[str, Counter[str]]:
        """Return, by source, how many documents have a finding of each category."""
        seen = {(finding.category, finding.document) for finding in self.findings}
        found: dict[str, Counter[str]] = {source: Counter() for source in self.documents}
        for category, document in seen:
            found.setdefault(f"{document.kind}/{document.instance}", Counter())[category] += 1
        return found


def staleness(last_updated: datetime.datetime, now: datetime.datetime) -> float:
    """Return a score from 0 (changed now) towards 1: half after ``STALE_DAYS``, three quarters after twice as many."""
    days = max(0.0, (now - last_updated).total_seconds() / 86_400)
    return 1.0 - float(0.5 ** (days / STALE_DAYS))


def judge_health(
    pages: Sequence[Page],
    library: Library,
    *,
    copies: Iterable[tuple[DocumentId, str]],
    lost: Iterable[tuple[DocumentId, str]],
    now: datetime.datetime,
) -> Health:
    """Return the health of ``pages``, which are the documents of ``library``.

    ``copies`` and ``lost`` are documents with a sentence each, found elsewhere: near-duplicates, and relations left out of
    the modernisation graph.
    """
    by_id = {page.id: page for page in pages}
    findings: list[HealthFinding] = []
    for page in pages:
        findings += _judge_page(page, now)
    broken, linked = _follow_links(pages, library)
    findings += broken
    findings += _orphans(pages, linked)
    findings += _contradictions(pages)
    for category, found in (("duplicated", copies), ("lost_relations", lost)):
        findings += [_finding(category, by_id[document], text) for document, text in found if document in by_id]
    scores: defaultdict[str, list[float]] = defaultdict(list)
    for page in pages:
        if page.last_updated is not None:
            scores[_source(page.id)].append(staleness(page.last_updated, now))
    order = list(CATEGORIES)
    findings.sort(key=lambda item: (order.index(item.category), -item.weight, item.document, item.detail))
    return Health(
        tuple(findings),
        dict(sorted(Counter(_source(page.id) for page in pages).items())),
        now,
        {source: sum(values) / len(values) for source, values in scores.items()},
    )


def _judge_page(page: Page, now: datetime.datetime) -> list[HealthFinding]:
    found = []
    if page.last_updated is None:
        found.append(_finding("undated", page, "no date in the source"))
    elif (score := staleness(page.last_updated, now)) >= staleness(now - datetime.timedelta(days=STALE_DAYS), now):
        days = (now - page.last_updated).days
        found.append(
            _finding("stale", page, f"changed {page.last_updated:%Y-%m-%d}, {days} days ago, score {score:.2f}", score)
        )
    if not page.tagged:
        found.append(_finding("untagged", page, f"no cue of a generation in {_number(page.chunks, 'chunk')}", page.chunks))
    if page.tokens > OVERSIZED_TOKENS:
        found.append(_finding("oversized", page, f"{page.tokens:,} tokens in {_number(page.chunks, 'chunk')}", page.tokens))
    return found


def _follow_links(pages: Sequence[Page], library: Library) -> tuple[list[HealthFinding], set[DocumentId]]:
    """Return the pages with broken links, and all documents that another one links to."""
    broken: list[HealthFinding] = []
    linked: set[DocumentId] = set()
    for page in pages:
        missing = []
        for text, target in page.links:
            if not is_address(target):
                continue
            found = library.resolve(page.id, target)
            if found.id is not None and found.id != page.id:
                linked.add(found.id)
            elif found.reason == "dangling":
                missing.append(f"“{text}” to {target}")
        if missing:
            shown = "; ".join(missing[:5]) + (f"; and {len(missing) - 5} more" if len(missing) > 5 else "")
            broken.append(_finding("broken_links", page, shown, len(missing)))
    return broken, linked


def _orphans(pages: Sequence[Page], linked: set[DocumentId]) -> list[HealthFinding]:
    """Return the pages that nobody can browse to.

    A table of contents that leaves a page out says so outright. Where the source has none, links must be how readers get
    around there: in an instance whose pages mostly have no link, being without one means nothing.
    """
    by_source: defaultdict[str, list[Page]] = defaultdict(list)
    for page in pages:
        by_source[_source(page.id)].append(page)
    found = []
    for group in by_source.values():
        has_toc = any(page.in_toc is not None for page in group)
        share = sum(page.id in linked for page in group) / len(group)
        for page in group:
            if page.in_toc or page.id in linked or _is_entry(page.id.key):
                continue
            if page.in_toc is False:
                found.append(_finding("orphaned", page, "left out of the table of contents, and no page links to it"))
            elif not has_toc and share >= _MOSTLY and page.id.kind in LINKED_KINDS - {"wordpress"}:
                found.append(_finding("orphaned", page, f"no page links to it; {share:.0%} of its source's pages are linked"))
    return found


def _contradictions(pages: Sequence[Page]) -> list[HealthFinding]:
    """Compare the earliest version that each source states for a name."""
    stated: defaultdict[str, dict[str, tuple[str, Page]]] = defaultdict(dict)
    for page in pages:
        for name, version in page.versions:
            sources = stated[name]
            known = sources.get(_source(page.id))
            if known is None or version_order(version) < version_order(known[0]):
                sources[_source(page.id)] = (version, page)
    found = []
    for name, sources in sorted(stated.items()):
        if len({version_order(version) for version, _ in sources.values()}) < 2:
            continue
        for source, (version, page) in sorted(sources.items()):
            others = ", ".join(f"{other} says {said}" for other, (said, _) in sorted(sources.items()) if other != source)
            found.append(_finding("contradicting_versions", page, f"{name}: since {version} here, {others}", len(sources)))
    return found


def _is_entry(key: str) -> bool:
    """Tell whether a key is a site's or a folder's entry page, which is reached by its address."""
    stem = key.rsplit("/", 1)[-1].rsplit(".", 1)[0].casefold()
    return stem in _ENTRY_NAMES or stem == ""


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _finding(category: str, page: Page, detail: str, weight: float = 1.0) -> HealthFinding:
    return HealthFinding(category, page.id, page.title, page.url, detail, weight)


def _source(document: DocumentId) -> str:
    return f"{document.kind}/{document.instance}"
