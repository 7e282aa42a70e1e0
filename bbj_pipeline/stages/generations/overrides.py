"""The manual override file: what a person says about the generations of documents, by exact key or by glob.

A YAML mapping of keys to ``set``, ``add`` or ``remove``. Reading and applying it lives here; which instance has one is
configuration, and which documents it misses is reported by the step that tags.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.records import GENERATIONS, Evidence, Generation, TaggedDoc
from bbj_pipeline.stages.generations.choice import in_order

__all__ = ["Override", "Overrides", "load_overrides", "parse_overrides"]

_ACTIONS = ("set", "add", "remove")
_REMEDY = "write  key or glob: {set: [dwc]}  with set, or add and remove"


@dataclass(frozen=True, slots=True)
class Override:
    """What is said of the documents that ``pattern`` names; ``replaced`` is ``None`` where nothing is set."""

    pattern: str
    replaced: tuple[Generation, ...] | None = None
    added: tuple[Generation, ...] = ()
    removed: tuple[Generation, ...] = ()

    def matches(self, key: str) -> bool:
        """Whether this is the key itself, or a glob that it fits: ``*`` stays within a folder, ``**`` does not."""
        return key == self.pattern or _glob(self.pattern).fullmatch(key) is not None


@dataclass(frozen=True, slots=True)
class Overrides:
    """All overrides of an instance in the order of the file."""

    items: tuple[Override, ...] = ()

    def apply(self, doc: TaggedDoc) -> TaggedDoc:
        """Return the document with what is said of it: globs in the order of the file, then its exact key."""
        for item in self._of(doc.topic.key):
            doc = _applied(item, doc)
        return doc

    def unmatched(self, keys: Collection[str]) -> tuple[str, ...]:
        """Return the patterns that fit none of ``keys``: misspelled, or about documents that are gone."""
        return tuple(item.pattern for item in self.items if not any(item.matches(key) for key in keys))

    def _of(self, key: str) -> list[Override]:
        return sorted((item for item in self.items if item.matches(key)), key=lambda item: item.pattern == key)


def load_overrides(path: Path) -> Overrides:
    """Read an override file. Raises ``ConfigurationError`` naming the file and the entry."""
    try:
        return parse_overrides(path.read_text(encoding="utf-8"), where=str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"cannot read {path} ({error})", remedy="set generation_overrides in sources.yaml to an existing UTF-8 file"
        ) from None


def parse_overrides(text: str, *, where: str) -> Overrides:
    """Return the overrides of a YAML text; ``where`` names it in errors. An empty text has none."""
    try:
        entries = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{where} is not valid YAML ({' '.join(str(error).split())})", remedy=_REMEDY) from None
    if entries is None:
        return Overrides()
    if not isinstance(entries, Mapping):
        raise ConfigurationError(f"{where} is not a mapping", remedy=_REMEDY)
    return Overrides(tuple(_override(str(pattern), entry, f"{where}: {pattern!r}") for pattern, entry in entries.items()))


def _override(pattern: str, entry: Any, where: str) -> Override:
    if not isinstance(entry, Mapping) or not entry or not set(entry) <= set(_ACTIONS):
        raise ConfigurationError(f"{where} is not made of {', '.join(_ACTIONS)}", remedy=_REMEDY)
    if "set" in entry and len(entry) > 1:
        raise ConfigurationError(f"{where} has set beside add or remove", remedy="set says all there is to say: use it alone")
    said = {action: _labels(value, f"{where}: {action}") for action, value in entry.items()}
    return Override(pattern, said.get("set"), said.get("add", ()), said.get("remove", ()))


def _labels(value: Any, where: str) -> tuple[Generation, ...]:
    if not isinstance(value, list):
        raise ConfigurationError(f"{where} is not a list", remedy="write the labels in brackets, as in [vpro5, dwc]")
    for label in value:
        if label not in GENERATIONS:
            raise ConfigurationError(f"{where}: unknown generation {label!r}", remedy=f"use {', '.join(GENERATIONS)}")
    return in_order(value)


def _applied(item: Override, doc: TaggedDoc) -> TaggedDoc:
    """Set, add or remove: ``set`` holds for the whole document, the others for it and each of its sections."""
    if item.replaced is not None:
        labels, given, sections = set(item.replaced), item.replaced, doc.sections[:0]
    else:
        labels = {*doc.generations, *item.added} - set(item.removed)
        given = item.added
        changed = (replace(s, generations=in_order({*s.generations, *given} - set(item.removed))) for s in doc.sections)
        sections = tuple(s for s in changed if s.generations and s.generations != in_order(labels))
    kept = [old for old in doc.evidence if old.label in labels and item.replaced is None]
    new = [Evidence(label, f"override {item.pattern!r}", "override", 1.0) for label in given if label in labels]
    return replace(doc, generations=in_order(labels), evidence=(*kept, *new), sections=sections)


@lru_cache(maxsize=1024)
def _glob(pattern: str) -> re.Pattern[str]:
    """Return a shell's glob as a pattern; ``**/`` is any number of folders, also none."""
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    return re.compile("".join(signs.get(part) or re.escape(part) for part in parts), re.DOTALL)
