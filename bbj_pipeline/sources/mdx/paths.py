"""What a Docusaurus path says: which files are documents, where they stand, under which URL path they are published.

Only paths, ``_category_`` files and front matter values are looked at; no Markdown is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from posixpath import normpath
from typing import Any

import yaml

from bbj_pipeline.sources.mdx.frontmatter import load_yaml

__all__ = [
    "category_label",
    "docs_root",
    "document_id",
    "is_beside",
    "is_markdown",
    "is_resource",
    "readable_name",
    "resolve_import",
    "section_path",
    "url_path",
]

_MARKDOWN = (".md", ".mdx")
_SKIPPED = frozenset(("node_modules", "__tests__", "bower_components"))
_BUILD = frozenset(("build", "dist", "out", "_site"))
_PREFIX = re.compile(r"\d+\s*[-_.]+\s*(?=[^-_.\s])")
_NOT_A_PREFIX = re.compile(r"(?:\d{2}|\d{4})[-_.]\d{2}(?:[-_.](?:\d{2}|\d{4}))?[-_.]|\d+[-_.]\d+")
"""Dates and versions (``7.0-notes``) keep their number (Docusaurus: ``numberPrefixParser``)."""
_CATEGORIES = ("_category_.json", "_category_.yml", "_category_.yaml")
SIDEBARS = ("sidebars.js", "sidebars.ts", "sidebars.cjs", "sidebars.mjs", "sidebars.json")
VERSIONS = "versions.json"
VERSIONED_SIDEBARS = "versioned_sidebars"
_MAX_CATEGORY_BYTES = 65_536


def is_markdown(key: str) -> bool:
    """Say whether ``key`` is a Markdown file that belongs to the site: not of a package, not of build output."""
    return key.lower().endswith(_MARKDOWN) and not _is_foreign(key.split("/")[:-1])


def is_beside(key: str) -> bool:
    """Say whether a file says where Markdown files belong: the label of a folder, a sidebar, or the list of versions."""
    *folders, name = key.split("/")
    if name in _CATEGORIES:
        return not _is_foreign(folders)
    if folders == [VERSIONED_SIDEBARS]:
        return name.endswith("-sidebars.json")
    return not folders and name in (*SIDEBARS, VERSIONS)


def _is_foreign(folders: list[str]) -> bool:
    return bool(_SKIPPED.intersection(folders) or _BUILD.intersection(folders[:1]))


def is_resource(key: str) -> bool:
    """Say whether a Markdown file is no document: it or one of its folders starts with ``_`` (partials, sidebars)."""
    return any(part.startswith("_") for part in key.split("/"))


def category_label(folder: str, read: Callable[[str], bytes | None]) -> str | None:
    """Return the label of a folder's ``_category_.json`` or ``_category_.yml``, ``None`` when there is none to be read.

    ``read`` gives a file of the site by its key, if there is one.
    """
    for name in _CATEGORIES:
        content = read(f"{folder}/{name}")
        if content is None or len(content) > _MAX_CATEGORY_BYTES:
            continue
        try:
            text = content.decode("utf-8-sig")
            fields = json.loads(text) if name.endswith("json") else load_yaml(text)
        except (ValueError, yaml.YAMLError, RecursionError):
            continue
        label = fields.get("label") if isinstance(fields, Mapping) else None
        if isinstance(label, str) and label.strip():
            return label.strip()
    return None


def docs_root(key: str) -> tuple[str, ...]:
    """Return the folders that hold documents and are no sections: ``docs``, or ``versioned_docs/version-1.0``."""
    folders = tuple(key.split("/")[:-1])
    if len(folders) > 1 and folders[0] == "versioned_docs" and folders[1].startswith("version-"):
        return folders[:2]
    return folders[:1] if folders[:1] == ("docs",) else ()


def document_id(key: str, front_matter: Mapping[str, Any]) -> str:
    """Return the id sidebars name a document by: its path below the docs folder, without number prefixes and extension."""
    *folders, name = key.split("/")[len(docs_root(key)) :]
    own = front_matter.get("id")
    last = own if isinstance(own, str) and own.strip() else re.sub(r"\.mdx?$", "", _without_prefix(name), flags=re.I)
    return "/".join([*map(_without_prefix, folders), last])


def section_path(key: str, labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return the sections above a document: the labels of its folders, or their readable names.

    ``labels`` is by folder path. The folder that holds all documents is no section, and the index document of a folder stands
    for it.
    """
    folders = key.split("/")[:-1]
    if folders and _is_index(key):
        folders = folders[:-1]
    paths = ["/".join(folders[: count + 1]) for count in range(len(docs_root(key)), len(folders))]
    return tuple(labels.get(path) or readable_name(path) for path in paths)


def readable_name(key: str) -> str:
    """Return the last part of a path as words: no number prefix, no extension, ``-`` and ``_`` as spaces.

    For an index document it is its folder's name.
    """
    parts = key.split("/")
    if _is_index(key) and len(parts) > 1:
        parts.pop()
    name = re.sub(r"\.mdx?$", "", _without_prefix(parts[-1]), flags=re.I)
    words = re.sub(r"[-_]+", " ", name).strip() or name
    return words[:1].upper() + words[1:]


def url_path(key: str, front_matter: Mapping[str, Any], route: str | None = None) -> str:
    """Return the URL path of a document below the site: without number prefixes and extension, by ``slug`` or ``id`` if set.

    ``route`` is where its docs folder is published, by default ``docs``, and ``docs/1.0`` for the folder of version 1.0. An
    absolute ``slug`` is relative to it.
    """
    root = docs_root(key)
    if route is None:
        route = "/".join(["docs", *(name.removeprefix("version-") for name in root[1:])] if root else [])
    base = [route] if root and route else []
    folders = [*base, *(_without_prefix(part) for part in key.split("/")[len(root) : -1])]
    name = re.sub(r"\.mdx?$", "", _without_prefix(key.split("/")[-1]), flags=re.I)
    slug = front_matter.get("slug")
    if isinstance(slug, str | int) and not isinstance(slug, bool) and str(slug).strip():
        text = str(slug).strip()
        joined = "/".join([*(base if text.startswith("/") else folders), text.strip("/")])
        return normpath(f"/{joined}").strip("/")
    if _is_index(key):
        return "/".join(folders)
    identity = front_matter.get("id")
    last = str(identity).strip("/ ") if isinstance(identity, str | int) and not isinstance(identity, bool) else ""
    return "/".join([*folders, last or name])


def resolve_import(key: str, target: str) -> list[str]:
    """Return the keys an import of ``target`` in document ``key`` may mean, most likely first; none leads out of the root."""
    if target.startswith("@site/"):
        path = target[len("@site/") :]
        candidates = [path, path.partition("/")[2]]
    elif target.startswith("."):
        candidates = ["/".join([*key.split("/")[:-1], target])]
    else:
        return []
    plain = (normpath(candidate) for candidate in candidates if candidate)
    return [candidate for candidate in plain if not candidate.startswith(("../", "/"))]


def _is_index(key: str) -> bool:
    """Docusaurus: ``index``, ``README`` and a file named as its folder are the folder's own page."""
    parts = key.split("/")
    name = re.sub(r"\.mdx?$", "", parts[-1], flags=re.I)
    folder = _without_prefix(parts[-2]).lower() if len(parts) > 1 else None
    return name.lower() in ("index", "readme") or (_without_prefix(name).lower() == folder)


def _without_prefix(name: str) -> str:
    found = _PREFIX.match(name)
    return name[found.end() :] if found and not _NOT_A_PREFIX.match(name) else name
