"""Joins what documents say of one another and what people wrote into one graph without dangling ids and without cycles.

A curated link that cannot be true is refused with its remedy, for a person wrote it and can mend it; an extracted one is
dropped and reported, for prose is no contract.
"""

from __future__ import annotations

import difflib
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.records import DocumentId
from bbj_pipeline.stages.modernisation.curated import CuratedLink, Relation
from bbj_pipeline.stages.modernisation.targets import Library

__all__ = ["DocumentLink", "DroppedLink", "LinkGraph", "Statement", "build_graph"]


@dataclass(frozen=True, slots=True)
class Statement:
    """What one document says: its targets by ``superseded_by``, ``supersedes`` and ``related``, and its migration note."""

    source: DocumentId
    targets: Mapping[str, Sequence[str]]
    note: str = ""


@dataclass(frozen=True, slots=True, order=True)
class DocumentLink:
    """A link of the graph. ``related`` stands once, as its document says it; it is read from both ends."""

    source: DocumentId
    relation: Relation
    target: DocumentId
    origin: Literal["curated", "extracted"]
    note: str = ""


@dataclass(frozen=True, slots=True, order=True)
class DroppedLink:
    """An extracted link that is not in the graph. ``reason`` is ``dangling``, ``ambiguous`` or ``cycle``."""

    source: DocumentId
    relation: str
    target: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class LinkGraph:
    """The links, sorted, and what was left out."""

    links: tuple[DocumentLink, ...]
    dropped: tuple[DroppedLink, ...]


def build_graph(
    library: Library,
    statements: Iterable[Statement],
    curated: Sequence[CuratedLink],
    *,
    configured: Collection[tuple[str, str]],
) -> LinkGraph:
    """Return the graph of curated and extracted links over the published documents of ``library``.

    ``configured`` are the (kind, instance) of ``sources.yaml``. Raises ``ConfigurationError`` for a curated link whose
    documents are not published, naming each id with what to do, and for a cycle of curated links, naming its path.
    """
    _refuse_unknown(library, curated, configured)
    graph = _Graph()
    for link in curated:
        path = graph.add(DocumentLink(link.source, link.relation, link.target, "curated", link.note))
        if path:
            raise ConfigurationError(
                f"{link.where} closes a cycle: {' → '.join(map(str, path))}",
                remedy="remove one of these links from the links file: what supersedes a document cannot be superseded by it",
            )
    dropped: list[DroppedLink] = []
    for statement in sorted(statements, key=lambda item: item.source):
        _extract(library, statement, graph, dropped)
    return LinkGraph(tuple(sorted(graph.links.values())), tuple(sorted(dropped)))


class _Graph:
    """Links by (source, relation, target), and who is superseded by whom."""

    def __init__(self) -> None:
        self.links: dict[tuple[DocumentId, Relation, DocumentId], DocumentLink] = {}
        self._successors: defaultdict[DocumentId, list[DocumentId]] = defaultdict(list)

    def add(self, link: DocumentLink) -> tuple[DocumentId, ...]:
        """Add a link that is not there yet; return the path of the cycle it would close, and then do not add it."""
        place = (link.source, link.relation, link.target)
        if place in self.links or (link.relation == "related" and (link.target, link.relation, link.source) in self.links):
            return ()
        if link.relation == "superseded_by":
            if path := self._path(link.target, link.source):
                return (link.source, *path)
            self._successors[link.source].append(link.target)
        elif link.source == link.target:
            return (link.source, link.target)
        self.links[place] = link
        return ()

    def _path(self, start: DocumentId, end: DocumentId) -> tuple[DocumentId, ...]:
        """Return a shortest path of successors from ``start`` to ``end``, empty when there is none."""
        before: dict[DocumentId, DocumentId | None] = {start: None}
        waiting = deque([start])
        while waiting:
            current = waiting.popleft()
            if current == end:
                path: list[DocumentId] = []
                step: DocumentId | None = current
                while step is not None:
                    path.append(step)
                    step = before[step]
                return tuple(reversed(path))
            for following in self._successors.get(current, ()):
                if following not in before:
                    before[following] = current
                    waiting.append(following)
        return ()


def _extract(library: Library, statement: Statement, graph: _Graph, dropped: list[DroppedLink]) -> None:
    source = statement.source
    for relation in ("superseded_by", "supersedes", "related"):
        for target in statement.targets.get(relation, ()):
            found = library.resolve(source, target)
            if found.id is None:
                # "See also" lists name much that is no document here; a successor that is none is worth a look.
                if found.reason != "external" or relation != "related":
                    reason = "dangling" if found.reason == "external" else found.reason
                    dropped.append(DroppedLink(source, relation, target, reason, ", ".join(map(str, found.candidates[:5]))))
                continue
            if found.id == source:
                continue
            link = _link(source, relation, found.id, statement.note)
            if path := graph.add(link):
                dropped.append(DroppedLink(source, relation, target, "cycle", " → ".join(map(str, path))))


def _link(source: DocumentId, relation: str, target: DocumentId, note: str) -> DocumentLink:
    if relation == "related":
        return DocumentLink(source, "related", target, "extracted")
    older, newer = (source, target) if relation == "superseded_by" else (target, source)
    return DocumentLink(older, "superseded_by", newer, "extracted", note if relation == "superseded_by" else "")


def _refuse_unknown(library: Library, curated: Sequence[CuratedLink], configured: Collection[tuple[str, str]]) -> None:
    problems: dict[str, None] = {}
    for link in curated:
        for item in (link.source, link.target):
            if item not in library:
                problems.setdefault(f"{link.where} names {item}: {_why_unknown(library, item, configured)}")
    if problems:
        raise ConfigurationError(
            f"{len(problems)} id{'s' if len(problems) > 1 else ''} of the links file are not published documents: "
            + "; ".join(problems),
            remedy="correct or remove these links, or publish the documents first",
        )


def _why_unknown(library: Library, item: DocumentId, configured: Collection[tuple[str, str]]) -> str:
    where = f"{item.kind}/{item.instance}"
    if (item.kind, item.instance) not in configured:
        return f"{where} is not configured in sources.yaml"
    if (item.kind, item.instance) not in library.instances():
        return f"{where} is configured and not published yet (bbj-pipeline run --source {where})"
    keys = [known.key for known in library if (known.kind, known.instance) == (item.kind, item.instance)]
    near = difflib.get_close_matches(item.key, keys, n=1, cutoff=0.6)
    return f"{where} has no such document" + (f", the nearest is {near[0]}" if near else "")
