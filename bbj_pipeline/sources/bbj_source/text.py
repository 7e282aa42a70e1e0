"""Decides what the bytes of a file are: tokenised, binary, a program, a configuration or prose; and decodes them.

Only bytes and lines are looked at. A text is never refused because it lacks keywords: in doubt it is a program.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Literal

from bbj_pipeline.records import Reject, clean_text
from bbj_pipeline.sources.bbj_source.lexer import lex

__all__ = ["ProgramKind", "SourceText", "classify", "decode", "tokenised"]

ProgramKind = Literal["program", "configuration", "prose"]

_TOKENISED_MAGIC = b"<<bbj>>"
_BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_CONTROL = bytes(set(range(32)) - set(b"\t\n\r\f\x1a\x1b"))
_MOST_CONTROL = 0.02
"""Share of control bytes above which a file is binary: real programs have a stray escape or form feed, no more."""
_CONFIG_LINE = re.compile(
    r"(alias|prefix|set|fcbs|handles|cibs|stbl|dsksyn|pgm|ipcs|ltrs|setopts|memory|tempdir)\b(?!\s*[(:])(\s|=|$)", re.IGNORECASE
)
_STATEMENT = re.compile(
    r"(rem|print|input|open|close|read|write|let|if|for|next|goto|gosub|return|dim|class|method|methodend|classend|field|use|"
    r"declare|def|call|enter|begin|end|release|exit|setesc|seterr|on|while|wend|repeat|switch|case|process_events)\b"
    r"|[a-z_#][\w.#]*[$%!]?(\[[^\]]*\]|\([^()]*\))?\s*=|[a-z_#]\w*!?\.\w+\(|\[\[",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?!(?:class|interface|method|field|declare)\b)[a-z]+(?:,? [a-z'-]+){3,}[.,:;!?]*\s*", re.IGNORECASE)
"""Four words or more and nothing else: no verb of BBj takes them, but for the jumps of an ``if``."""
_JUMPS = re.compile(r"\b(?:then|else|goto|gosub)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SourceText:
    """A decoded file: its text with ``\\n`` line ends, and the encoding it had."""

    text: str
    encoding: str


def tokenised(key: str, start: bytes) -> Reject | None:
    """Return the reject of a file whose first bytes say that it is BBj's own binary form: a program or a data file."""
    if not start.startswith(_TOKENISED_MAGIC):
        return None
    return Reject(key, "tokenised", "a tokenised BBj file: save a program as text (LIST or the editor's Save As) to index it")


def decode(key: str, content: bytes) -> SourceText | Reject:
    """Return the text of ``content``: by its byte order mark, else UTF-8, else cp1252, which never fails.

    Rejects ``tokenised`` (BBj's own binary form), ``binary`` and ``empty`` files.
    """
    refused = tokenised(key, content)
    if refused is not None:
        return refused
    for mark, encoding in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return _text(key, content.decode(encoding, errors="replace"), encoding)
    if b"\0" in content:
        return Reject(key, "binary", "contains zero bytes: data or a compiled file, not a program text")
    control = len(content) - len(content.translate(None, _CONTROL))
    if control > _MOST_CONTROL * len(content):
        return Reject(key, "binary", f"{control} of {len(content)} bytes are control characters: not a program text")
    try:
        return _text(key, content.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        return _text(key, _cp1252(content), "cp1252")


def classify(key: str, text: str) -> ProgramKind:
    """Tell configuration (``config.bbx``) and prose (``.txt``) from programs; other extensions are programs."""
    extension = key.rpartition(".")[2].lower()
    if extension not in {"bbx", "txt"}:
        return "program"
    lines = [line for line in text.split("\n") if line.strip()]
    configuration = sum(bool(_CONFIG_LINE.match(line.strip())) for line in lines)
    comments = sum(line.lstrip()[:1] == "#" or line.strip()[:3].lower() == "rem" for line in lines)
    if configuration and configuration >= 0.6 * (len(lines) - comments):
        return "configuration"
    if extension == "bbx":
        return "program"
    return "program" if _statement_share(text) >= 0.5 else "prose"


def _statement_share(text: str) -> float:
    lines = [line for line in lex(text) if not line.blank]
    code = sum(
        line.callpoint is not None or any(statement.comment or _is_code(statement.text) for statement in line.statements)
        for line in lines
    )
    return code / len(lines) if lines else 0.0


def _is_code(text: str) -> bool:
    """Say whether a statement begins as one of BBj does, and does not go on as a sentence that begins with the same word."""
    return bool(_STATEMENT.match(text)) and not (_SENTENCE.fullmatch(text) and not _JUMPS.search(text))


def _cp1252(content: bytes) -> str:
    """Decode; the five bytes that cp1252 leaves undefined become the C1 control of the same number, as browsers do."""
    return codecs.charmap_decode(content, "strict", _CP1252)[0]


_CP1252 = "".join(chr(byte) if byte in b"\x81\x8d\x8f\x90\x9d" else bytes([byte]).decode("cp1252") for byte in range(256))


def _text(key: str, text: str, encoding: str) -> SourceText | Reject:
    text = clean_text(text.rstrip("\x1a"))
    return SourceText(text, encoding) if text.strip() else Reject(key, "empty", "nothing but white space")
