"""Splits YAML front matter from a Markdown file and reads the fields the pipeline knows. No Markdown is parsed here."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from bbj_pipeline.records import clean_text

__all__ = ["FrontMatter", "FrontMatterError", "document_metadata", "load_yaml", "split_front_matter"]

_FENCE = re.compile(r"\A---[ \t]*\n(.*?)(?:^|\n)---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_MAX_CHARACTERS = 16_384
"""Front matter is a few lines; a longer one is a horizontal rule somewhere far below, or an attack on the YAML reader."""
_MAX_BITS = 256
"""Size of a number that is one; a longer one is a mistake, and Python refuses to write those of over 4,300 digits."""
_MAX_MERGED = 1_000
_KNOWN = (
    "since_version", "deprecated_in", "still_valid", "supersedes", "superseded_by", "migration_note", "related", "description",
)  # fmt: skip


class FrontMatterError(ValueError):
    """Front matter that is not a YAML mapping; ``line`` is the line of the file, from 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"front matter, line {line}: {problem}")
        self.line = line


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The fields of a file's front matter (empty when there is none) and the Markdown below it."""

    body: str
    fields: Mapping[str, Any] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """Return a field as text, ``""`` when it is missing or neither text nor number."""
        value = self.fields.get(name)
        return str(value).strip() if _is_scalar(value) and not isinstance(value, bool) else ""


def split_front_matter(text: str) -> FrontMatter:
    """Return the front matter and body of a file with ``\\n`` line ends. Raises ``FrontMatterError`` when it is broken."""
    found = _FENCE.match(text)
    if found is None:
        return FrontMatter(text)
    if len(found[1]) > _MAX_CHARACTERS:
        raise FrontMatterError(1, f"longer than {_MAX_CHARACTERS} characters")
    try:
        fields = load_yaml(found[1])
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise FrontMatterError(mark.line + 2 if mark else 1, error.problem or "not YAML") from None
    except yaml.YAMLError as error:
        raise FrontMatterError(1, str(error).splitlines()[0] if str(error) else "not YAML") from None
    if fields is None:
        fields = {}
    if not isinstance(fields, Mapping):
        raise FrontMatterError(2, "not a mapping of names to values")
    return FrontMatter(
        text[found.end() :],
        {
            clean_text(str(name)): clean_text(value) if isinstance(value, str) else value  # "\\ud800" is half a character
            for name, value in fields.items()
            if _is_scalar(name) and not _is_unwritable(value)
        },
    )


def load_yaml(text: str) -> Any:
    """Return the value of a YAML document; raises ``yaml.YAMLError`` for anything that is none, or that asks for too much."""
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader with a bound
    except (ValueError, TypeError, AttributeError, ArithmeticError, LookupError, RecursionError) as error:
        raise yaml.YAMLError(str(error) or type(error).__name__) from None


def document_metadata(front_matter: FrontMatter) -> dict[str, Any]:
    """Return the topic metadata that the front matter knows: keywords, description, last_updated and version facts."""
    fields = front_matter.fields
    metadata = {name: plain for name in _KNOWN if (plain := _plain(fields.get(name))) is not None}
    keywords = list(dict.fromkeys([*_words(fields.get("keywords")), *_words(fields.get("tags"))]))
    if keywords:
        metadata["keywords"] = keywords
    updated = fields.get("last_update")
    moment = updated.get("date") if isinstance(updated, Mapping) else fields.get("last_updated", fields.get("date"))
    if isinstance(moment, datetime.date):
        metadata["last_updated"] = moment.isoformat()
    elif isinstance(moment, str) and moment.strip():
        metadata["last_updated"] = moment.strip()
    return metadata


class _Loader(yaml.SafeLoader):
    """Bounds what merge keys (``<<``) make: in PyYAML 6.0 each alias in them is a copy, and a few lines fill the memory."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge as YAML says, up to a bound."""
        super().flatten_mapping(node)
        if len(node.value) > _MAX_MERGED:
            raise yaml.constructor.ConstructorError(None, None, f"merges more than {_MAX_MERGED} names", node.start_mark)


def _is_scalar(value: Any) -> bool:
    """Say whether a value can be written as text: not every number can, neither infinity in JSON nor 5,000 digits at all."""
    if isinstance(value, int):
        return value.bit_length() <= _MAX_BITS
    return isinstance(value, str) or (isinstance(value, float) and math.isfinite(value))


def _is_unwritable(value: Any) -> bool:
    return isinstance(value, int | float) and not _is_scalar(value)


def _plain(value: Any) -> Any:
    if _is_scalar(value):
        return value
    if isinstance(value, list):
        return [str(item) for item in value if _is_scalar(item)] or None
    return None


def _words(value: Any) -> list[str]:
    if isinstance(value, str):
        return [word.strip() for word in value.split(",") if word.strip()]
    if not isinstance(value, list):
        return []
    labels = [item.get("label") if isinstance(item, Mapping) else item for item in value]
    return [str(label).strip() for label in labels if _is_scalar(label) and str(label).strip()]
