"""What is expected of a stage file before anything is published: rejects, tags and chunks, as expectations over small frames.

Pure functions of a stage file and its limits, free of Dagster; ``checks`` makes asset checks of them. One row of a frame is a
document or a chunk; Great Expectations judges it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bbj_pipeline.orchestration.expectations import Verdict, validate
from bbj_pipeline.records import GENERATIONS, WITHDRAWN_CODES
from bbj_pipeline.storage.stage_files import StageFile

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["QUALITY_VERSION", "Finding", "judge_chunks", "judge_rejects", "judge_tags"]

QUALITY_VERSION = "2"
"""Part of what a remembered finding depends on: raise it when an expectation changes."""

_WORST = 20


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict with its sentences and remedy, the numbers behind it, and texts (Markdown) that list the offenders."""

    passed: bool
    description: str
    numbers: Mapping[str, float]
    texts: Mapping[str, str]


def judge_rejects(file: StageFile, *, limit: float) -> Finding:
    """Check how many documents an instance's parser refused; the metadata lists them by reason."""
    frame = _frame(file, ["key", "reject_code", "reject_reason"])
    broken = frame["reject_code"].notna() & ~frame["reject_code"].isin(list(WITHDRAWN_CODES))
    frame["rejected"] = broken.astype(float)
    verdict = _verdict(frame, [(f"at most {limit:.0%} of the documents are rejected", *_mean_between("rejected", 0.0, limit))])
    rejects = frame[frame["rejected"] > 0]
    listed = [f"- `{row.key}`: {row.reject_code}: {row.reject_reason}" for row in rejects.head(_WORST).itertuples()]
    return _result(
        verdict,
        remedy=f"correct the export ({', '.join(rejects['key'].head(3))}), or raise max_reject_share in sources.yaml",
        numbers={"documents": len(frame), "rejected": len(rejects)},
        texts={"rejects": "\n".join(listed) or "none"},
    )


def judge_tags(file: StageFile, *, floor: float) -> Finding:
    """Check that labels are generations with evidence, and that few enough documents are of unknown generation."""
    frame = _frame(file, ["key", "generations", "evidence"])
    labels = frame["generations"].map(list)
    frame["valid"] = [set(found) <= set(GENERATIONS) for found in labels]
    frame["evident"] = [
        set(found) <= {item["label"] for item in evidence} for found, evidence in zip(labels, frame["evidence"], strict=True)
    ]
    frame["tagged"] = labels.map(bool).astype(float)
    verdict = _verdict(
        frame[["key", "valid", "evident", "tagged"]],
        [
            ("every label is one of the closed list", *_all_true("valid")),
            ("every label has evidence", *_all_true("evident")),
            (f"at least {floor:.0%} of the documents carry a label", *_mean_between("tagged", floor, 1.0)),
        ],
    )
    unknown = frame.loc[frame["tagged"] == 0, "key"]
    counts = {label: int(labels.map(lambda found, label=label: label in found).sum()) for label in GENERATIONS}
    return _result(
        verdict,
        remedy="add a cue or default_generations for this source, or lower its min_tag_coverage in sources.yaml",
        numbers={
            "documents": len(frame),
            "unknown": len(unknown),
            "coverage": round(1 - len(unknown) / max(1, len(frame)), 4),
            **{f"label_{label}": count for label, count in counts.items()},
        },
        texts={"unknown_documents": "\n".join(f"- `{key}`" for key in unknown.head(_WORST)) or "none"},
    )


def judge_chunks(file: StageFile, *, window: int) -> Finding:
    """Check the sizes and the form of an instance's chunks."""
    frame = _frame(file, ["key", "ordinal", "tokens", "contextual_header", "content", "doc_type", "reject_code"])
    frame = frame[frame["reject_code"].isna()]
    frame["fences"] = [_fences_balanced(content) for content in frame["content"]]
    frame["filled"] = frame["content"].str.strip().str.len() > 0
    frame["header"] = frame["contextual_header"].str.len() > 0
    verdict = _verdict(
        frame[["key", "tokens", "fences", "filled", "header"]],
        [
            (
                f"every chunk has 1 to {window} tokens",
                "ExpectColumnValuesToBeBetween",
                {"column": "tokens", "min_value": 1, "max_value": window},
            ),
            ("every chunk has a contextual header", *_all_true("header")),
            ("no chunk is empty", *_all_true("filled")),
            ("no code fence is torn", *_all_true("fences")),
        ],
    )
    sizes = frame.groupby("doc_type")["tokens"].describe(percentiles=[0.5, 0.95])
    lines = ["| doc_type | chunks | median | p95 | largest |", "| --- | --- | --- | --- | --- |"]
    lines += [f"| {t} | {r['count']:.0f} | {r['50%']:.0f} | {r['95%']:.0f} | {r['max']:.0f} |" for t, r in sizes.iterrows()]
    return _result(
        verdict,
        remedy="report this as a bug of the chunker with the offending key",
        numbers={
            "chunks": len(frame),
            "tokens": int(frame["tokens"].sum()),
            "largest": int(frame["tokens"].max()) if len(frame) else 0,
        },
        texts={"sizes": "\n".join(lines)},
    )


def _frame(file: StageFile, columns: list[str]) -> pd.DataFrame:
    import pandas as pd

    parts = [table.to_pandas() for table in file.row_groups(columns)]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def _verdict(frame: pd.DataFrame, expectations: Sequence[tuple[str, str, dict[str, Any]]]) -> Verdict:
    """An instance without a single row has nothing wrong with its rows; that it is empty shows in the counts."""
    return validate(frame, expectations) if len(frame) else Verdict(True, ("no rows",))


def _all_true(column: str) -> tuple[str, dict[str, Any]]:
    return "ExpectColumnValuesToBeInSet", {"column": column, "value_set": [True]}


def _mean_between(column: str, low: float, high: float) -> tuple[str, dict[str, Any]]:
    return "ExpectColumnMeanToBeBetween", {"column": column, "min_value": low, "max_value": high}


def _fences_balanced(content: str) -> bool:
    """A fence is closed by a line of at least as many back-ticks (CommonMark 4.5)."""
    open_ticks = 0
    for line in content.split("\n"):
        stripped = line.strip()
        ticks = len(stripped) - len(stripped.lstrip("`"))
        if open_ticks == 0 and ticks >= 3 and "`" not in stripped[ticks:]:
            open_ticks = ticks
        elif open_ticks and ticks >= open_ticks and ticks == len(stripped):
            open_ticks = 0
    return open_ticks == 0


def _result(verdict: Verdict, *, remedy: str, numbers: Mapping[str, float], texts: Mapping[str, str]) -> Finding:
    text = "; ".join(verdict.lines)
    return Finding(verdict.passed, text if verdict.passed else f"{text}. Remedy: {remedy}", numbers, texts)
