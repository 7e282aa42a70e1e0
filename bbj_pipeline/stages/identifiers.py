"""Finds the identifiers of a text: what a stemmer and a word splitter would destroy.

One pure function, used alike when a chunk is published and when a query is asked. No SQL lives here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["MAX_IDENTIFIERS", "identifiers"]

MAX_IDENTIFIERS = 1000
"""Identifiers taken from one text at most; with ``MAX_LENGTH`` it keeps the search vector far from PostgreSQL's 1 MB."""
MAX_LENGTH = 100
"""Characters of an identifier at most; longer runs are data (base64, hashes), not names."""

_CANDIDATE = re.compile(
    r"""
      (?: [A-Z]?[a-z]+ [,;.?:]? [ \n]+ )+                             # plain words, skipped in one go
    | (?P<mnemonic> '[A-Za-z][A-Za-z0-9_-]*' )                       # 'WINDOW'
    | (?P<option>   (?<![\w-]) --?[A-Za-z][\w-]* )                   # --dry-run
    | (?P<name>     !? [A-Za-z_][A-Za-z0-9_]* [!$%\#]?               # !COMPAT, sysgui!, A$
                    (?: (?: \. | :: ) [A-Za-z_][A-Za-z0-9_]* [!$%\#]? )*   # BBjSysGui.addWindow
                    (?: -[A-Za-z0-9_]+ )* )                          # bbj-gui
      (?P<call> \( )?
    """,
    re.VERBOSE,
)
_WORD = re.compile(r"[A-Za-z0-9_]+")
_HUMP = re.compile(r"BBj(?![a-z])|[A-Z]{2,}(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_CAPITAL_INSIDE = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}")


def identifiers(text: str) -> list[str]:
    """Return the identifiers of ``text`` in lower case, each whole and then by its parts, in order of first occurrence.

    ``BBjSysGui.addWindow()`` gives ``bbjsysgui.addwindow``, ``bbjsysgui``, ``addwindow`` and the humps ``bbj``, ``sys``,
    ``gui``, ``add``, ``window``. Plain words are left to the language's own configuration. At most ``MAX_IDENTIFIERS``.
    """
    found: dict[str, None] = {}
    for match in _CANDIDATE.finditer(text):
        for form in _forms(match):
            found.setdefault(form.lower())
        if len(found) >= MAX_IDENTIFIERS:
            break
    return list(found)[:MAX_IDENTIFIERS]


def _forms(match: re.Match[str]) -> Iterator[str]:
    whole = match["mnemonic"] or match["option"] or match["name"]
    if (
        whole is None
        or len(whole) > MAX_LENGTH
        or (match["name"] is not None and not _is_name(whole, called=match["call"] is not None))
    ):
        return
    yield whole
    for word in _WORD.findall(whole):
        if len(word) > 1:
            yield word
        if "_" in word or _CAPITAL_INSIDE.search(word):
            yield from (hump for hump in _HUMP.findall(word) if len(hump) > 1)


def _is_name(whole: str, *, called: bool) -> bool:
    """Tell an identifier from a plain word: by punctuation, a capital inside, or a call's parenthesis."""
    return called or not whole.isalpha() or _CAPITAL_INSIDE.search(whole) is not None
