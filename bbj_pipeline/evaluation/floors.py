"""Floors: what a judged set must reach, pinned in a JSON file beside it, so that lowering one is an edit someone reviews."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.evaluation.metrics import METRICS
from bbj_pipeline.evaluation.summary import Summary

__all__ = ["below_floors", "load_floors"]


def load_floors(path: Path, judged: str) -> Mapping[str, float]:
    """Return the floors of the judged set ``judged`` (its file's name), one for every metric.

    Raises ``ConfigurationError`` when the file has none, or one that is no share.
    """
    try:
        floors = json.loads(path.read_text(encoding="utf-8"))[judged]
        found = {metric: float(floors[metric]) for metric in METRICS}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(
            f"{path} pins no floors for {judged} ({type(error).__name__}: {error})",
            remedy=f"write {{{judged!r}: {{metric: floor}}}} with the metrics {', '.join(METRICS)}",
        ) from None
    if not all(0 <= floor <= 1 for floor in found.values()):
        raise ConfigurationError(f"a floor of {judged} in {path} is no share", remedy="write a number from 0 to 1")
    return found


def below_floors(summary: Summary, floors: Mapping[str, float]) -> list[str]:
    """Return a sentence for each mean that lies below its floor."""
    return [
        f"{metric} is {summary.overall[metric].mean:.4f}, its floor {floor:.4f}"
        for metric, floor in floors.items()
        if summary.overall[metric].mean < floor
    ]
