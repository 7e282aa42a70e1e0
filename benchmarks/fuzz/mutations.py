"""Mutations of real documents: flipped bits, cut and spliced files, hostile fragments between tokens, other encodings.

Pure functions of a ``random.Random`` and bytes; what is done with the result is not decided here.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.fuzz.fragments import ENCODINGS, FRAGMENTS, VALUES

__all__ = ["mutate", "mutate_json"]

_TOKEN = re.compile(rb"[A-Za-z_]+|\d+|\s+|[^\w\s]", re.A)


def mutate(rng: random.Random, content: bytes, others: Sequence[bytes], kind: str) -> bytes:
    """Return ``content`` changed in one to four ways; ``others`` are documents of the same kind to splice from."""
    for _ in range(rng.choice((1, 1, 2, 2, 3, 4))):
        content = rng.choice(_BYTE_MUTATIONS)(rng, content, others, kind)
    return content


def mutate_json(rng: random.Random, content: bytes, others: Sequence[bytes], kind: str) -> bytes:
    """Return a JSON document with values replaced, names lost or doubled, texts mutated; half the time mutate its bytes."""
    if rng.random() < 0.4:
        return mutate(rng, content, others, kind)
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return mutate(rng, content, others, kind)
    for _ in range(rng.randint(1, 6)):
        value = _change_value(rng, value, others, kind)
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.05:
        text = text.replace("{", '{"name": "twice", "content": 1, ', 1)
    if rng.random() < 0.03:
        text = text.replace(": ", ": " + "[" * (depth := rng.choice((50, 400, 900, 5000))), 1).replace(
            ", ", "]" * depth + ", ", 1
        )
    return text.encode("utf-8", "surrogatepass")


def _change_value(rng: random.Random, value: Any, others: Sequence[bytes], kind: str) -> Any:
    """Walk down to a random place and change what is there; containers on the way are changed in place."""
    holder: Any = None
    name: Any = None
    node = value
    while isinstance(node, dict | list) and node and (holder is None or rng.random() < 0.85):
        holder = node
        name = rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
        node = node[name]
    if holder is None:
        return copy.deepcopy(rng.choice(VALUES))
    choice = rng.random()
    if isinstance(node, str) and choice < 0.6:
        text = mutate(rng, node.encode("utf-8", "replace"), others, kind).decode("utf-8", "surrogateescape")
        holder[name] = text
    elif choice < 0.7:
        del holder[name]
    elif choice < 0.8 and isinstance(holder, list):
        holder.extend(copy.deepcopy(node) for _ in range(rng.randint(1, 3)))
    else:
        holder[name] = copy.deepcopy(rng.choice(VALUES))
    return value


def _flip(rng: random.Random, content: bytes, others: Sequence[bytes], kind: str) -> bytes:
    data = bytearray(content)
    for _ in range(rng.randint(1, 24) if data else 0):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def _truncate(rng: random.Random, content: bytes, others: Sequence[bytes], kind: str) -> bytes:
    return content[: rng.randint(0, len(content))] if rng.random() < 0.7 else content[rng.randint(0, len(content)) :]


def _splice(rng: random.Random, content: bytes, others: Sequence[bytes], kind: str) -> bytes:
    other = rng.choice(others)
    return content[: rng.randint(0, len(content))] + other[rng.randint(0, len(other)) :]


def _repeat(rng: random.Random, content: bytes, others: Sequence[bytes], kind: str) -> bytes:
    start = rng.randint(0, len(content))
    end = min(len(content), start + rng.choice((1, 5, 40, 300)))
    return content[:end] + content[start:end] * rng.choice((1, 10, 200)) + content[end:]


def _cut(rng: random.Random, content: bytes, others: Sequence[bytes], kind: str) -> bytes:
    start = rng.randint(0, len(content))
    return content[:start] + content[start + rng.choice((1, 2, 10, 200)) :]


def _insert(rng: random.Random, content: bytes, others: Sequence[bytes], kind: str) -> bytes:
    for _ in range(rng.randint(1, 6)):
        at = rng.randint(0, len(content))
        content = content[:at] + rng.choice(FRAGMENTS[kind]) + content[at:]
    return content


def _tokens(rng: random.Random, content: bytes, others: Sequence[bytes], kind: str) -> bytes:
    """Swap, drop, double and replace whole tokens in a window: far more often well-formed than flipped bits."""
    start = rng.randint(0, len(content))
    tokens = _TOKEN.findall(content[start : start + 4000])
    if not tokens:
        return content
    for _ in range(rng.randint(1, 20)):
        at = rng.randrange(len(tokens))
        change = rng.randrange(4)
        if change == 0:
            other = rng.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif change == 1:
            tokens[at] = b""
        elif change == 2:
            tokens[at] *= 2
        else:
            tokens[at] = rng.choice(FRAGMENTS[kind])
    return content[:start] + b"".join(tokens) + content[start + 4000 :]


def _encode(rng: random.Random, content: bytes, others: Sequence[bytes], kind: str) -> bytes:
    text = content.decode("utf-8", "replace")
    return text.encode(rng.choice(ENCODINGS), "replace")


_BYTE_MUTATIONS: tuple[Callable[[random.Random, bytes, Sequence[bytes], str], bytes], ...] = (
    *(_flip, _truncate, _splice, _repeat, _cut, _insert, _insert, _tokens, _tokens, _encode),
)
