"""The judged passages: texts of our own with the generations a BBj developer reads in them, and how well the tagger agrees.

``python -m bbj_pipeline_tests.stages.judged`` prints the table. A passage is a small topic; ``labels`` is empty for unknown,
which is counted like a label. ``at`` lists ranges of blocks with the labels that they carry by themselves. Of the splits,
``development`` may be looked at while rules are written; ``held-out`` and ``fresh`` were first run after that.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bbj_pipeline.records import GENERATIONS, Block, TaggedDoc, Topic
from bbj_pipeline.stages.tagging import generations_at, tag

PASSAGES = Path(__file__).with_name("judged_passages.jsonl")
SPLITS = ("development", "held-out", "fresh")
LABELS = (*GENERATIONS, "unknown")


@dataclass(frozen=True)
class Passage:
    """One judged text."""

    id: str
    split: str
    topic: Topic
    labels: frozenset[str]
    at: tuple[tuple[int, int, tuple[str, ...]], ...]

    def tagged(self) -> TaggedDoc:
        return tag(self.topic)


@dataclass(frozen=True)
class Score:
    """Counts of one label, and what follows from them."""

    label: str
    right: int
    wrong: int
    missed: int

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 1.0

    @property
    def recall(self) -> float:
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0

    @property
    def f1(self) -> float:
        return 2 * self.right / (2 * self.right + self.wrong + self.missed) if self.right else 0.0


def passages() -> list[Passage]:
    """All judged passages in the order of the file."""
    return [_passage(json.loads(line)) for line in PASSAGES.read_text(encoding="utf-8").splitlines()]


def _passage(row: dict) -> Passage:  # type: ignore[type-arg]
    blocks = tuple(Block(**block) for block in row["blocks"])
    topic = Topic("mdx", row.get("key", "a.md"), row["title"], blocks)
    at = tuple((first, end, tuple(labels)) for first, end, labels in row.get("at", ()))
    return Passage(row["id"], row["split"], topic, frozenset(row["labels"] or ["unknown"]), at)


def scores(judged: Iterable[Passage]) -> list[Score]:
    """Counts a label over these passages."""
    right: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for passage in judged:
        given = set(passage.tagged().generations) or {"unknown"}
        right.update(given & passage.labels)
        wrong.update(given - passage.labels)
        missed.update(passage.labels - given)
    return [Score(label, right[label], wrong[label], missed[label]) for label in LABELS]


def macro_f1(found: Sequence[Score]) -> float:
    """The mean F1 of all labels, each counting alike."""
    return sum(score.f1 for score in found) / len(found)


def section_errors(judged: Iterable[Passage]) -> list[str]:
    """Ranges of blocks whose labels are not those judged, as text."""
    return [
        f"{passage.id} blocks {first} to {end}: {given}, judged {labels}"
        for passage in judged
        for doc in [passage.tagged()]
        for first, end, labels in passage.at
        if (given := generations_at(doc, first, end)) != labels
    ]


def wilson(right: int, total: int) -> tuple[float, float]:
    """The 95 % confidence interval of a share by Wilson's score (E. B. Wilson, 1927); (0, 1) of nothing."""
    if not total:
        return 0.0, 1.0
    z, share = 1.96, right / total
    centre = share + z * z / (2 * total)
    spread = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return (centre - spread) / (1 + z * z / total), (centre + spread) / (1 + z * z / total)


def table(found: Sequence[Score]) -> str:
    """Precision, recall with their confidence intervals and F1 of each label, for a person."""
    lines = [f"{'label':10} {'judged':>6}  {'precision':22} {'recall':22} F1"]
    for score in found:
        judged = score.right + score.missed
        cells = []
        for value, total in ((score.precision, score.right + score.wrong), (score.recall, judged)):
            low, high = wilson(score.right, total)
            cells.append(f"{value:.3f} [{low:.3f}, {high:.3f}]  ")
        lines.append(f"{score.label:10} {judged:6}  {cells[0]:22} {cells[1]:22} {score.f1:.3f}")
    return "\n".join([*lines, f"macro F1 {macro_f1(found):.3f}"])


if __name__ == "__main__":
    everything = passages()
    for split in (*SPLITS, "all"):
        chosen = [passage for passage in everything if split in ("all", passage.split)]
        print(f"\n{split}: {len(chosen)} passages, {len(section_errors(chosen))} sections wrong\n{table(scores(chosen))}")
    for passage in everything:
        given = set(passage.tagged().generations) or {"unknown"}
        if given != passage.labels:
            print(f"{passage.id}: {sorted(given)}, judged {sorted(passage.labels)}")
