"""The gap report: questions without a good answer, near ones together, for the people who write the documentation. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bbj_pipeline.stages.contract import Vectors
from bbj_pipeline.storage.feedback import Gap

__all__ = ["GapGroup", "group_gaps", "render_gaps"]

NEAR = 0.75
"""Cosine from which two questions are one topic to a writer."""
MAX_WORDINGS = 5


@dataclass(frozen=True, slots=True)
class GapGroup:
    """Questions of one topic, the most pressing first."""

    gaps: tuple[Gap, ...]

    @property
    def weight(self) -> int:
        """How often someone was left without an answer."""
        return sum(gap.weight for gap in self.gaps)


def group_gaps(gaps: Sequence[Gap], vectors: Vectors, *, near: float = NEAR) -> list[GapGroup]:
    """Group questions whose unit vectors, shape (len(gaps), dimension), lie near the first of a group; heaviest group first.

    Takes the questions in the order given, so the most pressing one names its group.
    """
    heads: list[int] = []
    members: dict[int, list[Gap]] = {}
    for index, gap in enumerate(gaps):
        cosines = [(float(vectors[index] @ vectors[head]), head) for head in heads]
        best, head = max(cosines, default=(0.0, index))
        if best < near:
            head = index
            heads.append(head)
        members.setdefault(head, []).append(gap)
    return sorted((GapGroup(tuple(items)) for items in members.values()), key=lambda group: -group.weight)


def render_gaps(groups: Sequence[GapGroup], *, days: int) -> str:
    """Return the report as Markdown."""
    title = f"# Questions without a good answer, last {days} days\n"
    if not groups:
        return f"{title}\nNone. Questions are only kept when `BBJ_LOG_QUERIES` is true; feedback on answers is always.\n"
    rows = [f"{sum(len(group.gaps) for group in groups)} questions in {len(groups)} topics.\n", *map(_topic, groups)]
    return "\n".join([title, *rows])


def _topic(group: GapGroup) -> str:
    head = group.gaps[0]
    lines = [
        f"## {_plain(head.query)}\n",
        f"* left without an answer {group.weight} times, last on {max(g.last for g in group.gaps):%Y-%m-%d}",
    ]
    generations = sorted({gap.generation or "none given" for gap in group.gaps})
    lines.append(f"* generation: {', '.join(generations)}")
    if head.hits is not None:
        lines.append(
            f"* the search found {'nothing' if not head.hits else f'{head.hits} passages, strength {head.strength or 0:.2f}'}"
        )
    if judged := sum(gap.not_useful for gap in group.gaps):
        lines.append(f"* {judged} times judged not useful, {sum(gap.useful for gap in group.gaps)} times useful")
    lines += [f"* also asked as: {_plain(gap.query)}" for gap in group.gaps[1:MAX_WORDINGS]]
    if len(group.gaps) > MAX_WORDINGS:
        lines.append(f"* and {len(group.gaps) - MAX_WORDINGS} more wordings")
    lines += [f"> {_plain(comment)}" for gap in group.gaps for comment in gap.comments]
    return "\n".join([*lines, ""])


def _plain(text: str) -> str:
    """Return a reader's text on one line, with what Markdown or HTML would act on made harmless."""
    line = " ".join(text.split())[:300]
    return "".join(f"\\{char}" if char in "\\`*_[]<>#|" else char for char in line)
