"""Plots for the UI, as PNG inside Markdown. matplotlib is imported when one is drawn: it takes a second to load."""

from __future__ import annotations

import base64
import io

from bbj_pipeline.stages.health import CATEGORIES, Health

__all__ = ["health_plot"]


def health_plot(health: Health) -> str:
    """Return a bar a source and category, in percent of the source's documents, as a Markdown image."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    sources = list(health.documents)
    counts = health.counts()
    figure = Figure(figsize=(9, 1.2 + 0.5 * max(1, len(sources))), dpi=90, layout="constrained")
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
    picture = io.BytesIO()
    FigureCanvasAgg(figure)
    figure.savefig(picture, format="png")
    return f"![share of documents with a finding](data:image/png;base64,{base64.b64encode(picture.getvalue()).decode()})"
