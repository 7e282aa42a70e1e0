"""The IO manager of the stage files: commits the draft a step returns, and hands its file to the next stage.

A step writes its draft in batches; only here does it replace the earlier file. What the UI shows of it is
``presentation``'s business.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

import dagster as dg

from bbj_pipeline.orchestration.failures import classified
from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.orchestration.presentation import file_metadata
from bbj_pipeline.orchestration.steps.workplace import StepResult
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.storage.stage_files import StageDraft, StageFile, StageStore

__all__ = ["StageFileIOManager"]


class StageFileIOManager(dg.IOManager):
    """Stage files by asset key ``[kind, stage]`` and partition key (the instance)."""

    def __init__(self, platform: Platform, *, max_retries: int) -> None:
        self._platform = platform
        self._max_retries = max_retries

    def handle_output(self, context: dg.OutputContext, obj: StepResult) -> None:
        """Commit a new draft; an unchanged file stays where it is."""
        kind, stage = context.asset_key.path
        ref = InstanceRef(kind, context.partition_key)
        with self._classified(f"{ref}, {stage}", context):
            file = obj.output.commit() if isinstance(obj.output, StageDraft) else obj.output
            shown = file_metadata(self._platform, ref, stage, file)
        context.add_output_metadata(shown)

    def load_input(self, context: dg.InputContext) -> StageFile:
        """Return the committed file of the upstream stage; raises ``RejectedInput`` when there is none."""
        kind, stage = context.asset_key.path
        store: StageStore = self._platform.store
        ref = InstanceRef(kind, context.partition_key)
        with self._classified(f"{ref}, reading {stage}", context):
            return store.load(ref, stage)

    def _classified(self, where: str, context: dg.OutputContext | dg.InputContext) -> AbstractContextManager[None]:
        step = context.step_context
        return classified(self._max_retries, where=where, attempt=step.previous_attempt_count)
