"""Whether what a text names is compared or denied there: "unlike character mode", "not available in BUI".

The reach of such a word is its clause: it ends at a full stop, and at a comma unless only a list goes on behind it.
"""

from __future__ import annotations

import re

__all__ = ["is_comment", "is_denied"]

_REACH = 120
_BREAK = re.compile(r"(?<!\bvs)(?<!\be\.g)(?<!\bi\.e)[.!?:;]\s|[\n\t()]")  # a tab stands between the cells of a table
_BEFORE = re.compile(
    r"\b(?:unlike|not(?! only| just)|no longer|never|without|cannot|instead of|rather than|as opposed to|"
    r"in contrast (?:to|with)|compared (?:to|with)|versus|vs\.?|than|except|neither|nor|no effect|ignored|independent of|"
    r"formerly|previously|predates?|replac(?:es|ing) (?:the|an?)|successors? (?:to|of)|"
    # a legacy page that names its successor is not about the successor
    r"superseded by|replaced by|successor|(?:modern|newer) equivalent|(?:for|in) new (?:development|code|programs?))"
    r"\b[^,]*$|n['’]t\b[^,]*$|"
    r"\b(?:like|similar to|as (?:in|with|for))(?: in)?(?: the| an?)?\s*$",
    re.IGNORECASE,
)
# fmt: off
_SIGNALS = frozenset(
    {
        "unlike", "not", "longer", "never", "without", "cannot", "of", "than", "opposed",
        "contrast", "compared", "versus", "vs", "except", "neither", "nor", "effect", "ignored",
        "independent", "formerly", "previously", "predate", "predates", "replaces", "replacing", "successor", "successors",
        "superseded", "replaced", "equivalent", "new", "t", "like", "similar", "as",
    }
)
# fmt: on
"""One of these is in every match of the pattern above, ``t`` for the end of n't: looking for them first is cheap."""
_WORD = re.compile("[a-z]+")
_AFTER = re.compile(
    r"[^.,;:!?\n]{0,24}?\b(?:(?:is|are|was|were)(?: not|n['’]t| no longer) (?:\w+ )?(?:available|supported|needed|required|"
    r"involved|affected|used|possible)|(?:is|are) unsupported|do(?:es)?(?: not|n['’]t) (?:support|apply))\b",
    re.IGNORECASE,
)
_ARGUMENTS = re.compile(r"[^()\n]{0,60}\)")
_LIST_ITEM = re.compile(r"\s*(?:(?:the|in) )*[\w/]+(?: [\w/]+){0,2}\s*")
_LIST_END = re.compile(r"\s*(?:(?:[\w/]+ ){1,3}(?:and|or|nor)\s+)?(?:(?:and|or|nor|the|in)\s+)*")
_COMMENT = re.compile(r"(?:^\s*(?:\d+\s+)?|[;:]\s*)rem\b", re.IGNORECASE | re.MULTILINE)


def is_denied(text: str, start: int, end: int) -> bool:
    """Whether the clause around ``text[start:end]`` compares with it or says that it does not apply."""
    before = text[max(0, start - _REACH) : start]
    if not _SIGNALS.isdisjoint(_WORD.findall(before.lower())):
        clause = _BREAK.split(before)[-1]
        if _BEFORE.search(clause) or _in_denied_list(clause):
            return True
    cue = text[start:end]
    if cue.count("(") > cue.count(")") and (rest := _ARGUMENTS.match(text, end)):  # a call is named with its arguments
        end = rest.end()
    after = text[end : end + _REACH]
    negated = "not" in after or "no longer" in after or "n't" in after or "n’t" in after or "unsupported" in after
    return negated and _AFTER.match(after) is not None


def _in_denied_list(before: str) -> bool:
    """Whether this is a later item of a list whose first is denied: "without character mode, Visual PRO/5 or" BUI."""
    head, comma, rest = before.rpartition(",")
    if not comma or not _LIST_END.fullmatch(rest) or rest.strip() == "the":
        return False
    while not _BEFORE.search(head):
        head, comma, rest = head.rpartition(",")
        if not comma or not _LIST_ITEM.fullmatch(rest):
            return False
    return True


def is_comment(code: str, position: int) -> bool:
    """Whether a remark of BBj begins before ``position`` in its line."""
    return _COMMENT.search(code, code.rfind("\n", 0, position) + 1, position) is not None
