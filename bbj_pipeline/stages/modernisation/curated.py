"""The links that people wrote: reads the YAML of a links file. What its ids mean is decided in ``graph``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import yaml

from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.records import DocumentId

__all__ = ["RELATIONS", "CuratedLink", "Relation", "parse_links"]

Relation = Literal["superseded_by", "related"]
RELATIONS: tuple[Relation, ...] = ("superseded_by", "related")
"""``supersedes`` is ``superseded_by`` read from the other end, and is not written twice."""

_REMEDY = "write a list 'links:' of entries with from, one of superseded_by and related, and optionally note"
_MAX_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class CuratedLink:
    """A reviewed link; ``where`` is its place in the file, for messages."""

    source: DocumentId
    relation: Relation
    target: DocumentId
    note: str
    where: str


def parse_links(text: str, name: str) -> tuple[CuratedLink, ...]:
    """Read a links file, whose name is used in messages.

    A target may be a list. Raises ``ConfigurationError`` naming the file, the entry and what is expected.
    """
    if len(text) > _MAX_BYTES:
        raise ConfigurationError(f"{name} has {len(text):,} characters", remedy=f"keep it below {_MAX_BYTES:,}")
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}" if mark else ""
        raise ConfigurationError(f"{name}{line} is not valid YAML", remedy="correct the indentation or quoting") from None
    if document is None:
        return ()
    entries = document.get("links") if isinstance(document, Mapping) else None
    if not isinstance(document, Mapping) or set(document) - {"links"} or not isinstance(entries, list | None):
        raise ConfigurationError(f"{name} is not a list of links", remedy=_REMEDY)
    return tuple(link for number, entry in enumerate(entries or (), 1) for link in _entry(f"{name}: link {number}", entry))


def _entry(where: str, entry: Any) -> list[CuratedLink]:
    if not isinstance(entry, Mapping):
        raise ConfigurationError(f"{where} is not a mapping", remedy=_REMEDY)
    unknown = sorted(map(str, set(entry) - {"from", "note", *RELATIONS}))
    if unknown:
        raise ConfigurationError(f"{where} has an unknown key {unknown[0]!r}", remedy=_REMEDY)
    named: list[Relation] = [relation for relation in RELATIONS if relation in entry]
    if "from" not in entry or not named:
        raise ConfigurationError(f"{where} has no {'from' if 'from' not in entry else 'relation'}", remedy=_REMEDY)
    note = entry.get("note", "")
    if not isinstance(note, str):
        raise ConfigurationError(f"{where}: note is not text", remedy="write it in quotes")
    source = _id(f"{where}: from", entry["from"])
    return [
        CuratedLink(source, relation, _id(f"{where}: {relation}", target), " ".join(note.split()), where)
        for relation in named
        for target in (entry[relation] if isinstance(entry[relation], list) else [entry[relation]])
    ]


def _id(where: str, value: Any) -> DocumentId:
    parts = value.split("/", 2) if isinstance(value, str) else []
    if len(parts) != 3 or not all(parts):
        raise ConfigurationError(f"{where} is {value!r}, no document", remedy="write kind/instance/key, as search shows them")
    return DocumentId(*parts)
