"""Variable sets of a raw project: their values, and texts in which ``[%=Set.Name%]`` stands for one.

The elements that show a variable in a topic are resolved in ``madcap``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from lxml import etree

from bbj_pipeline.sources.flare.conditions import TargetConditions, tags_of
from bbj_pipeline.sources.markup import ENTITIES, MarkupError, parse_document, text_of
from bbj_pipeline.sources.markup.elements import local_name

__all__ = ["read_variables", "substitute"]

_MAX_NESTING = 32
"""Variables in variables: deeper ones are circular or broken."""
_MAX_VALUE = 4_096
"""Characters of one variable: variables that use each other twice at every level would fill the memory."""
_MAX_SUBSTITUTED = 64 * 1024
"""Characters that variables may add to one text; the ones beyond are empty."""
_CONDITION_ATTRIBUTES = frozenset(("conditions", "madcap:conditions"))
_INLINE_VARIABLE = re.compile(r"\[%=\s*([^%\]]+?)\s*%\]")


def substitute(text: str, variables: Mapping[str, str], warnings: list[str], *, most: int = _MAX_SUBSTITUTED) -> str:
    """Replace ``[%=Set.Name%]`` by its value; an unknown variable is dropped with a warning."""

    left = most

    def value(match: re.Match[str]) -> str:
        nonlocal left
        found = _variable(match[1], variables, warnings) or ""
        left -= len(found)
        return found if left >= 0 else ""

    return _INLINE_VARIABLE.sub(value, text)


def _variable(name: str, variables: Mapping[str, str], warnings: list[str]) -> str | None:
    value = variables.get(name.casefold())
    if value is None:
        warnings.append(f"variable not found: {name}")
    return value


@lru_cache(maxsize=128)
def read_variables(set_name: str, content: bytes, target: TargetConditions) -> Mapping[str, str]:
    """Return the values of one variable set by ``set.name`` in lower case; a set that cannot be parsed is empty.

    Of a variable's definitions, in one element or in several, the first that is part of the target counts. A variable that
    has none of them has no value and is told as not found. Raises ``MarkupError`` for a set that declares entities.
    """
    try:
        root = parse_document(content).root
    except MarkupError as error:
        if error.code == ENTITIES:
            raise
        return {}
    found: dict[str, str] = {}
    for element in root.iter(etree.Element):
        name = element.get("Name") or element.get("name")
        if element.tag.lower() != "variable" or not name:
            continue
        value = _definition(element, target)
        if value is not None:
            found.setdefault(f"{set_name}.{name}".casefold(), " ".join(value.split()))
    for _ in range(_MAX_NESTING):
        inner = {
            name: substitute(value, found, [], most=_MAX_VALUE)[:_MAX_VALUE] for name, value in found.items() if "[%=" in value
        }
        if not inner:
            break
        found.update(inner)
    return found


def _definition(variable: etree._Element, target: TargetConditions) -> str | None:
    """Return the value that a variable has in the target."""
    if not _is_part_of(variable, target):
        return None
    inner = [child for child in variable.iterchildren(etree.Element) if child.tag.lower().endswith("definition")]
    for element in inner:
        if _is_part_of(element, target):
            return _value(element)
    return None if inner else _value(variable)


def _is_part_of(element: etree._Element, target: TargetConditions) -> bool:
    values = (value for name, value in element.items() if local_name(name).lower() in _CONDITION_ATTRIBUTES)
    return all(target.keeps(tags_of(str(value))) for value in values)


def _value(element: etree._Element) -> str:
    attributes = (element.get(attribute) for attribute in ("EvaluatedDefinition", "Definition"))
    return next(filter(None, attributes), None) or text_of(element)
