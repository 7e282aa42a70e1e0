"""Where raw projects lie inside an export, which files are topics, and what each topic depends on.

Paths and references only: what snippets and variables mean inside a topic is known to ``madcap``, tables of contents to
``toc``.
"""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote

from bbj_pipeline.sources.flare.files import ExportFiles, read_needed
from bbj_pipeline.sources.markup import decode

__all__ = ["Dependencies", "Layout", "Needs", "Project", "find_layout", "is_wanted", "possible_keys", "resolve_reference"]

_TOPICS = (".htm", ".html", ".xhtml")
_RESOURCES = (".flsnp", ".flvar")
_PLANS = (".fltoc", ".flprj", ".fltar", ".flcts")
_SNIPPET_REFERENCE = re.compile(r"""\bsrc\s*=\s*["']([^"']+\.flsnp)["']""", re.I)
_EMPTY_XREF = re.compile(r"<MadCap:xref\b([^<>]*)(?:/>|>\s*</MadCap:xref\s*>)", re.I)
_HREF = re.compile(r"""\bhref\s*=\s*["']([^"']+)["']""", re.I)
_CONTENT = re.compile(r"(?:(?<=/)|^)Content/")
_VARIABLE_MARKS = ("adCap:variable", "adcap:variable", "data-mc-variable", "[%=")


def is_wanted(key: str) -> bool:
    """Say whether a file belongs to an export: a topic, a resource of topics, or a plan of the project."""
    return key.lower().endswith(_TOPICS + _RESOURCES + _PLANS)


def resolve_reference(reference: str, *, base: str, root: str) -> str | None:
    """Return the key that a reference in the file ``base`` means; ``/`` begins at the project ``root``.

    The fragment and URL quoting are taken off. ``None`` for references that lead out of the instance or to another site.
    """
    path = unquote(html.unescape(reference)).replace("\\", "/").partition("#")[0].strip()
    if not path or "://" in path:
        return None
    start = root if path.startswith("/") else posixpath.dirname(base)
    key = posixpath.normpath(posixpath.join(start, path.lstrip("/")))
    return None if key == ".." or key.startswith(("../", "/")) else key


def possible_keys(reference: str, *, base: str, root: str) -> tuple[str, ...]:
    """Return the keys that a reference may mean, the likeliest first.

    References from the project's root begin with ``/Content/``; where the export is that folder alone, its keys do not.
    """
    key = resolve_reference(reference, base=base, root=root)
    if key is None:
        return ()
    if reference.strip().replace("\\", "/").startswith("/") and key.startswith(f"{root}Content/"):
        return key, root + key.removeprefix(f"{root}Content/")
    return (key,)


@dataclass(frozen=True, slots=True)
class Project:
    """A raw project: ``root`` is the key of its folder with a final ``/`` (empty for the instance's own root)."""

    root: str

    @property
    def content(self) -> str:
        """Prefix of the keys of its topics and snippets."""
        return f"{self.root}Content/"


@dataclass(frozen=True, slots=True)
class Layout:
    """All keys of an export and the projects among them."""

    keys: tuple[str, ...]
    projects: tuple[Project, ...]
    by_lower: dict[str, str]
    by_root: dict[str, Project]
    plans: dict[tuple[Project, str], list[str]]

    def project_of(self, key: str) -> Project | None:
        """Return the innermost project in whose folder ``key`` lies."""
        return _innermost(key, self.by_root)

    def is_topic(self, key: str) -> bool:
        """Say whether ``key`` is a document: a topic file, and in a project one below ``Content/`` (not built output)."""
        project = self.project_of(key)
        return key.lower().endswith(_TOPICS) and (project is None or key.startswith(project.content))

    def is_resource(self, key: str) -> bool:
        """Say whether ``key`` is a snippet or a variable set."""
        return key.lower().endswith(_RESOURCES)

    def existing(self, key: str | None) -> str | None:
        """Return the key as the export spells it: authors on Windows do not mind capitals."""
        return self.by_lower.get(key.lower()) if key is not None else None

    def target(self, reference: str, base: str) -> str | None:
        """Return the key of the file that ``reference`` in the file ``base`` means, if there is such a file."""
        project = self.project_of(base)
        keys = possible_keys(reference, base=base, root=project.root if project else "")
        return next(filter(None, map(self.existing, keys)), None)

    def below(self, project: Project, suffix: str) -> list[str]:
        """Return the keys of a project's files of one kind (``.fltoc``, ``.flvar``), innermost project only."""
        return self.plans.get((project, suffix), [])


def find_layout(keys: Iterable[str]) -> Layout:
    """Find the projects: folders with a ``.flprj``, or with both ``Content/`` and a ``Project/`` of Flare files.

    Without these, the folder whose ``Content/`` holds all topics is one.
    """
    ordered = tuple(keys)
    roots = {_folder(key) for key in ordered if key.lower().endswith(".flprj")}
    with_content = {key[: found.start()] for key in ordered if (found := _CONTENT.search(key))}
    for key in ordered:
        if not key.lower().endswith(_TOPICS) and (found := re.search(r"(?:(?<=/)|^)Project/", key)):
            roots |= {key[: found.start()]} & with_content
    if not roots and len(with_content) == 1:
        topics = (key for key in ordered if key.lower().endswith(_TOPICS))
        roots = with_content if all(_CONTENT.search(key) for key in topics) else set()
    projects = tuple(Project(root) for root in sorted(roots, key=lambda root: (-len(root), root)))
    by_root = {project.root: project for project in projects}
    plans: dict[tuple[Project, str], list[str]] = {}
    for key in ordered:
        suffix = posixpath.splitext(key)[1].lower()
        if suffix in _RESOURCES + _PLANS and (project := _innermost(key, by_root)) is not None:
            plans.setdefault((project, suffix), []).append(key)
    return Layout(ordered, projects, {key.lower(): key for key in reversed(ordered)}, by_root, plans)


def _innermost(key: str, by_root: dict[str, Project]) -> Project | None:
    folder = key.rpartition("/")[0]
    while folder and f"{folder}/" not in by_root:
        folder = folder.rpartition("/")[0]
    return by_root.get(f"{folder}/" if folder else "")


def _folder(key: str) -> str:
    folder = posixpath.dirname(key)
    return f"{folder}/" if folder else ""


@dataclass(frozen=True, slots=True)
class Needs:
    """What decides how a topic reads besides itself: ``resources`` it depends on, and topics whose titles it shows."""

    resources: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Uses:
    """What one file refers to itself."""

    snippets: frozenset[str] = frozenset()
    titles: frozenset[str] = frozenset()
    variables: bool = False


class Dependencies:
    """Finds what decides how a topic reads: its snippets, theirs, the variable sets of its project, linked titles."""

    def __init__(self, files: ExportFiles, layout: Layout) -> None:
        self._files = files
        self._layout = layout
        self._snippets: dict[str, _Uses] = {}
        self._variable_sets = {project: layout.below(project, ".flvar") for project in layout.projects}

    def of(self, key: str, content: bytes) -> Needs:
        """Return what a topic needs, sorted; snippets and topics that do not exist are not in it."""
        uses = _uses(self._layout, key, content)
        project = self._layout.project_of(key)
        found: set[str] = set()
        titles, variables = set(uses.titles), uses.variables
        waiting = list(uses.snippets)
        while waiting:
            snippet = waiting.pop()
            if snippet in found:
                continue
            found.add(snippet)
            inner = self._snippet(snippet)
            waiting.extend(inner.snippets)
            titles |= inner.titles
            variables = variables or inner.variables
        if variables and project is not None:
            found.update(self._variable_sets[project])
        return Needs(tuple(sorted(found)), tuple(sorted(titles)))

    def _snippet(self, key: str) -> _Uses:
        if key not in self._snippets:
            content = read_needed(self._files, key)
            self._snippets[key] = _uses(self._layout, key, content) if content is not None else _Uses()
        return self._snippets[key]


def _uses(layout: Layout, key: str, content: bytes) -> _Uses:
    text = decode(content).text
    snippets = {layout.target(found, key) for found in _SNIPPET_REFERENCE.findall(text)}
    links = {href[1] for xref in _EMPTY_XREF.findall(text) if (href := _HREF.search(xref))} if "xref" in text else ()
    titles = {topic for link in links if (topic := layout.target(link, key)) is not None and layout.is_topic(topic)}
    return _Uses(frozenset(filter(None, snippets)), frozenset(titles), variables=any(mark in text for mark in _VARIABLE_MARKS))
