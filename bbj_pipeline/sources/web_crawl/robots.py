"""Reads robots.txt by RFC 9309: groups by user agent, the longest matching rule, ``*`` and ``$``; and the sitemaps it names.

The standard library's parser knows neither wildcards nor the longest match. Nothing is fetched here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

__all__ = ["NOTHING_ALLOWED", "Robots", "matches", "parse_robots"]

_MAX_BYTES = 500 * 1024
"""RFC 9309, 2.5: a crawler reads at least 500 KiB and may ignore the rest."""
_MAX_DELAY = 60.0


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules for us: (pattern, allowed), the pause the site asks for in seconds, and the sitemaps it names."""

    rules: tuple[tuple[str, bool], ...] = ()
    delay: float = 0.0
    sitemaps: tuple[str, ...] = ()

    def allows(self, path: str) -> bool:
        """Say whether a path (quoted, with query) may be read; of equally long rules the allowing one counts."""
        matching = [(len(pattern), allowed) for pattern, allowed in self.rules if matches(pattern, path)]
        return max(matching, default=(0, True))[1]


NOTHING_ALLOWED = Robots((("/", False),))
"""The rules of a host whose robots.txt does not come (RFC 9309, 2.3.1.4)."""


def parse_robots(content: bytes, agent: str) -> Robots:
    """Return the rules of the group for ``agent`` (a product token, any case), or of the group ``*``."""
    lines = content[:_MAX_BYTES].decode("utf-8-sig", "replace").splitlines()
    groups: dict[str, list[tuple[str, str]]] = {}
    agents: list[str] = []
    in_rules = False
    sitemaps: list[str] = []
    for line in lines:
        name, found, value = (part.strip() for part in line.split("#", 1)[0].partition(":"))
        name = name.lower()
        if not found:
            continue
        if name == "sitemap":
            sitemaps.append(value)
        elif name == "user-agent":
            agents = [value.lower()] if in_rules else [*agents, value.lower()]
            in_rules = False
            groups.setdefault(value.lower(), [])
        elif name in ("allow", "disallow", "crawl-delay"):
            in_rules = True
            for named in agents:
                groups[named].append((name, value))
    own = groups.get(agent.lower(), groups.get("*", []))
    rules = tuple((_quoted(value), name == "allow") for name, value in own if name != "crawl-delay" and value)
    delays = [float(value) for name, value in own if name == "crawl-delay" and re.fullmatch(r"\d{1,5}(?:\.\d{1,3})?", value)]
    return Robots(rules, min(max(delays, default=0.0), _MAX_DELAY), tuple(sitemaps))


def _quoted(pattern: str) -> str:
    return quote(unquote(pattern), safe="/*$?&=:;,+@!~'()%")


def matches(pattern: str, path: str) -> bool:
    """Match a rule's pattern from the start of the path; its pieces are found one after the other, without backtracking."""
    anchored = pattern.endswith("$")
    pieces = pattern.removesuffix("$").split("*")
    if not path.startswith(pieces[0]):
        return False
    position = len(pieces[0])
    for piece in pieces[1:-1]:
        found = path.find(piece, position)
        if found < 0:
            return False
        position = found + len(piece)
    if len(pieces) == 1:
        return not anchored or position == len(path)
    last = pieces[-1]
    if anchored:
        return path.endswith(last) and len(path) - len(last) >= position
    return path.find(last, position) >= 0
