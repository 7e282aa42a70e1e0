"""Plots of an evaluation as PNG inside Markdown. matplotlib is imported when one is drawn: it takes a second to load."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence

from bbj_pipeline.evaluation.metrics import METRICS, PRIMARY
from bbj_pipeline.evaluation.summary import Summary
from bbj_pipeline.storage.evaluations import EvaluationMeans

__all__ = ["evaluation_plot"]


def evaluation_plot(summary: Summary, history: Sequence[EvaluationMeans]) -> str:
    """Return a Markdown image: the primary metric of each group with its interval, and all means over the runs so far."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    bars = [("all", summary.overall[PRIMARY])]
    bars += [
        (f"{grouping}: {name}", means[PRIMARY]) for grouping, found in summary.groups.items() for name, means in found.items()
    ]
    figure = Figure(figsize=(11, 1.2 + 0.28 * len(bars)), dpi=90, layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    places = range(len(bars))
    means = [interval.mean for _, interval in bars]
    reach = [[interval.mean - interval.low for _, interval in bars], [interval.high - interval.mean for _, interval in bars]]
    left.barh(places, means, xerr=reach, height=0.7, color="tab:blue", ecolor="0.3", capsize=2)
    left.set_yticks(places, [f"{name} (n={interval.count})" for name, interval in bars], fontsize="small")
    left.set_xlim(0, 1)
    left.set_title(f"{PRIMARY}, 95 % interval", fontsize="medium")
    left.invert_yaxis()
    for metric in METRICS:
        right.plot([run.id for run in history], [run.means.get(metric, 0.0) for run in history], marker="o", label=metric)
    for run in history:
        if run.regressed:
            right.axvline(run.id, color="tab:red", linestyle=":")
    right.xaxis.get_major_locator().set_params(integer=True)
    right.set_ylim(0, 1)
    right.set_xlabel("evaluation (red: a regression)")
    right.legend(loc="lower left", fontsize="small")
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    return f"![means by group and over time](data:image/png;base64,{base64.b64encode(picture.getvalue()).decode()})"
