"""Means with intervals, over all queries and over each kind, query type and generation; negatives; kinds reached. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bbj_pipeline.evaluation.intervals import Interval, mean_interval
from bbj_pipeline.evaluation.judged import JudgedQuery
from bbj_pipeline.evaluation.metrics import METRICS, Scores, score
from bbj_pipeline.evaluation.running import Answer

__all__ = ["NO_HINT", "Means", "Summary", "score_answers", "summarize"]

NO_HINT = "(no hint)"
TOP = 5
"""Documents in which each kind must be reachable: what a search returns by default."""

Means = Mapping[str, Interval]
"""An interval for each name in ``METRICS``."""

_GROUPINGS: Mapping[str, Callable[[JudgedQuery], str]] = {
    "kind": lambda query: str(query.kind),
    "type": lambda query: query.type,
    "generation": lambda query: query.generation or NO_HINT,
}


@dataclass(frozen=True, slots=True)
class Summary:
    """What one run of a judged set says.

    ``groups`` holds the means by grouping (``kind``, ``type``, ``generation``) and group. ``negatives`` and ``answerable`` are
    (answered with the confidence floor on, asked). ``reached`` is, for each kind, (queries written for it of which a relevant
    document of this kind is among the first five, queries written for it). ``sections`` is (queries of which a judged section
    was found, queries that have one).
    """

    overall: Means
    groups: Mapping[str, Mapping[str, Means]]
    negatives: tuple[int, int]
    answerable: tuple[int, int]
    reached: Mapping[str, tuple[int, int]]
    sections: tuple[int, int]


def score_answers(answers: Iterable[Answer]) -> dict[str, Scores]:
    """Return the metrics of every answerable query by its id."""
    return {answer.query.id: score(answer.documents, answer.query.grades) for answer in answers if not answer.query.is_negative}


def summarize(answers: Sequence[Answer], *, floor: float) -> Summary:
    """Summarize the answers, of which one at least has a judgement; ``floor`` is the confidence below which none is given."""
    judged = [answer for answer in answers if not answer.query.is_negative]
    scores = score_answers(judged)
    groups: dict[str, dict[str, Means]] = {}
    for grouping, group_of in _GROUPINGS.items():
        members: dict[str, list[Scores]] = {}
        for answer in judged:
            members.setdefault(group_of(answer.query), []).append(scores[answer.query.id])
        groups[grouping] = {name: _means(found) for name, found in sorted(members.items())}
    sections = [answer.in_section for answer in judged if answer.in_section is not None]
    return Summary(
        overall=_means(list(scores.values())),
        groups=groups,
        negatives=_answered((answer for answer in answers if answer.query.is_negative), floor),
        answerable=_answered(judged, floor),
        reached=_reached(judged),
        sections=(sum(sections), len(sections)),
    )


def _means(scores: Sequence[Scores]) -> Means:
    return {metric: mean_interval([found[metric] for found in scores]) for metric in METRICS}


def _answered(answers: Iterable[Answer], floor: float) -> tuple[int, int]:
    sure = [bool(answer.documents) and answer.confidence >= floor for answer in answers]
    return sum(sure), len(sure)


def _reached(answers: Iterable[Answer]) -> dict[str, tuple[int, int]]:
    counts: dict[str, tuple[int, int]] = {}
    for answer in answers:
        kind, grades = str(answer.query.kind), answer.query.grades
        found = any(document in grades and document.kind == kind for document in answer.documents[:TOP])
        reached, asked = counts.get(kind, (0, 0))
        counts[kind] = (reached + found, asked + 1)
    return dict(sorted(counts.items()))
