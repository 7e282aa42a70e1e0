"""Tables of contents of a raw project: where each topic stands, by the titles of the entries above it.

Linked tables of contents are read in place; what a topic's own title is, is asked of the caller.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass, field

from lxml import etree

from bbj_pipeline.records import Reject
from bbj_pipeline.sources.flare.conditions import TargetConditions, tags_of
from bbj_pipeline.sources.flare.files import ExportFiles, read_needed
from bbj_pipeline.sources.flare.project import Layout, Project
from bbj_pipeline.sources.markup import ENTITIES, MarkupError, parse_document

__all__ = ["Contents", "Place", "read_tocs"]

_LINKED_TITLE = "System.LinkedTitle"
_MAX_DEPTH = 100
_MAX_ENTRIES = 500_000
"""Entries that are read in all: tables that link each other twice at each level would never end."""
_MAX_LINKED = 100
"""Tables of contents that link each other: longer chains are broken or hostile."""
_MAX_TITLE = 1_000
_MAX_PLACES = 100
"""Places of one topic that are kept."""
_CONDITIONS = "{http://www.madcapsoftware.com/Schemas/MadCap.xsd}conditions"

Path = tuple[str, ...]


@dataclass(slots=True)
class Place:
    """All places of one topic, the deciding one first, and the title its entry gives it, if it gives one of its own."""

    paths: list[Path] = field(default_factory=list)
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Contents:
    """What the tables of contents of a project say: the place of each topic, and the tables that cannot be read."""

    places: dict[str, Place]
    refused: dict[str, Reject]


def read_tocs(
    files: ExportFiles,
    layout: Layout,
    project: Project,
    *,
    title_of: Callable[[str], str],
    substitute: Callable[[str], str],
    target: TargetConditions,
    first: str | None,
) -> Contents:
    """Return the places of all topics that stand in any table of contents of ``project``.

    ``title_of`` gives a linked topic's title, ``substitute`` replaces variables in entries. The table named ``first`` comes
    before the others, which are read by name; those that another one links are read only there.
    """
    parsed = {key: _parse(files, key) for key in layout.below(project, ".fltoc")}
    refused = {key: found for key, found in parsed.items() if isinstance(found, Reject)}
    trees = {key: found for key, found in parsed.items() if not isinstance(found, Reject)}
    reader = _Reader(layout, project, trees, title_of, substitute, target)
    linked = {
        key
        for toc, root in trees.items()
        for key in (reader.link(toc, entry) for entry in root.iter("TocEntry"))
        if key in trees
    }
    wanted = (first or "").lower().removesuffix(".fltoc")

    def order(key: str) -> tuple[bool, bool, str]:
        name = posixpath.basename(key).lower().removesuffix(".fltoc")
        return (name != wanted, key in linked, key)

    for key in sorted(trees, key=order):
        if key not in reader.seen:
            reader.read(key, ())
    return Contents(reader.places, refused)


def _parse(files: ExportFiles, key: str) -> etree._Element | Reject:
    content = read_needed(files, key)
    if content is None:
        return files.refused.get(key) or Reject(key, "unreadable-toc", "the table of contents may not be read")
    try:
        root = parse_document(content).root
    except MarkupError as error:
        return Reject(key, error.code if error.code == ENTITIES else "unreadable-toc", error.reason)
    if root.tag != "CatapultToc":
        return Reject(key, "unreadable-toc", "not a well-formed table of contents; its topics have their folders as place")
    return root


class _Reader:
    def __init__(
        self,
        layout: Layout,
        project: Project,
        trees: dict[str, etree._Element],
        title_of: Callable[[str], str],
        substitute: Callable[[str], str],
        target: TargetConditions,
    ) -> None:
        self._layout = layout
        self._project = project
        self._trees = trees
        self._title_of = title_of
        self._substitute = substitute
        self._target = target
        self.places: dict[str, Place] = {}
        self.seen: set[str] = set()
        self._left = _MAX_ENTRIES

    def link(self, toc: str, entry: etree._Element) -> str | None:
        """Return the key an entry of ``toc`` links to as the export spells it; it counts from the table or from the project."""
        reference = entry.get("Link") or ""
        return self._layout.target(reference, toc) or self._layout.target(reference, self._project.root)

    def read(self, toc: str, above: Path, trail: tuple[str, ...] = ()) -> None:
        """Place the topics of one table of contents below ``above``."""
        self.seen.add(toc)
        trail = (*trail, toc)
        waiting = [(entry, above) for entry in reversed(self._trees[toc].findall("TocEntry"))]
        while waiting and self._left > 0:
            self._left -= 1
            entry, path = waiting.pop()
            if not self._target.keeps(tags_of(entry.get(_CONDITIONS, ""))):
                continue
            link = self.link(toc, entry)
            own = entry.get("Title") or ""
            title = self._title(own, link)
            if link is not None and self._layout.is_topic(link):
                place = self.places.setdefault(link, Place())
                if len(place.paths) < _MAX_PLACES and path not in place.paths:
                    place.paths.append(path)
                if place.title is None and _LINKED_TITLE not in own and title:
                    place.title = title
            merged = link in self._trees and (entry.get("ReplaceMergeNode") or "").lower() == "true"
            below = path if merged or not title else (*path, title)
            chained = len(below) < _MAX_DEPTH and len(trail) < _MAX_LINKED
            if link is not None and link in self._trees and link not in trail and chained:
                self.read(link, below, trail)
            if len(below) < _MAX_DEPTH:
                waiting.extend((child, below) for child in reversed(entry.findall("TocEntry")))

    def _title(self, own: str, link: str | None) -> str:
        if _LINKED_TITLE not in own:
            return " ".join(self._substitute(own).split())[:_MAX_TITLE]
        return self._title_of(link) if link is not None and self._layout.is_topic(link) else ""
