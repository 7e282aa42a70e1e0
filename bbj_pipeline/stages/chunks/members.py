"""What a class reference says of its members one by one, found for the passage that describes a member.

The metadata of a whole class (hundreds of signatures, pages and versions) is read here; no text is cut or packed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bbj_pipeline.records import Topic
from bbj_pipeline.stages.chunks.partition import Draft

__all__ = ["Members"]

_MAX_SIGNATURES = 64
_NAMES = re.compile(r"[\w$%!<>]+")
_NUMBERS = re.compile(r"\d+")


class Members:
    """The members of a topic: ``signatures``, ``member_urls``, ``member_since`` and ``deprecated_members`` of its metadata."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._since = _texts(topic.metadata.get("member_since"))
        # a deprecation that names no version is null
        self._deprecated = _texts(topic.metadata.get("deprecated_members"), unknown="")
        self._urls = _texts(topic.metadata.get("member_urls"))
        self._signatures: dict[str, list[str]] = {}
        signatures = topic.metadata.get("signatures")
        for signature in signatures if isinstance(signatures, list) else ():
            self._signatures.setdefault(_name(str(signature)), []).append(str(signature))

    def url(self, draft: Draft) -> str | None:
        """Return the public page of a member where its source knows one, else the topic's."""
        return self._urls.get(_name(draft.path[-1]), self._topic.url) if draft.member else self._topic.url

    def metadata(self, shared: Mapping[str, Any], draft: Draft, content: str) -> Mapping[str, Any]:
        """Return ``shared`` with what a member's passage has of its own: signatures, versions, whether it is still valid.

        Of overloads those count whose signatures the passage shows. It has the earliest of their versions, and it is out of
        date only if all of them are; an overload that names no version has that of its class.
        """
        if not draft.member:
            return shared
        name = _name(draft.path[-1])
        signatures = self._signatures.get(name, [])
        lines = set(content.split("\n"))
        shown = [signature for signature in signatures if signature in lines] or signatures or [draft.path[-1]]
        own: dict[str, Any] = {"signatures": signatures[:_MAX_SIGNATURES]} if signatures else {}
        if all(signature in self._since for signature in shown):
            own["since_version"] = min((self._since[signature] for signature in shown), key=_order)
        if all(signature in self._deprecated for signature in shown):
            own["still_valid"] = False
            versions = {self._deprecated[signature] for signature in shown}
            if "" not in versions:
                own["deprecated_in"] = max(versions, key=_order)
        return {**shared, **own}


def _texts(value: object, *, unknown: str | None = None) -> dict[str, str]:
    """Return the texts of a mapping; a null is ``unknown``, or is left out."""
    pairs = value.items() if isinstance(value, Mapping) else ()
    known = ((str(name), unknown if item is None else item) for name, item in pairs)
    return {name: item for name, item in known if isinstance(item, str)}


def _order(version: str) -> tuple[int, ...]:
    return tuple(map(int, _NUMBERS.findall(version)))


def _name(heading: str) -> str:
    """Return the name of a member: the last word before the parenthesis."""
    words = _NAMES.findall(heading.split("(", 1)[0])
    return words[-1] if words else heading
