"""Finds out how the bytes of a document are encoded and decodes them; says so where it had to guess. No markup is parsed."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

__all__ = ["Decoded", "decode"]

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED = re.compile(rb"""<\?xml[^>]*?\bencoding\s*=\s*["']([\w.:-]+)|<meta[^>]*?\bcharset\s*=\s*["']?\s*([\w.:-]+)""", re.I)
_LANGUAGE = re.compile(rb"""<html\b[^>]*?\blang\s*=\s*["']?([a-z]{2})""", re.I)
_SNIFFED_BYTES = 4096
"""Browsers look for a declaration in the first 1,024 bytes; Flare's heads with long comments need more."""
_CENTRAL_EUROPEAN = frozenset((b"bs", b"cs", b"hr", b"hu", b"pl", b"ro", b"sk", b"sl", b"sq", b"sr"))
_LATIN1 = frozenset(("iso8859-1", "ascii"))
"""Labels that browsers read as windows-1252 (WHATWG Encoding Standard)."""
_NO_ENCODINGS = frozenset(("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"))
"""Python codecs that are no encodings of documents: they fail on any byte, take quadratic time, or make surrogates."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """The text of a document, the encoding it was read in, and a warning where that is not the one it claims."""

    text: str
    encoding: str
    warnings: tuple[str, ...] = ()


def decode(content: bytes, encoding: str | None = None) -> Decoded:
    """Decode by byte order mark, then ``encoding`` (of a transport), then the document's own declaration, then UTF-8.

    When none of these decodes all bytes: windows-1250 or windows-1252, by the document's language, with a warning.
    """
    for mark, name in _BOMS:
        if content.startswith(mark):
            return _marked(content, name)
    if content[:2] in (b"<\0", b"\0<"):
        return Decoded(content.decode("utf-16-le" if content[0] else "utf-16-be", "replace"), "utf-16")
    head = content[:_SNIFFED_BYTES]
    found = _DECLARED.search(head)
    declared = (found[1] or found[2]).decode("ascii") if found else None
    claims = [name for name in (_codec(encoding), _codec(declared), "utf-8") if name is not None]
    for claim in dict.fromkeys(claims):
        try:
            text = content.decode(claim)
        except UnicodeDecodeError:
            continue
        warnings = () if claim == claims[0] else (f"not {claims[0]} as declared: read as {claim}",)
        return Decoded(text, claim, warnings)
    language = _LANGUAGE.search(head)
    guess = "cp1250" if language and language[1].lower() in _CENTRAL_EUROPEAN else "cp1252"
    return Decoded(content.decode(guess, "replace"), guess, (f"not {claims[0]} as declared: read as {guess}",))


def _marked(content: bytes, name: str) -> Decoded:
    try:
        return Decoded(content.decode(name), name.removesuffix("-sig"))
    except UnicodeDecodeError:
        if name == "utf-8-sig":
            rest = decode(content[len(codecs.BOM_UTF8) :])
            return Decoded(rest.text, rest.encoding, ("not utf-8 as its byte order mark says", *rest.warnings))
        text = content.decode(name, "replace")
        return Decoded(text, name, (f"broken {name}: some characters are lost",))


def _codec(label: str | None) -> str | None:
    """Return Python's name of an encoding label; ``None`` for labels that are unknown or cannot be true of plain bytes."""
    if not label:
        return None
    try:
        name = codecs.lookup(label).name
        b"x".decode(name)  # fails for codecs that are not of text: hex, zlib, rot13
    except (LookupError, ValueError):
        return None
    if name in _NO_ENCODINGS:
        return None
    if name.startswith(("utf-16", "utf-32")):  # a declaration that was readable as bytes was not written in these
        return None
    return "cp1252" if name in _LATIN1 else name
