"""What must hold for the result of parsing any document at all, whatever was in it.

The rules are those of the source contract and of the records; nothing is parsed here.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from bbj_pipeline.records import BLOCK_TYPES, Block, RawDocument, Reject, Topic, content_hash, to_json

__all__ = ["problems"]

_CODE = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SEVERAL_TOPICS = frozenset(("javadoc",))
"""Kinds with more than one topic a raw document; there a part of a document may be rejected beside others."""


def problems(kind: str, raw: RawDocument, results: Sequence[Topic | Reject]) -> list[str]:
    """Return what is wrong with ``results`` of parsing ``raw``; empty when all rules hold."""
    found: list[str] = []
    if not results:
        found.append("neither a topic nor a reject")
    if kind not in _SEVERAL_TOPICS:
        if len(results) > 1:
            found.append(f"{len(results)} results of one document")
        found.extend(f"key {item.key!r} is not the raw key" for item in results if item.key != raw.key)
    topics = [item for item in results if isinstance(item, Topic)]
    keys = [item.key for item in topics]
    if len(keys) != len(set(keys)):
        found.append("two topics share a key")
    for item in results:
        found.extend(_of_reject(item) if isinstance(item, Reject) else _of_topic(kind, raw, item))
        found.extend(_of_strings(to_json(item)))
    return found


def _of_reject(reject: Reject) -> Iterator[str]:
    if not _CODE.fullmatch(reject.code):
        yield f"reject code {reject.code!r} is not kebab-case"
    if not reject.reason.strip():
        yield f"reject {reject.code} has no reason"
    if len(reject.reason) > 2_000:
        yield f"reject {reject.code} has a reason of {len(reject.reason)} characters"


def _of_topic(kind: str, raw: RawDocument, topic: Topic) -> Iterator[str]:
    if topic.kind != kind:
        yield f"kind {topic.kind!r}"
    if topic.raw_key != raw.key or topic.raw_sha256 != raw.sha256:
        yield "the topic does not name its raw document"
    if not topic.title.strip():
        yield "no title"
    if not topic.blocks and kind != "javadoc":  # there, a class without members is a topic with a title and a place
        yield "a topic without blocks"
    for number, block in enumerate(topic.blocks):
        for problem in _of_block(block):
            yield f"block {number} ({block.type}): {problem}"
    try:
        content_hash(topic)
        json.dumps(to_json(topic), allow_nan=False)
    except (ValueError, TypeError, RecursionError, UnicodeError) as error:
        yield f"cannot be written as JSON: {type(error).__name__}: {str(error)[:200]}"


def _of_block(block: Block) -> Iterator[str]:
    if block.type not in BLOCK_TYPES:
        yield "unknown type"
    if not block.text.strip():
        yield "no text"
    if block.type == "heading" and block.level not in range(1, 7):
        yield f"level {block.level}"
    if block.type == "list_item" and not (isinstance(block.level, int) and block.level >= 1):
        yield f"level {block.level}"
    if (block.type == "table") != (block.rows is not None):
        yield "rows belong to tables and only to them"
    if block.rows is not None:
        if len({len(row) for row in block.rows}) != 1:
            yield "not a full grid"
        if block.header_rows is not None and not 0 <= block.header_rows <= len(block.rows):
            yield f"{block.header_rows} header rows of {len(block.rows)}"
    if block.page is not None and block.page < 1:
        yield f"page {block.page}"


def _of_strings(value: Any, where: str = "") -> Iterator[str]:
    """Yield each place of a JSON value where a string is not clean."""
    if isinstance(value, str):
        if "\0" in value or "\r" in value:
            yield f"{where}: U+0000 or a carriage return"
        if not value.isascii():
            if _SURROGATE.search(value):
                yield f"{where}: a lone surrogate"
            elif not unicodedata.is_normalized("NFC", value):
                yield f"{where}: not NFC"
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _of_strings(name, f"{where}.(name)")
            yield from _of_strings(item, f"{where}.{name}"[:80])
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _of_strings(item, where + "[]")
