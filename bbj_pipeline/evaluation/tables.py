"""Evaluation results as Markdown tables, for the command line and the UI. Pure text."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bbj_pipeline.evaluation.comparison import Comparison
from bbj_pipeline.evaluation.metrics import METRICS
from bbj_pipeline.evaluation.summary import Means, Summary

__all__ = ["comparison_table", "summary_table", "table", "table_lines"]


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; a ``|`` in a cell is escaped."""
    return "\n".join(table_lines(header, rows)) + "\n"


def table_lines(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table as its rows come, some of which may take minutes."""
    for line in itertools.chain([header, ["---"] * len(header)], rows):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |"


def summary_table(summary: Summary) -> str:
    """Return the means with their 95 % intervals, overall and by group, and the sentences on negatives, kinds and sections."""
    rows = [_row("**all**", summary.overall)]
    for grouping, groups in summary.groups.items():
        rows += [_row(f"{grouping}: {name}", means) for name, means in groups.items()]
    reached = ", ".join(f"{kind} {found}/{asked}" for kind, (found, asked) in summary.reached.items())
    lines = [
        f"With the confidence floor on, {_share(summary.negatives)} negative and {_share(summary.answerable)} answerable "
        "queries are answered.",
        f"Kind of the best judged document reached in the first five: {reached}.",
        f"A judged section is among the passages of {_share(summary.sections)} queries that name one.",
    ]
    return table(["queries", "n", *METRICS], rows) + "\n" + "\n\n".join(lines) + "\n"


def comparison_table(comparison: Comparison, texts: Mapping[str, str]) -> str:
    """Return the differences to the run before and the queries that lost most; ``texts`` are the queries by id."""
    rows = [[metric, difference.signed] for metric, difference in comparison.differences.items()]
    lost = [[name, texts.get(name, ""), f"{change:+.3f}"] for name, change in comparison.lost]
    worst = "\n" + table(["query", "text", "nDCG@10"], lost) if lost else ""
    return table(["metric", "difference, 95 % interval"], rows) + worst


def _row(name: str, means: Means) -> list[str]:
    return [name, str(next(iter(means.values())).count), *(str(means[metric]) for metric in METRICS)]


def _share(part: tuple[int, int]) -> str:
    return f"{part[0]} of {part[1]}"
