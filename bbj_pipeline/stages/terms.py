"""The terms of a text as the lexical index counts them: words in lower case, and identifiers whole and by their parts.

One pure function, used alike when a chunk is published and when a question is asked: a term that the two sides made
differently would never be found. No SQL and no scoring lives here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["MAX_LENGTH", "MAX_TERMS", "identifier_terms", "terms"]

MAX_TERMS = 20_000
"""Terms taken from one text at most, repetitions counted; a term's count and a chunk's length then fit two bytes."""
MAX_LENGTH = 100
"""Characters of a term at most; longer runs are data (base64, hashes), not words."""

_TOKEN = re.compile(
    r"""
      (?P<mnemonic> '[A-Za-z][A-Za-z0-9_-]*' )                       # 'WINDOW'
    | (?P<option>   (?<![\w-]) --?[A-Za-z][\w-]* )                   # --dry-run
    | (?P<name>     !?[A-Za-z_][A-Za-z0-9_]*+ [!$%\#]?+              # !COMPAT, sysgui!, A$
                    (?: (?: \. | :: | - ) [A-Za-z_][A-Za-z0-9_]*+ [!$%\#]?+ )*+ (?!\w) )  # BBjSysGui.addWindow, bbj-gui
    | (?P<number>   \d++ (?: \. \d++ )++ (?!\w) )                    # 19.10
    | (?P<word>     \w++ )                                           # any word of any language
    """,
    re.VERBOSE,
)
_WORD = re.compile(r"\w+")
_HUMP = re.compile(r"BBj(?![a-z])|[A-Z]{2,}(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_CAPITAL_INSIDE = re.compile(r"[a-z]\d*[A-Z]|[A-Z]{2}[a-z]")


def terms(text: str) -> list[str]:
    """Return the terms of ``text`` in order, with repetitions, at most ``MAX_TERMS``.

    ``BBjSysGui.addWindow()`` gives ``bbjsysgui.addwindow``, ``bbjsysgui``, ``bbj``, ``sys``, ``gui``, ``addwindow``, ``add``
    and ``window``; ``Windows`` gives ``windows``.
    """
    found: list[str] = []
    for match in _TOKEN.finditer(text):
        found.extend(_forms(match[0]))
        if len(found) >= MAX_TERMS:
            break
    return found[:MAX_TERMS]


def identifier_terms(text: str) -> set[str]:
    """Return the terms of ``text`` that are identifiers written whole; plain words and the parts of identifiers are none."""
    found = set()
    for match in _TOKEN.finditer(text):
        token = match[0]
        if match["number"] is None and not (token.isalpha() and _CAPITAL_INSIDE.search(token) is None) and not token.isdigit():
            found.add(token.lower())
            found.update(word.lower() for word in _WORD.findall(token) if "_" in word or _CAPITAL_INSIDE.search(word))
    return found


def _forms(token: str) -> Iterator[str]:
    words = _WORD.findall(token)
    if len(token) <= MAX_LENGTH and words != [token]:
        yield token.lower()
    for word in words:
        if "_" not in word and _CAPITAL_INSIDE.search(word) is None:
            if len(word) <= MAX_LENGTH:
                yield _singular(word.lower())
            continue
        if len(word) <= MAX_LENGTH:
            name = word.lower()
            yield name
            if _singular(name) != name:
                yield _singular(name)
        yield from (_singular(hump.lower()) for hump in _HUMP.findall(word) if hump != word and len(hump) <= MAX_LENGTH)


def _singular(word: str) -> str:
    """Return an English plural without its ending, anything else as it is (Harman 1991, the "S" stemmer)."""
    if len(word) < 4 or word[-1] != "s" or not word.isalpha() or word.endswith(("us", "ss")):
        return word
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    return word[:-1]
