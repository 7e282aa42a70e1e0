"""Loads and validates ``sources.yaml``: kind → instance → options.

Every error is one line that names the file, the key and the remedy. What an option means belongs to the kind's own options
class.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import ValidationError

from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.sources.contract import Source, SourceOptions
from bbj_pipeline.sources.registry import source_kinds

__all__ = ["ConfiguredInstance", "build_options", "instances_by_kind", "load_sources"]

_INSTANCE_NAME = re.compile(r"(?!.*\.\.)[a-z0-9][a-z0-9._-]{0,62}")
"""An instance is a folder of the store and a partition; Dagster refuses partitions with ``...`` in their name."""

_NAME_REMEDY = "use at most 63 lower case letters, digits, '_', '-' and single '.', a letter or digit first"

_STRING, _MERGE = "tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"


@dataclass(frozen=True, slots=True)
class ConfiguredInstance:
    """One instance of ``sources.yaml`` with its validated options."""

    ref: InstanceRef
    source: Source[Any]
    options: SourceOptions


def load_sources(path: Path) -> tuple[ConfiguredInstance, ...]:
    """Return all configured instances, sorted by kind and name.

    Raises ``ConfigurationError`` when the file is missing, is not YAML, has a key twice or one that is not a string, or has
    a kind, instance or option that is not known.
    """
    document = _read(path)
    if not isinstance(document, Mapping) or not document:
        raise _mistake(f"{path} has no source kinds", remedy="write kind, then instance, then options")
    instances = [
        _configured(path, kind, name, options)
        for kind, group in document.items()
        for name, options in _mapping(path, kind, group).items()
    ]
    return tuple(sorted(instances, key=lambda item: item.ref))


def instances_by_kind(instances: tuple[ConfiguredInstance, ...]) -> dict[str, tuple[ConfiguredInstance, ...]]:
    """Group instances by kind, for every known kind; a kind without instances has an empty group."""
    return {kind: tuple(item for item in instances if item.ref.kind == kind) for kind in source_kinds()}


def build_options(source: Source[Any], values: Mapping[str, Any], *, base: Path, where: str) -> SourceOptions:
    """Validate one instance's options; relative paths are relative to ``base``. ``where`` names the place in errors.

    A kind that cannot be read by ``url`` needs a ``path``. Raises ``ConfigurationError``.
    """
    resolved = {
        name: _resolve(base, value, f"{where}: {name}") if _is_path(source, name) and isinstance(value, str) else value
        for name, value in values.items()
    }
    try:
        options: SourceOptions = source.options_type.model_validate(resolved)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        known = source.options_type.model_fields
        option = known.get(key.partition(".")[0])
        remedy = option.description if option else None
        name = f"{where}: {key}" if key else where
        said = first["msg"].removeprefix("Value error, ")
        raise _mistake(f"{name}: {said}", remedy=remedy or f"options of {source.kind} are: {', '.join(known)}") from None
    if options.path is None and "url" not in source.options_type.model_fields:
        raise _mistake(f"{where}: path is missing", remedy="set it to the folder or archive to read")
    return options


class _Loader(yaml.SafeLoader):
    """Refuses what YAML's own loader lets pass: a key that stands twice, where the last would win, or is not a string.

    The check is made when a mapping is composed, before merge keys (``<<``) are resolved: these may be overridden.
    """

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        first: dict[str, int] = {}
        for key, _ in node.value:
            line = key.start_mark.line + 1
            where = f"{self.name} line {line}"
            shown = key.value if isinstance(key, yaml.ScalarNode) else f"a {key.id}"
            if shown in first:
                raise _mistake(f"{where}: {shown} stands twice, first in line {first[shown]}", remedy="rename or remove one")
            if key.tag not in (_STRING, _MERGE):
                raise _mistake(f"{where}: the key {shown or '(empty)'} is not a string", remedy="write it in quotes")
            first[shown] = line
        return node


def _read(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise _mistake(f"cannot read {path} ({error})", remedy="set BBJ_SOURCES_FILE or --config to a sources.yaml") from None
    remedy = "correct the indentation or quoting"
    try:
        loader = _Loader(text)
        loader.name = str(path)
        return loader.get_single_data()
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        line = f" line {mark.line + 1}" if mark else ""
        raise _mistake(f"{path}{line} is not valid YAML ({problem or error})", remedy=remedy) from None
    # A value that is not of its type (the date 2024-13-01, !!timestamp before a word), or brackets without end.
    except (ValueError, AttributeError, RecursionError) as error:
        raise _mistake(f"{path} is not valid YAML ({error})", remedy=remedy) from None


def _mistake(what: str, *, remedy: str) -> ConfigurationError:
    """Return the error in one line, whatever was quoted from the file: line ends and control characters are escaped."""
    return ConfigurationError("".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in what), remedy=remedy)


def _configured(path: Path, kind: str, name: str, options: Any) -> ConfiguredInstance:
    where = f"{path}: {kind}/{name}"
    source = source_kinds().get(kind)
    if source is None:
        raise _mistake(f"{path}: unknown kind {kind!r}", remedy=f"use one of: {', '.join(source_kinds())}")
    if not _INSTANCE_NAME.fullmatch(name):
        raise _mistake(f"{where} is not a usable name", remedy=_NAME_REMEDY)
    values = _mapping(path, f"{kind}/{name}", options)
    return ConfiguredInstance(
        ref=InstanceRef(kind, name),
        source=source,
        options=build_options(source, values, base=path.parent, where=where),
    )


def _mapping(path: Path, key: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _mistake(f"{path}: {key} is not a mapping", remedy="write its entries as 'name: value' below it")
    return value


def _is_path(source: Source[Any], name: str) -> bool:
    option = source.options_type.model_fields.get(name)
    return option is not None and (option.annotation is Path or Path in get_args(option.annotation))


def _resolve(base: Path, value: str, where: str) -> Path:
    if not value.strip():
        raise _mistake(f"{where} is empty", remedy="set it to the folder or archive to read")
    try:
        return (base / Path(value).expanduser()).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a home that is not known, a NUL
        raise _mistake(
            f"{where} {value!r} cannot be a path ({error})", remedy="set it to the folder or archive to read"
        ) from None
