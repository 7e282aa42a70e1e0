"""Finds, in a sentence, what takes the place of the thing it speaks of: "replaced by X", "use X instead", "replaces X".

A link in the right place is the answer; without one, the identifier that stands there. Plain words name nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

__all__ = ["predecessors_in", "successors_in"]

_REACH = 160
"""Characters after a cue in which its target stands."""
_AFTER = re.compile(
    r"\b(?:superseded by|replaced (?:by|with)|in favou?r of|(?:please )?(?:use|see|call|consider)(?: using)?|"
    r"(?:equivalents?|functionality|function|feature|successor)s? (?:\w+ ){0,3}(?:found|available|provided) (?:in|by|through)|"
    r"moved to|for new (?:development|code|programs?),? use|successor is|modern equivalent is|migrate to)\s+(?:the\s+)?",
    re.IGNORECASE,
)
_NEEDS_INSTEAD = re.compile(r"^(?:please )?(?:use|see|call|consider)", re.IGNORECASE)
_INSTEAD = re.compile(
    r"\b(?:instead|new (?:development|code|programs?)|superseded|deprecated|obsolete|replace[sd]?)\b", re.IGNORECASE
)
_BEFORE = re.compile(r"\s+(?:must|should|can|may|is to|are to) be used instead\b", re.IGNORECASE)
_REPLACES = re.compile(
    r"\b(?:replaces|supersedes|is (?:the|a) (?:successor|replacement) (?:of|to|for))\s+(?:the\s+)?"
    r"(?:(?:deprecated|obsolete|older?)\s+)?",
    re.IGNORECASE,
)
_STOP = re.compile(r"[.;](?:\s|$)|,\s+(?:which|that|because|since|as|and|but|where)\b|\binstead of\b|\brather than\b|\s[–—]\s")
_NAME = re.compile(
    r"'[A-Z][A-Z0-9_-]*'(?:\([^()]*\))?"  # 'WINDOW'
    r"|\b[A-Za-z_]\w*(?:(?:::|\.)[A-Za-z_]\w*)+(?:\(\))?"  # BBjSysGui::addWindow
    r"|\bBBj[A-Z]\w*(?:\(\))?"  # BBjWebManager
    r"|\b[A-Za-z_]\w*\(\)?"  # addWindow()
    r"|\b[a-z]+[A-Z]\w*"  # addWindow
    r"|\b[A-Z][A-Z_]{2,}\b(?!/)"  # OPEN
)
_NO_NAMES = frozenset({"bbj", "bui", "dwc", "gui", "api", "url", "html", "css", "pdf", "sql", "xml", "json"})


def successors_in(sentence: str, links: Mapping[str, str], title: str) -> list[str]:
    """Return the targets that the sentence gives as successors of its subject, links as written before names.

    ``links`` maps folded link texts to targets, longer texts first; what is called like ``title`` is the document itself.
    """
    for cue in _AFTER.finditer(sentence):
        if _NEEDS_INSTEAD.match(cue.group()) and not _INSTEAD.search(sentence):
            continue
        if found := list(_named(_until_stop(sentence[cue.end() : cue.end() + _REACH]), links, title)):
            return found
    if cue_after := _BEFORE.search(sentence):
        return list(_named(sentence[max(0, cue_after.start() - _REACH) : cue_after.start()], links, title))[-1:]
    return []


def predecessors_in(sentence: str, links: Mapping[str, str], title: str) -> list[str]:
    """Return the targets that the sentence's subject, this document, takes the place of."""
    for cue in _REPLACES.finditer(sentence):
        subject = sentence[: cue.start()]
        # "The new value replaces OLD": only what the page or its subject replaces counts.
        if not re.search(r"\b(?:this|it)\b", subject, re.IGNORECASE) and not _speaks_of(subject, title):
            continue
        if found := list(_named(_until_stop(sentence[cue.end() : cue.end() + _REACH]), links, title)):
            return found
    return []


def _until_stop(text: str) -> str:
    stop = _STOP.search(text)
    return text[: stop.start()] if stop else text


def _named(text: str, links: Mapping[str, str], title: str) -> Iterator[str]:
    folded = " ".join(text.split()).casefold()
    linked = [(folded.index(words), target) for words, target in links.items() if words in folded]
    if linked:
        yield min(linked)[1]
        return
    for match in _NAME.finditer(text):
        name = match.group().rstrip("(")
        if name.strip("()").casefold() not in _NO_NAMES and not _is_title(name, title):
            yield name
            return


def _is_title(name: str, title: str) -> bool:
    bare = name.strip("()'").casefold()
    return bare == title.casefold().strip("()'") or title.casefold().split(" ")[0].strip("()'") == bare


def _speaks_of(subject: str, title: str) -> bool:
    words = {match.group().strip("()'").casefold() for match in _NAME.finditer(title)}
    return any(match.group().strip("()'").casefold() in words for match in _NAME.finditer(subject))
