"""What is expected of a stage file before anything is published: rejects, tags and vectors, as expectations over small frames.

Pure functions of a stage file and its limits, free of Dagster; ``checks`` makes asset checks of them, ``chunk_quality`` holds
those of chunks. One row of a frame is a document; Great Expectations judges a stage's expectations at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bbj_pipeline.orchestration.expectations import Verdict, validate
from bbj_pipeline.records import GENERATIONS, WITHDRAWN_CODES
from bbj_pipeline.storage.stage_files import StageFile

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "QUALITY_VERSION",
    "TAGGED_FLOORS",
    "Expectation",
    "Finding",
    "Judged",
    "all_true",
    "between",
    "frame_of",
    "judge",
    "judge_rejects",
    "judge_tags",
    "judge_vectors",
    "mean_between",
    "offenders",
]

QUALITY_VERSION = "4"
"""Part of what a remembered finding depends on: raise it when an expectation changes."""

TAGGED_FLOORS: Mapping[str, float] = {
    "flare": 0.7, "wordpress": 0.6, "web_crawl": 0.7, "mdx": 0.7, "javadoc": 0.9, "bbj_source": 0.8, "pdf": 0.5,
}  # fmt: skip
"""Share of documents of a kind that should carry a generation: pages about the company or the course carry none, a manual of
one file may be of any; an API without cues is a parser that lost its code."""
_WORST = 20

Expectation = tuple[str, str, dict[str, Any]]
"""What is expected in words, the class of Great Expectations, and its arguments."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A check's verdict with its sentences and remedy, the numbers behind it, and texts (Markdown) that list the offenders."""

    passed: bool
    description: str
    numbers: Mapping[str, float]
    texts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Judged:
    """One check: its expectations, and what is shown with its verdict."""

    name: str
    expectations: Sequence[Expectation]
    remedy: str
    numbers: Mapping[str, float]
    texts: Mapping[str, str] = field(default_factory=dict)


def judge_rejects(file: StageFile, *, limit: float) -> dict[str, Finding]:
    """Check how many documents an instance's parser refused; the metadata lists them by reason."""
    frame = frame_of(file, ["key", "reject_code", "reject_reason"])
    broken = frame["reject_code"].notna() & ~frame["reject_code"].isin(list(WITHDRAWN_CODES))
    frame["rejected"] = broken.astype(float)
    rejects = frame[frame["rejected"] > 0]
    listed = [f"`{row.key}`: {row.reject_code}: {row.reject_reason}" for row in rejects.itertuples()]
    return judge(
        frame,
        [
            Judged(
                "rejects_bounded",
                [mean_between(f"at most {limit:.0%} of the documents are rejected", "rejected", 0.0, limit)],
                remedy=f"correct the export ({', '.join(rejects['key'].head(3))}), or raise max_reject_share in sources.yaml",
                numbers={"documents": len(frame), "rejected": len(rejects)},
                texts={"rejects": offenders(listed)},
            )
        ],
    )


def judge_tags(file: StageFile, *, floor: float) -> dict[str, Finding]:
    """Check that labels are generations with evidence, and that few enough documents are of unknown generation."""
    frame = frame_of(file, ["key", "url", "generations", "evidence", "reject_code"])
    frame = frame[frame["reject_code"].isna()].copy()
    labels = frame["generations"].map(list)
    frame["valid"] = [set(found) <= set(GENERATIONS) for found in labels]
    frame["evident"] = [
        set(found) <= {item["label"] for item in evidence} for found, evidence in zip(labels, frame["evidence"], strict=True)
    ]
    frame["tagged"] = labels.map(bool).astype(float)
    wrong = frame[~(frame["valid"] & frame["evident"])]
    unknown = frame[frame["tagged"] == 0]
    counts = {label: int(labels.map(lambda found, label=label: label in found).sum()) for label in GENERATIONS}
    return judge(
        frame[["key", "valid", "evident", "tagged"]],
        [
            Judged(
                "labels_valid",
                [
                    all_true("every label is one of the closed list", "valid"),
                    all_true("every label has evidence", "evident"),
                ],
                remedy="report this as a bug of the tagger with the offending key",
                numbers={"documents": len(frame), "invalid": len(wrong)},
                texts={"offenders": offenders(map(_place, wrong.itertuples()))},
            ),
            Judged(
                "unknown_share",
                [mean_between(f"at least {floor:.0%} of the documents carry a label", "tagged", floor, 1.0)],
                remedy="add a cue to the rules or default_generations to this source, or lower its min_tag_coverage in"
                " sources.yaml; search finds these documents without a generation hint only",
                numbers={
                    "documents": len(frame),
                    "unknown": len(unknown),
                    "coverage": round(1 - len(unknown) / max(1, len(frame)), 4),
                    **{f"label_{label}": count for label, count in counts.items()},
                },
                texts={"unknown_documents": offenders(map(_place, unknown.itertuples()))},
            ),
        ],
    )


def judge_vectors(file: StageFile) -> dict[str, Finding]:
    """Check that every chunk has a usable vector; the metadata lists the documents that are left out for one without."""
    frame = frame_of(file, ["key", "ordinal", "reject_reason"])
    frame["usable"] = frame["reject_reason"].isna()
    unusable = frame[~frame["usable"]]
    keys = list(dict.fromkeys(unusable["key"]))
    return judge(
        frame[["key", "usable"]],
        [
            Judged(
                "vectors_usable",
                [all_true("every chunk has a usable vector", "usable")],
                remedy=f"look at the text of {', '.join(keys[:3])}: these documents are served as before, or not at all, and"
                " every refresh tries them again; when there are many, run `bbj-pipeline doctor`",
                numbers={"chunks": len(frame), "unusable": len(unusable), "documents_left_out": len(keys)},
                texts={
                    "unusable_vectors": offenders(
                        f"`{r.key}` chunk {r.ordinal}: {r.reject_reason}" for r in unusable.itertuples()
                    )
                },
            )
        ],
    )


def frame_of(file: StageFile, columns: list[str]) -> pd.DataFrame:
    """Return columns of a whole stage file."""
    import pandas as pd

    parts = [table.to_pandas() for table in file.row_groups(columns)]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def judge(frame: pd.DataFrame, checks: Sequence[Judged]) -> dict[str, Finding]:
    """Return a finding for each check, by name; all expectations are validated over the frame in one go.

    An instance without a single row has nothing wrong with its rows; that it is empty shows in the counts.
    """
    expectations = [expectation for check in checks for expectation in check.expectations]
    verdict = (
        validate(frame, expectations) if len(frame) else Verdict((True,) * len(expectations), ("no rows",) * len(expectations))
    )
    results = iter(zip(verdict.held, verdict.lines, strict=True))
    return {check.name: _finding(check, [next(results) for _ in check.expectations]) for check in checks}


def all_true(sentence: str, column: str) -> Expectation:
    """Expect true in every row."""
    return sentence, "ExpectColumnValuesToBeInSet", {"column": column, "value_set": [True]}


def between(sentence: str, column: str, low: float | None, high: float | None) -> Expectation:
    """Expect every value that is not null between two bounds, both included."""
    return sentence, "ExpectColumnValuesToBeBetween", {"column": column, "min_value": low, "max_value": high}


def mean_between(sentence: str, column: str, low: float, high: float) -> Expectation:
    """Expect the mean of a column between two bounds, both included."""
    return sentence, "ExpectColumnMeanToBeBetween", {"column": column, "min_value": low, "max_value": high}


def offenders(items: Iterable[str]) -> str:
    """Return the first of these as a Markdown list, with how many more there are."""
    found = list(items)
    more = [f"- … and {len(found) - _WORST:,} more"] if len(found) > _WORST else []
    return "\n".join([*(f"- {item}" for item in found[:_WORST]), *more]) or "none"


def _place(row: Any) -> str:
    return f"[`{row.key}`]({row.url})" if isinstance(row.url, str) and row.url else f"`{row.key}`"


def _finding(check: Judged, results: Sequence[tuple[bool, str]]) -> Finding:
    passed = all(held for held, _ in results)
    text = "; ".join(line for _, line in results)
    return Finding(passed, text if passed else f"{text}. Remedy: {check.remedy}", check.numbers, check.texts)
