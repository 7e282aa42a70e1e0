"""Reads a folder of recorded wp-json responses: one object a file, arrays, whole collections, and what lies beside them.

Every file ends in a document, a term, a resource or a reject. No request is made and no HTML is read here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bbj_pipeline.records import Reject
from bbj_pipeline.sources.contract import InputFiles
from bbj_pipeline.sources.folder import FolderFiles, read_now
from bbj_pipeline.sources.wordpress.shapes import canonical, shape_of, term_key, term_record, version_rank

__all__ = ["Objects", "list_dump", "read_dump"]

_IGNORED = frozenset({"robots.txt", "readme.md", "readme.txt", "license", "license.txt", "thumbs.db"})


@dataclass
class Objects:
    """What an instance holds: documents and terms by key, other files and objects by key, and what cannot be used.

    ``resources`` keeps bytes: they are shown in the export and never parsed.
    """

    documents: MutableMapping[str, Mapping[str, Any]] = field(default_factory=dict)
    terms: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    resources: dict[str, bytes] = field(default_factory=dict)
    rejects: dict[str, Reject] = field(default_factory=dict)

    def add(self, item: Any, key: str) -> None:
        """File one decoded object; ``key`` names it when it has no identity of its own."""
        if not isinstance(item, Mapping):
            self.reject(key, "not-an-object", f"expected a JSON object of the REST API, found {type(item).__name__}")
            return
        try:
            self._file(item, key)
        except RecursionError:
            self.reject(key, "too-deep", "the JSON nests too deeply to be written again")

    def _file(self, item: Mapping[str, Any], key: str) -> None:
        shape = shape_of(item)
        if shape == "document":
            self._add_document(item)
        elif shape == "term":
            self.terms[term_key(str(item["taxonomy"]), item["id"])] = term_record(item)
        elif shape == "error":
            self.reject(key, "rest-error", f"an error response was recorded: {item.get('code')}: {item.get('message')}")
        elif shape == "unknown":
            self.reject(key, "unknown-shape", "not an object of the WordPress REST API that is known here")
        else:
            self.resources[key] = canonical(item)

    def reject(self, key: str, code: str, reason: str) -> None:
        """Keep one reject a key."""
        self.rejects[key] = Reject(key, code, reason)

    def _add_document(self, item: Mapping[str, Any]) -> None:
        key = str(item["id"])
        known = self.documents.get(key)
        if known is None or (version_rank(item), canonical(item)) > (version_rank(known), canonical(known)):
            self.documents[key] = item


def list_dump(folder: Path) -> FolderFiles:
    """List the files of a dump, hidden files and read-me files aside."""
    return FolderFiles(folder, lambda key: key.rpartition("/")[2].lower() not in _IGNORED)


def read_dump(files: InputFiles, documents: MutableMapping[str, Mapping[str, Any]] | None = None) -> Objects:
    """Read every file of a dump, its posts into ``documents``.

    Raises ``SourceUnavailable`` on a read error.
    """
    objects = Objects() if documents is None else Objects(documents)
    for key in files.all_keys():
        found = read_now(files, key)
        if isinstance(found, Reject):
            objects.rejects[key] = found
        else:
            _add_file(objects, key, found)
    return objects


def _add_file(objects: Objects, key: str, content: bytes) -> None:
    try:
        value = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        looks = "HTML" if content.lstrip()[:1] == b"<" else "something else"
        objects.reject(key, "not-json", f"expected a recorded JSON response, found {looks}")
        return
    if isinstance(value, Mapping) and {"body", "status", "headers"} <= set(value):
        value = value["body"]  # recorded with ?_envelope
    if isinstance(value, list):
        for number, item in enumerate(value):
            objects.add(item, key if len(value) == 1 else f"{key}#{number}")
        if not value:
            objects.reject(key, "empty-page", "a recorded page of a collection without a single object: nothing to index")
        return
    objects.add(value, key)
