"""What the files around the Markdown say of a Docusaurus site, its folders' labels, sidebars and versions: where a document is.

Only these files are read, each bounded. No Markdown is read here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bbj_pipeline.sources.contract import InputFiles
from bbj_pipeline.sources.mdx import paths
from bbj_pipeline.sources.mdx.sidebars import Sidebars, read_sidebars

__all__ = ["Site", "read_site"]

_MAX_BYTES = 262_144


@dataclass(frozen=True, slots=True)
class Site:
    """Labels by folder, sidebars by the folder of documents they order, and versions, the published one first."""

    labels: Mapping[str, str] = field(default_factory=dict)
    sidebars: Mapping[str, Sidebars] = field(default_factory=dict)
    versions: tuple[str, ...] = ()

    def ordered(self, key: str) -> bool:
        """Say whether a sidebar decides about the document's section, so that its front matter's ``id`` matters."""
        return "/".join(paths.docs_root(key)) in self.sidebars

    def place(self, key: str, front_matter: Mapping[str, Any]) -> dict[str, Any]:
        """Return metadata: ``section_path``, ``in_toc`` (false) where a sidebar file leaves the document out, and ``route``
        where versions decide under which path documents are published."""
        root = paths.docs_root(key)
        metadata: dict[str, Any] = {"section_path": [*self._version(root), *self._sections(key, root, front_matter)]}
        if not self._in_toc(key, root, front_matter):
            metadata["in_toc"] = False
        if self.versions and root:
            version = root[1].removeprefix("version-") if len(root) > 1 else "next"
            metadata["route"] = "docs" if version == self.versions[0] else f"docs/{version}"
        return metadata

    def _version(self, root: tuple[str, ...]) -> tuple[str, ...]:
        return (f"Version {root[1].removeprefix('version-')}",) if len(root) > 1 else ()

    def _in_toc(self, key: str, root: tuple[str, ...], front_matter: Mapping[str, Any]) -> bool:
        """Say whether a sidebar shows the document; a site without a sidebar file shows all of its documents."""
        sidebars = self.sidebars.get("/".join(root))
        if sidebars is None or paths.document_id(key, front_matter) in sidebars.documents:
            return True
        return sidebars.folder_of("/".join(key.split("/")[len(root) : -1])) is not None

    def _sections(self, key: str, root: tuple[str, ...], front_matter: Mapping[str, Any]) -> tuple[str, ...]:
        by_folder = paths.section_path(key, self.labels)
        sidebars = self.sidebars.get("/".join(root))
        if sidebars is None:
            return by_folder
        listed = sidebars.documents.get(paths.document_id(key, front_matter))
        if listed is not None:
            return listed
        folders = key.split("/")[len(root) : -1]
        found = sidebars.folder_of("/".join(folders))
        if found is None:
            return by_folder
        name, above = found
        return above + by_folder[0 if name == "." else name.count("/") + 1 :]


def read_site(files: InputFiles, keys: Iterable[str]) -> Site:
    """Read what stands among ``files`` around the Markdown files ``keys``."""
    known = set(files.all_keys())

    def content(key: str) -> bytes | None:
        found = files.read(key) if key in known else None
        return found if isinstance(found, bytes) and len(found) <= _MAX_BYTES else None

    folders: set[str] = set()
    roots: set[tuple[str, ...]] = set()
    for key in keys:
        roots.add(paths.docs_root(key))
        parts = key.split("/")[:-1]
        folders.update("/".join(parts[:count]) for count in range(1, len(parts) + 1))
    labels = {folder: label for folder in folders if (label := paths.category_label(folder, content))}
    versions = _json_names(_text(content(paths.VERSIONS)))
    current = next((text for name in paths.SIDEBARS if (text := _text(content(name))) is not None), None)
    sidebars: dict[str, Sidebars] = {}
    for found in roots:
        if len(found) > 1:
            text = _text(content(f"{paths.VERSIONED_SIDEBARS}/{found[1]}-sidebars.json"))
        else:
            text = current if found or ("docs",) not in roots else None
        if text:
            sidebars["/".join(found)] = read_sidebars(text)
    return Site(labels, sidebars, versions)


def _text(content: bytes | None) -> str | None:
    if content is None:
        return None
    return content.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")


def _json_names(text: str | None) -> tuple[str, ...]:
    try:
        names = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return ()
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()
