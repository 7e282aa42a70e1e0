"""The Flare source: lists topics and resources of an export with all that the listing alone can know, and parses topics.

Formats inside topics live in the modules beside this one; here they are put together.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, ClassVar

from bbj_pipeline.records import RawDocument, Reject, Topic, Unfetched
from bbj_pipeline.sources.contract import NOTHING_EARLIER, EarlierExport, ReadResource, Source
from bbj_pipeline.sources.flare.conditions import parse_expression, tags_of
from bbj_pipeline.sources.flare.files import ExportFiles, open_export
from bbj_pipeline.sources.flare.options import FlareOptions
from bbj_pipeline.sources.flare.project import Dependencies, Layout, Needs, Project, find_layout, is_wanted
from bbj_pipeline.sources.flare.titles import Titles
from bbj_pipeline.sources.flare.toc import Contents, Place, read_tocs
from bbj_pipeline.sources.flare.topics import parse_topic
from bbj_pipeline.sources.flare.variables import substitute
from bbj_pipeline.sources.markup import ENTITIES, MarkupError, decode, refuse_entities

__all__ = ["FlareSource"]

_TOPIC_CONDITIONS = re.compile(r"""<html\b[^>]*?\b(?:madcap:|data-mc-)conditions\s*=\s*["']([^"']*)["']""", re.I)


class FlareSource(Source[FlareOptions]):
    """MadCap Flare: Clean XHTML exports and raw projects, as a folder or a ``.zip``."""

    kind: ClassVar[str] = "flare"
    title: ClassVar[str] = "MadCap Flare"
    parser_version: ClassVar[str] = "3"
    parse_options: ClassVar[frozenset[str]] = frozenset({"public_url", "conditions"})
    options_type = FlareOptions

    def files(self, options: FlareOptions) -> AbstractContextManager[ExportFiles]:
        """Open the folder or archive: topics, and what they are made of."""
        return open_export(options.path, is_wanted)

    def export(
        self, options: FlareOptions, earlier: EarlierExport = NOTHING_EARLIER
    ) -> Iterator[RawDocument | Reject | Unfetched]:
        """Yield topics and resources by key; topics that the target's conditions exclude are not part of the instance."""
        with self.files(options) as files:
            layout = find_layout(files.all_keys())
            files.refused.update((reject.key, reject) for reject in _with_entities(files, layout))
            places: dict[str, Place] = {}
            refused = dict(files.refused)
            target = parse_expression(options.conditions)
            titles = Titles(files, layout, target)
            for project in layout.projects:
                contents = _contents(files, layout, project, titles, options)
                places |= contents.places
                refused |= contents.refused
            dependencies = Dependencies(files, layout)
            for key in layout.keys:
                if key in refused:
                    yield refused[key]
                    continue
                is_topic = layout.is_topic(key)
                if not is_topic and not layout.is_resource(key):
                    continue
                content = files.read(key)
                if not isinstance(content, bytes):
                    yield content
                elif not is_topic:
                    yield RawDocument(key, content, "application/xml", "resource")
                elif not target.exclude or target.keeps(_topic_conditions(content)):
                    needs = dependencies.of(key, content) if layout.projects or _may_need(content) else Needs()
                    yield _spoilt(key, needs, refused) or _topic(key, content, layout, needs, titles, places.get(key))

    def parse(self, raw: RawDocument, options: FlareOptions, read: ReadResource) -> Iterator[Topic | Reject]:
        """Yield the one topic of a raw document, or why it is none."""
        yield parse_topic(raw, options, read)


def _with_entities(files: ExportFiles, layout: Layout) -> Iterator[Reject]:
    """Yield a reject for each project file that declares entities; topics say so themselves when they are parsed."""
    for key in layout.keys:
        content = files.read(key) if not layout.is_topic(key) else None
        if isinstance(content, bytes):
            try:
                refuse_entities(decode(content).text)
            except MarkupError as error:
                yield Reject(key, error.code, error.reason)


def _spoilt(key: str, needs: Needs, refused: Mapping[str, Reject]) -> Reject | None:
    """Return why a topic cannot be read although it is sound itself: a snippet or variable set of its declares entities.

    Half a topic in its place would replace the one that is served.
    """
    broken = (refused[needed] for needed in needs.resources if needed in refused)
    reasons = [f"in {reject.key}: {reject.reason}" for reject in broken if reject.code == ENTITIES]
    return Reject(key, ENTITIES, reasons[0]) if reasons else None


def _may_need(content: bytes) -> bool:
    """Say whether a topic outside of any project can have snippets or cross references to resolve at all."""
    return b".flsnp" in content or b"xref" in content or b"\0" in content


def _topic(key: str, content: bytes, layout: Layout, needs: Needs, titles: Titles, place: Place | None) -> RawDocument:
    project = layout.project_of(key)
    content_root = project.content if project else ""
    folders = posixpath.dirname(key.removeprefix(content_root))
    metadata: dict[str, Any] = {"section_path": [folder.replace("_", " ") for folder in folders.split("/") if folder]}
    if project is not None:
        metadata |= {"content_root": content_root, "project_root": project.root, "in_toc": place is not None}
    if place is not None:
        metadata["section_path"] = place.paths[0]
        metadata |= {"other_section_paths": place.paths[1:]} if len(place.paths) > 1 else {}
        metadata |= {"toc_title": place.title} if place.title else {}
    media_type = "application/xhtml+xml" if key.lower().endswith(".xhtml") else "text/html"
    if needs.titles:
        metadata["linked_titles"] = {linked: titles.of(linked) for linked in needs.titles}
    return RawDocument(key, content, media_type, dependencies=needs.resources, metadata=metadata)


def _topic_conditions(content: bytes) -> tuple[str, ...]:
    found = _TOPIC_CONDITIONS.search(decode(content[:8192]).text)
    return tags_of(found[1]) if found else ()


def _contents(files: ExportFiles, layout: Layout, project: Project, titles: Titles, options: FlareOptions) -> Contents:
    return read_tocs(
        files,
        layout,
        project,
        title_of=titles.of,
        substitute=lambda text: substitute(text, titles.variables(project), []),
        target=parse_expression(options.conditions),
        first=options.toc,
    )
