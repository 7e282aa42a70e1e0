"""Finds the source kinds: every module or package of ``bbj_pipeline.sources`` that defines ``SOURCE``.

No kind is named here; adding one is adding its module.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import MappingProxyType
from typing import Any

import bbj_pipeline.sources as package
from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.sources.contract import Source

__all__ = ["get_source", "source_kinds"]


@cache
def source_kinds() -> MappingProxyType[str, Source[Any]]:
    """Return all source kinds by name, sorted."""
    found: dict[str, Source[Any]] = {}
    for module_info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{module_info.name}")
        source = getattr(module, "SOURCE", None)
        if isinstance(source, Source):
            found[source.kind] = source
    return MappingProxyType(dict(sorted(found.items())))


def get_source(kind: str) -> Source[Any]:
    """Return the source of ``kind``; raise ``ConfigurationError`` with the known kinds when there is none."""
    try:
        return source_kinds()[kind]
    except KeyError:
        known = ", ".join(source_kinds())
        raise ConfigurationError(f"unknown source kind {kind!r}", remedy=f"use one of: {known}") from None
