"""What the builders of hostile documents have in common: their type, their sizes, and the page around a trap.

A builder returns the bytes of one document, or a ``(content, resources)`` pair where other files decide how it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

Built = bytes | tuple[bytes, Mapping[str, bytes]]
Builder = Callable[[], Built]

BIG = 10 * 1024**2
"""Bytes of what is big; whoever takes time by the square of it takes days."""
DEEP = 10_000
MADCAP = 'xmlns:MadCap="http://www.madcapsoftware.com/Schemas/MadCap.xsd"'


def page(body: str, head: str = "", doctype: str = "") -> bytes:
    return f"{doctype}<html {MADCAP}><head>{head}<title>T</title></head><body><p>kept</p>{body}</body></html>".encode()
