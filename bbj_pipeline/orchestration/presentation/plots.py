"""The plots of the UI, as PNG inside Markdown: token lengths, seconds of the stages run after run, health by source.

Matplotlib is imported when a plot is drawn, and not when Dagster loads the definitions; figures are drawn without its global
state, so that runs in threads do not meet.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bbj_pipeline.stages.health import CATEGORIES, Health

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MAX_PNG", "as_markdown", "health_shares", "stage_seconds", "token_histogram"]

MAX_PNG = 60_000
"""Bytes of a picture: it is kept with every materialisation in Dagster's database."""
_RESOLUTIONS = (96, 72, 48)
"""Dots an inch, tried from the finest on until the picture is small enough."""
_BINS = 32


def token_histogram(tokens: Sequence[int], *, window: int) -> bytes:
    """Return a PNG: how many chunks have how many tokens, with the model's window as a line."""
    figure = _figure(6.0, 2.6)
    axes = figure.add_subplot()
    axes.hist(tokens, bins=_BINS, range=(0, max(window, *tokens)), color="#4f46e5")
    axes.axvline(window, color="#dc2626", linewidth=1.2, label=f"window {window}")
    axes.set_xlabel("tokens of a chunk, header included")
    axes.set_ylabel("chunks")
    axes.legend(frameon=False, fontsize=8)
    return _png(figure)


def stage_seconds(runs: Sequence[tuple[str, Mapping[str, float]]]) -> bytes:
    """Return a PNG: one bar a run, (label, seconds by stage), the newest below; stages in the order they are first met."""
    stages = list(dict.fromkeys(stage for _, seconds in runs for stage in seconds))
    figure = _figure(6.0, 1.1 + 0.28 * len(runs))
    axes = figure.add_subplot()
    labels = [f"{label} " for label, _ in runs]
    rows = range(len(runs))
    start = [0.0] * len(runs)
    for stage in stages:
        widths = [seconds.get(stage, 0.0) for _, seconds in runs]
        axes.barh(rows, widths, left=start, label=stage, height=0.7)
        start = [before + width for before, width in zip(start, widths, strict=True)]
    axes.set_yticks(rows, labels)
    axes.invert_yaxis()
    axes.set_xlabel("seconds")
    axes.legend(ncols=3, frameon=False, fontsize=7, loc="lower left", bbox_to_anchor=(0, 1))
    return _png(figure)


def health_shares(health: Health) -> bytes:
    """Return a PNG: a bar a source and category of finding, in percent of the source's documents."""
    sources = list(health.documents)
    counts = health.counts()
    figure = _figure(9.0, 1.2 + 0.5 * max(1, len(sources)))
    axes = figure.add_subplot()
    height = 0.8 / len(CATEGORIES)
    for position, category in enumerate(CATEGORIES):
        shares = [100 * counts[source][category] / max(1, health.documents[source]) for source in sources]
        places = [row + position * height for row in range(len(sources))]
        axes.barh(places, shares, height=height, label=category.replace("_", " "))
    axes.set_yticks([row + 0.4 for row in range(len(sources))], sources)
    axes.set_xlim(0, 100)
    axes.set_xlabel("% of the source's documents")
    axes.invert_yaxis()
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")
    return _png(figure)


def as_markdown(png: bytes, alt: str) -> str:
    """Return a picture as Markdown that the UI shows."""
    return f"![{alt}](data:image/png;base64,{base64.b64encode(png).decode()})"


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="tight")


def _png(figure: Figure) -> bytes:
    for resolution in _RESOLUTIONS:
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=resolution)
        if buffer.tell() <= MAX_PNG:
            break
    return buffer.getvalue()
