"""The IO manager of the stage files: commits the draft a step returns, and hands its file to the next stage.

A step writes its draft in batches; only here does it replace the earlier file. Also here: what the UI shows of a file.
"""

from __future__ import annotations

import dagster as dg

from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.orchestration.steps.workplace import StepResult
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.storage.stage_files import StageDraft, StageFile, StageStore

__all__ = ["StageFileIOManager", "preview"]

_PREVIEW_ROWS = 8
_PREVIEW_WIDTH = 90
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


class StageFileIOManager(dg.IOManager):
    """Stage files by asset key ``[kind, stage]`` and partition key (the instance)."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    def handle_output(self, context: dg.OutputContext, obj: StepResult) -> None:
        """Commit a new draft; an unchanged file stays where it is."""
        file = obj.output.commit() if isinstance(obj.output, StageDraft) else obj.output
        context.add_output_metadata(
            {
                "file": dg.MetadataValue.path(file.location),
                "dagster/row_count": file.info.rows,
                "preview": dg.MetadataValue.md(preview(file)),
            }
        )

    def load_input(self, context: dg.InputContext) -> StageFile:
        """Return the committed file of the upstream stage; raises ``RejectedInput`` when there is none."""
        kind, stage = context.asset_key.path
        store: StageStore = self._platform.store
        return store.load(InstanceRef(kind, context.partition_key), stage)


def preview(file: StageFile) -> str:
    """Return the first rows of a stage file as a Markdown table of its short columns."""
    first = next(file.row_groups(), None)
    if first is None or first.num_rows == 0:
        return "no rows"
    head = first.slice(0, _PREVIEW_ROWS)
    names = [name for name in head.column_names if name not in _HIDDEN and head.column(name).null_count < head.num_rows]
    lines = ["| " + " | ".join(names) + " |", "|" + " --- |" * len(names)]
    lines += ["| " + " | ".join(_cell(row[name]) for name in names) + " |" for row in head.select(names).to_pylist()]
    return "\n".join(lines)


def _cell(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
    text = " ".join(text.split()).replace("|", "\\|")
    return text if len(text) <= _PREVIEW_WIDTH else text[: _PREVIEW_WIDTH - 1] + "…"
