"""Reads the rule table: one TOML file a label under ``rules/``, and the alternatives that rules share in ``fragments.toml``.

Only what a rule is and how a file of them becomes patterns; no rule stands here, and no text is searched.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal, get_args

from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.records import GENERATIONS, Generation

__all__ = ["PLACES", "Place", "Rule", "load_rules", "parse_rules"]

Place = Literal["code", "any-code", "identifier", "prose", "heading", "title", "package", "path", "condition"]
PLACES: tuple[Place, ...] = get_args(Place)

_KNOWN = frozenset(
    {"cue", "places", "words", "literals", "pattern", "weight", "note", "example", "case", "names", "shared", "generic"}
)
_NEEDED = ("cue", "places", "pattern", "weight", "note", "example")


@dataclass(frozen=True, slots=True)
class Rule:
    """One cue: what it speaks for, how evidence calls it, where it may stand, and how much it weighs there.

    ``code`` is a code block in BBj or in no named language, ``any-code`` one in another language; ``identifier`` stands for
    names and syntax quoted in running text, ``prose`` for phrases in it, ``heading`` for headings and captions; ``title`` and
    ``package`` (the qualified name of a class) say what a document is; ``path`` and ``condition`` are hints.

    One of ``words`` (lower case) and one of ``literals`` must occur before ``pattern`` is tried: that makes tagging fast. The
    pattern is matched on the text in lower case, with ``case`` on the text as written. ``names``: it is a name of the
    generation, and enough where no other is spoken of. ``shared``: an object that the browser client has too. ``generic``: it
    counts only in a document that speaks of BBj. ``example`` is a text that it is found in.
    """

    label: Generation
    cue: str
    places: tuple[Place, ...]
    words: tuple[str, ...]
    literals: tuple[str, ...]
    pattern: re.Pattern[str]
    weight: float
    note: str
    example: str
    case: bool = False
    names: bool = False
    shared: bool = False
    generic: bool = False


@cache
def load_rules() -> tuple[Rule, ...]:
    """Return the rules of all labels; raises ``ConfigurationError`` for a rule that is not sound."""
    folder = resources.files(__package__).joinpath("rules")
    texts = {label: folder.joinpath(f"{label}.toml").read_text(encoding="utf-8") for label in GENERATIONS}
    fragments = tomllib.loads(folder.joinpath("fragments.toml").read_text(encoding="utf-8"))
    return tuple(rule for label, text in texts.items() for rule in parse_rules(label, text, fragments))


def parse_rules(label: Generation, text: str, fragments: Mapping[str, str]) -> tuple[Rule, ...]:
    """Return the rules of one label from TOML; ``{{name}}`` stands for the fragment of that name."""
    return tuple(_rule(label, row, fragments) for row in tomllib.loads(text).get("rule", ()))


def _rule(label: Generation, row: Mapping[str, Any], fragments: Mapping[str, str]) -> Rule:
    where = f"rule {row.get('cue', '(no cue)')!r} of {label}"
    missing = [name for name in _NEEDED if name not in row]
    unknown = [name for name in row if name not in _KNOWN]
    places = [place for place in row.get("places", ()) if place not in PLACES]
    if missing or unknown or places:
        raise ConfigurationError(
            f"{where}: missing {missing}, unknown {unknown + places}",
            remedy=f"a rule has {sorted(_KNOWN)}, places are {PLACES}",
        )
    if not row.get("words") and not row.get("literals"):
        raise ConfigurationError(f"{where} has neither words nor literals", remedy="name what must occur for it to match")
    try:
        pattern = re.compile(_filled(row["pattern"], fragments))
        words = [_first_word(word) for entry in row.get("words", ()) for word in _expanded(entry, fragments)]
        literals = [literal for entry in row.get("literals", ()) for literal in _expanded(entry, fragments)]
    except (re.error, KeyError) as error:
        raise ConfigurationError(f"{where}: its pattern cannot be used ({error})", remedy="correct the pattern") from None
    return Rule(
        label=label,
        cue=row["cue"],
        places=tuple(row["places"]),
        words=tuple(dict.fromkeys(words)),
        literals=tuple(literals),
        pattern=pattern,
        weight=float(row["weight"]),
        note=row["note"],
        example=row["example"],
        case=row.get("case", False),
        names=row.get("names", False),
        shared=row.get("shared", False),
        generic=row.get("generic", False),
    )


def _filled(text: str, fragments: Mapping[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda found: fragments[found[1]], text)


def _expanded(entry: str, fragments: Mapping[str, str]) -> list[str]:
    """Return the entry once for each alternative of the fragment in it."""
    found = re.search(r"\{\{(\w+)\}\}", entry)
    return [entry.replace(found[0], item) for item in fragments[found[1]].split("|")] if found else [entry]


def _first_word(text: str) -> str:
    """Return what a text is looked up by: ``child-window`` is two words there."""
    return re.split(r"[^\w@]", text)[0]
