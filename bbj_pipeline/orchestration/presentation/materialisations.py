"""What the UI shows of a materialisation: numbers it plots over time, a preview, links, columns, token lengths and timings.

Everything is read from the stage file, the served counts and Dagster's own records; how it is drawn and escaped stands in
``plots`` and ``text``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import dagster as dg
import numpy as np
import pyarrow as pa

from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.orchestration.presentation.columns import file_columns
from bbj_pipeline.orchestration.presentation.plots import as_markdown, stage_seconds, token_histogram
from bbj_pipeline.orchestration.presentation.text import MAX_ROWS, link, markdown_table, without_credentials
from bbj_pipeline.orchestration.stage_names import CHUNKS, EMBEDDINGS, PGVECTOR_TABLE, RAW_EXPORT, STAGES
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.storage.shown_rows import count_rows
from bbj_pipeline.storage.stage_files import StageFile, StageStore

__all__ = ["file_metadata", "numbers", "preview", "served_metadata"]

_LINKED = 5
"""Documents that a materialisation links to: enough to look whether they are what was expected."""
_RUNS = 8
"""Runs in the plot of timings."""
_PICTURE_VERSION = 1
_HIDDEN = {
    "unit_key",
    "unit_hash",
    "item_hash",
    "blocks",
    "metadata",
    "validators",
    "evidence",
    "vector",
    "raw_key",
    "raw_sha256",
    "kind",
}
# What a stage counts its speed in: the first of these that it has.
_PACE = (
    ("documents", "documents_per_second"),
    ("computed", "computed_per_second"),
)


def numbers(counts: Mapping[str, int], seconds: float) -> dict[str, int | float]:
    """Return the counts of a stage with its seconds, and its speed when it did something; all of them are plotted by the UI.

    Documents a second for an export, computed records a second for the stages after it, written rows for the table.
    """
    shown: dict[str, int | float] = {**counts, "seconds": round(seconds, 3)}
    done, name = next(((counts[count], name) for count, name in _PACE if count in counts), (0, ""))
    if "inserted" in counts:
        done, name = sum(counts.get(count, 0) for count in ("inserted", "updated", "deleted")), "rows_per_second"
    if done and seconds > 0:
        shown[name] = round(done / seconds, 1)
    return shown


def file_metadata(platform: Platform, ref: InstanceRef, stage: str, file: StageFile) -> dict[str, Any]:
    """Return what is shown of a committed stage file: place, size, columns, first rows, documents; of chunks also tokens."""
    head = next(file.row_groups(), None)
    shown: dict[str, Any] = {
        "file": dg.MetadataValue.path(without_credentials(file.location)),
        "dagster/row_count": file.info.rows,
        "dagster/partition_row_count": file.info.rows,
        "preview": dg.MetadataValue.md(preview(head)),
    }
    if head is not None:
        shown["dagster/column_schema"] = file_columns(head.schema)
    if stage == RAW_EXPORT:
        shown["raw_files"] = dg.MetadataValue.md(_raw_files(platform.store, file))
    elif stage != EMBEDDINGS:
        shown["documents"] = dg.MetadataValue.md(_documents(file))
    if stage == CHUNKS:
        shown |= _tokens(platform, ref, file)
    return shown


def served_metadata(
    context: dg.AssetExecutionContext, platform: Platform, chunks: StageFile, started: float, *, changed: bool
) -> dict[str, Any]:
    """Return what is shown of the served table after a publication: rows, documents, and the seconds of this and earlier runs.

    ``started`` is the ``perf_counter`` at which publishing began; the seconds of the stages before it are read from Dagster's
    records. Where nothing ``changed`` no plot is drawn: an unchanged night costs next to nothing.
    """
    ref = InstanceRef(context.asset_key.path[0], context.partition_key)
    seconds = time.perf_counter() - started
    of_instance, of_all = count_rows(platform.database, ref)
    shown: dict[str, Any] = {
        "dagster/row_count": of_all,
        "dagster/partition_row_count": of_instance,
        "documents": dg.MetadataValue.md(_documents(chunks)),
    }
    if changed:
        runs = _timings(context.instance, ref)
        runs.setdefault(context.run_id, {})[PGVECTOR_TABLE] = seconds
        labels = [
            ("this run" if run_id == context.run_id else run_id[:8], timed) for run_id, timed in list(runs.items())[-_RUNS:]
        ]
        shown["timings"] = dg.MetadataValue.md(as_markdown(stage_seconds(labels), "seconds of each stage, run after run"))
    return shown


def preview(head: pa.Table | None) -> str:
    """Return the first rows as a Markdown table of their short columns; ``no rows`` when there are none."""
    if head is None or head.num_rows == 0:
        return "no rows"
    first = head.slice(0, MAX_ROWS)
    names = [name for name in first.column_names if name not in _HIDDEN and first.column(name).null_count < first.num_rows]
    return markdown_table(first.select(names).to_pylist(), names)


def _first_documents(file: StageFile, columns: list[str]) -> Iterator[dict[str, Any]]:
    """Yield a row for each of the first documents that were not refused."""
    seen: set[str] = set()
    for table in file.row_groups([*columns, "key", "reject_code"]):
        for row in table.to_pylist():
            if row["reject_code"] is None and row["key"] not in seen:
                seen.add(row["key"])
                yield row


def _raw_files(store: StageStore, file: StageFile) -> str:
    rows = islice((row for row in _first_documents(file, ["sha256", "url"]) if row["sha256"]), _LINKED)
    lines = [f"- {link(row['key'], row['url'])}: `{without_credentials(store.blobs.locate(row['sha256']))}`" for row in rows]
    return "\n".join(lines) or "no documents"


def _documents(file: StageFile) -> str:
    rows = islice(_first_documents(file, ["title", "url"]), _LINKED)
    return "\n".join(f"- {link(row['title'] or row['key'], row['url'])}" for row in rows) or "no documents"


def _tokens(platform: Platform, ref: InstanceRef, file: StageFile) -> dict[str, Any]:
    """Return numbers and a histogram of token lengths; drawn once for a state of the file."""
    window = platform.tokenizer.window
    token = f"{_PICTURE_VERSION}:{file.info.data_version}:{window}"
    kept = platform.store.recall(ref, "token_histogram", token)
    if kept is None:
        values = (value for table in file.row_groups(["tokens"]) for value in table.column("tokens").to_pylist())
        tokens = [int(value) for value in values if value is not None]
        if not tokens:
            return {}
        middle, high = np.percentile(tokens, [50, 95])
        picture = as_markdown(token_histogram(tokens, window=window), "chunks by tokens")
        kept = {
            "numbers": {"tokens_median": float(middle), "tokens_p95": float(high), "tokens_max": max(tokens)},
            "picture": picture,
        }
        platform.store.remember(ref, "token_histogram", token, kept)
    return {**kept["numbers"], "token_histogram": dg.MetadataValue.md(kept["picture"])}


def _timings(instance: dg.DagsterInstance, ref: InstanceRef) -> dict[str, dict[str, float]]:
    """Return the seconds of each stage by run, the earliest run first, of the last materialisations of one instance."""
    found: list[tuple[float, str, str, float]] = []
    for stage in STAGES:
        records = instance.fetch_materializations(
            dg.AssetRecordsFilter(asset_key=dg.AssetKey([ref.kind, stage]), asset_partitions=[ref.instance]), limit=_RUNS
        ).records
        for record in records:
            made = record.asset_materialization
            seconds = made.metadata.get("seconds") if made is not None else None
            if seconds is not None and isinstance(seconds.value, int | float):
                found.append((record.timestamp, record.run_id, stage, float(seconds.value)))
    runs: dict[str, dict[str, float]] = {}
    for _, run_id, stage, value in sorted(found):
        runs.setdefault(run_id, {})[stage] = value
    return runs
