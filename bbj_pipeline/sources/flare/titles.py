"""What topics are called where others refer to them: in tables of contents and in cross references without a text.

Reads topics for their titles only, each at most once. How a topic itself gets its title is told in ``topics``.
"""

from __future__ import annotations

from collections.abc import Mapping

from bbj_pipeline.sources.flare.conditions import TargetConditions
from bbj_pipeline.sources.flare.files import ExportFiles, read_needed
from bbj_pipeline.sources.flare.project import Layout, Project
from bbj_pipeline.sources.flare.topics import file_title, own_title, variables_of
from bbj_pipeline.sources.markup import MarkupError, parse_document, text_of

__all__ = ["Titles"]

_NO_VARIABLES: Mapping[str, str] = {}


class Titles:
    """The titles of the topics of one export, and the variables they are written with."""

    def __init__(self, files: ExportFiles, layout: Layout, target: TargetConditions) -> None:
        self._files = files
        self._layout = layout
        self._target = target
        self._variables: dict[Project, Mapping[str, str]] = {}
        self._titles: dict[str, str] = {}

    def variables(self, project: Project | None) -> Mapping[str, str]:
        """Return the values of a project's variables by ``set.name`` in lower case."""
        if project is None:
            return _NO_VARIABLES
        if project not in self._variables:
            read = ((key, read_needed(self._files, key)) for key in self._layout.below(project, ".flvar"))
            self._variables[project] = variables_of(
                {key: content for key, content in read if content is not None}, self._target
            )
        return self._variables[project]

    def of(self, key: str) -> str:
        """Return a topic's title as others show it: its own, else its first heading, else its file name.

        Raises ``SourceUnavailable`` when the topic cannot be read now.
        """
        if key not in self._titles:
            self._titles[key] = self._read(key)
        return self._titles[key]

    def _read(self, key: str) -> str:
        content = read_needed(self._files, key)
        if content is None:
            return file_title(key)
        try:
            root = parse_document(content).root
        except MarkupError:
            return file_title(key)
        variables = self.variables(self._layout.project_of(key))
        for element in root.iter("{*}variable"):
            element.text = variables.get((element.get("name") or "").casefold(), element.text)
        headings = (text_of(heading) for heading in root.iter("h1", "h2", "h3", "h4", "h5", "h6"))
        return own_title(root, variables, []) or next(filter(None, headings), "") or file_title(key)
