"""The data-quality checks of every source: tag coverage, rejects and chunk sizes, each per partition and before publishing.

What is expected stands here as expectations over a small frame of one row a document or chunk; they are validated by Great
Expectations. A failed blocking check ends the run, so that the served rows stay as they were.
"""

# Annotations stay real here (no `from __future__ import annotations`): Dagster reads the types of context and resources.

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import dagster as dg

from bbj_pipeline.orchestration.expectations import Verdict, validate
from bbj_pipeline.orchestration.failures import classified
from bbj_pipeline.orchestration.graph import partitions_of
from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.orchestration.stage_names import CHUNKS, PARSED_TOPICS, TAGGED_DOCS
from bbj_pipeline.records import GENERATIONS, InstanceRef
from bbj_pipeline.sources.config import ConfiguredInstance
from bbj_pipeline.sources.contract import Source
from bbj_pipeline.storage.stage_files import StageFile

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["build_source_checks"]

_CheckDecorator = Callable[[Callable[..., dg.AssetCheckResult]], dg.AssetChecksDefinition]

_WORST = 20


def build_source_checks(*, source: Source[Any], instances: Sequence[ConfiguredInstance]) -> list[dg.AssetChecksDefinition]:
    """Build the three blocking checks of one source kind."""
    kind = source.kind
    by_name = {item.ref.instance: item for item in instances}
    partitions = partitions_of(instances)

    def check(stage: str, name: str, description: str) -> _CheckDecorator:
        return dg.asset_check(asset=[kind, stage], name=name, description=description, blocking=True, partitions_def=partitions)

    @check(PARSED_TOPICS, "rejects_bounded", "At most max_reject_share of the documents are rejected.")
    def rejects_bounded(context: dg.AssetCheckExecutionContext, platform: dg.ResourceParam[Platform]) -> dg.AssetCheckResult:
        with classified():
            instance = by_name[context.partition_key]
            return check_rejects(platform.store.load(instance.ref, PARSED_TOPICS), instance)

    @check(TAGGED_DOCS, "tag_coverage", "Every label is a generation with evidence; enough documents carry one.")
    def tag_coverage(context: dg.AssetCheckExecutionContext, platform: dg.ResourceParam[Platform]) -> dg.AssetCheckResult:
        with classified():
            instance = by_name[context.partition_key]
            return check_tags(platform.store.load(instance.ref, TAGGED_DOCS), instance)

    @check(CHUNKS, "chunk_sizes", "Every chunk fits the embedding model's window, has a header and balanced fences.")
    def chunk_sizes(context: dg.AssetCheckExecutionContext, platform: dg.ResourceParam[Platform]) -> dg.AssetCheckResult:
        with classified():
            ref = InstanceRef(kind, context.partition_key)
            return check_chunks(platform.store.load(ref, CHUNKS), window=platform.tokenizer.window)

    return [rejects_bounded, tag_coverage, chunk_sizes]


def check_rejects(file: StageFile, instance: ConfiguredInstance) -> dg.AssetCheckResult:
    """Check how many documents an instance's parser refused; the metadata lists them by reason."""
    frame = _frame(file, ["key", "reject_code", "reject_reason"])
    frame["rejected"] = frame["reject_code"].notna().astype(float)
    limit = instance.options.max_reject_share
    verdict = _verdict(frame, [(f"at most {limit:.0%} of the documents are rejected", *_mean_between("rejected", 0.0, limit))])
    rejects = frame[frame["rejected"] > 0]
    listed = [f"- `{row.key}`: {row.reject_code}: {row.reject_reason}" for row in rejects.head(_WORST).itertuples()]
    return _result(
        verdict,
        remedy="correct the export, or raise max_reject_share of the instance in sources.yaml",
        metadata={
            "documents": len(frame),
            "rejected": len(rejects),
            "rejects": dg.MetadataValue.md("\n".join(listed) or "none"),
        },
    )


def check_tags(file: StageFile, instance: ConfiguredInstance) -> dg.AssetCheckResult:
    """Check that labels are generations with evidence, and that few enough documents are of unknown generation."""
    frame = _frame(file, ["key", "generations", "evidence"])
    labels = frame["generations"].map(list)
    frame["valid"] = [set(found) <= set(GENERATIONS) for found in labels]
    frame["evident"] = [
        set(found) <= {item["label"] for item in evidence} for found, evidence in zip(labels, frame["evidence"], strict=True)
    ]
    frame["tagged"] = labels.map(bool).astype(float)
    floor = instance.options.min_tag_coverage
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
        metadata={
            "documents": len(frame),
            "unknown": len(unknown),
            "coverage": round(1 - len(unknown) / max(1, len(frame)), 4),
            "unknown_documents": dg.MetadataValue.md("\n".join(f"- `{key}`" for key in unknown.head(_WORST)) or "none"),
            **{f"label_{label}": count for label, count in counts.items()},
        },
    )


def check_chunks(file: StageFile, *, window: int) -> dg.AssetCheckResult:
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
        metadata={
            "chunks": len(frame),
            "tokens": int(frame["tokens"].sum()),
            "largest": int(frame["tokens"].max()) if len(frame) else 0,
            "sizes": dg.MetadataValue.md("\n".join(lines)),
        },
    )


def _frame(file: StageFile, columns: list[str]) -> "pd.DataFrame":
    import pandas as pd

    parts = [table.to_pandas() for table in file.row_groups(columns)]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def _verdict(frame: "pd.DataFrame", expectations: Sequence[tuple[str, str, dict[str, Any]]]) -> Verdict:
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


def _result(verdict: Verdict, *, remedy: str, metadata: dict[str, Any]) -> dg.AssetCheckResult:
    text = "; ".join(verdict.lines)
    return dg.AssetCheckResult(
        passed=verdict.passed,
        description=text if verdict.passed else f"{text}. Remedy: {remedy}",
        metadata={**metadata, "remedy": "none needed" if verdict.passed else remedy},
    )
