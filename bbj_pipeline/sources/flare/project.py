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

__all__ = ["Dependencies", "Layout", "Project", "find_layout", "is_wanted", "resolve_reference"]

_TOPICS = (".htm", ".html", ".xhtml")
_RESOURCES = (".flsnp", ".flvar")
_PLANS = (".fltoc", ".flprj", ".fltar", ".flcts")
_SNIPPET_REFERENCE = re.compile(r"""\bsrc\s*=\s*["']([^"']+\.flsnp)["']""", re.I)
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

    def project_of(self, key: str) -> Project | None:
        """Return the innermost project in whose folder ``key`` lies."""
        return next((project for project in self.projects if key.startswith(project.root)), None)

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

    def below(self, project: Project, suffix: str) -> list[str]:
        """Return the keys of a project's files of one kind, innermost project only."""
        return [key for key in self.keys if key.lower().endswith(suffix) and self.project_of(key) == project]


def find_layout(keys: Iterable[str]) -> Layout:
    """Find the projects: folders with a ``.flprj``, or with both ``Content/`` and a ``Project/`` of Flare files."""
    ordered = tuple(keys)
    roots = {_folder(key) for key in ordered if key.lower().endswith(".flprj")}
    with_content = {key[: found.start()] for key in ordered if (found := re.search(r"(?:(?<=/)|^)Content/", key))}
    for key in ordered:
        if not key.lower().endswith(_TOPICS) and (found := re.search(r"(?:(?<=/)|^)Project/", key)):
            roots |= {key[: found.start()]} & with_content
    projects = tuple(Project(root) for root in sorted(roots, key=lambda root: (-len(root), root)))
    return Layout(ordered, projects, {key.lower(): key for key in reversed(ordered)})


def _folder(key: str) -> str:
    folder = posixpath.dirname(key)
    return f"{folder}/" if folder else ""


class Dependencies:
    """Finds the resources that decide how a topic reads: its snippets, theirs, and the variable sets of its project."""

    def __init__(self, files: ExportFiles, layout: Layout) -> None:
        self._files = files
        self._layout = layout
        self._snippets: dict[str, tuple[frozenset[str], bool]] = {}
        self._variable_sets = {project: layout.below(project, ".flvar") for project in layout.projects}

    def of(self, key: str, content: bytes) -> tuple[str, ...]:
        """Return the keys of a topic's resources, sorted; snippets that do not exist are not among them."""
        project = self._layout.project_of(key)
        found: set[str] = set()
        references, uses_variables = self._direct(key, content)
        waiting = list(references)
        while waiting:
            snippet = waiting.pop()
            if snippet in found:
                continue
            found.add(snippet)
            if snippet not in self._snippets:
                read = read_needed(self._files, snippet)
                self._snippets[snippet] = self._direct(snippet, read) if read is not None else (frozenset(), False)
            inner, inner_variables = self._snippets[snippet]
            waiting.extend(inner)
            uses_variables = uses_variables or inner_variables
        if uses_variables and project is not None:
            found.update(self._variable_sets[project])
        return tuple(sorted(found))

    def _direct(self, key: str, content: bytes) -> tuple[frozenset[str], bool]:
        text = decode(content).text
        project = self._layout.project_of(key)
        root = project.root if project else ""
        named = (resolve_reference(found, base=key, root=root) for found in _SNIPPET_REFERENCE.findall(text))
        snippets = frozenset(filter(None, (self._layout.existing(name) for name in named)))
        return snippets, any(mark in text for mark in _VARIABLE_MARKS)
