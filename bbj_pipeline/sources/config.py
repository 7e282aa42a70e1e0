"""Loads and validates ``sources.yaml``: kind → instance → options.

Every error names the file, the key and the remedy. What an option means belongs to the kind's own options class.
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

_INSTANCE_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


@dataclass(frozen=True, slots=True)
class ConfiguredInstance:
    """One instance of ``sources.yaml`` with its validated options."""

    ref: InstanceRef
    source: Source[Any]
    options: SourceOptions


def load_sources(path: Path) -> tuple[ConfiguredInstance, ...]:
    """Return all configured instances, sorted by kind and name.

    Raises ``ConfigurationError`` when the file is missing, is not YAML, or has a kind, instance or option that is not known.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"cannot read {path} ({error})", remedy="set BBJ_SOURCES_FILE or --config to a sources.yaml"
        ) from None
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f" line {where.line + 1}" if where else ""
        raise ConfigurationError(f"{path}{line} is not valid YAML", remedy="correct the indentation or quoting") from None
    if not isinstance(document, Mapping) or not document:
        raise ConfigurationError(f"{path} has no source kinds", remedy="write kind, then instance, then options")
    instances = [
        _configured(path, str(kind), str(name), options)
        for kind, group in document.items()
        for name, options in _mapping(path, str(kind), group).items()
    ]
    return tuple(sorted(instances, key=lambda item: item.ref))


def instances_by_kind(instances: tuple[ConfiguredInstance, ...]) -> dict[str, tuple[ConfiguredInstance, ...]]:
    """Group instances by kind, for every known kind; a kind without instances has an empty group."""
    return {kind: tuple(item for item in instances if item.ref.kind == kind) for kind in source_kinds()}


def build_options(source: Source[Any], values: Mapping[str, Any], *, base: Path, where: str) -> SourceOptions:
    """Validate one instance's options; relative paths are relative to ``base``. ``where`` names the place in errors."""
    resolved = {
        name: _resolve(base, value) if _is_path(source, name) and isinstance(value, str) else value
        for name, value in values.items()
    }
    try:
        options: SourceOptions = source.options_type.model_validate(resolved)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        known = ", ".join(source.options_type.model_fields)
        name = f"{where}: {key}" if key else where
        raise ConfigurationError(f"{name}: {first['msg']}", remedy=f"options of {source.kind} are: {known}") from None
    return options


def _configured(path: Path, kind: str, name: str, options: Any) -> ConfiguredInstance:
    where = f"{path}: {kind}/{name}"
    source = source_kinds().get(kind)
    if source is None:
        raise ConfigurationError(f"{path}: unknown kind {kind!r}", remedy=f"use one of: {', '.join(source_kinds())}")
    if not _INSTANCE_NAME.fullmatch(name):
        raise ConfigurationError(f"{where} is not a usable name", remedy="use lower case letters, digits, '.', '_' and '-'")
    values = _mapping(path, f"{kind}/{name}", options)
    return ConfiguredInstance(
        ref=InstanceRef(kind, name),
        source=source,
        options=build_options(source, values, base=path.parent, where=where),
    )


def _mapping(path: Path, key: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"{path}: {key} is not a mapping", remedy="write its entries as 'name: value' below it")
    return value


def _is_path(source: Source[Any], name: str) -> bool:
    option = source.options_type.model_fields.get(name)
    return option is not None and (option.annotation is Path or Path in get_args(option.annotation))


def _resolve(base: Path, value: str) -> Path:
    return (base / Path(value).expanduser()).resolve()
