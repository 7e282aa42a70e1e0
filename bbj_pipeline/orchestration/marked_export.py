"""Exports whose ``marker`` says when they are complete: no run, whoever started it, hands on one that is still being copied.

A run that meets such an export waits: it ends without a result, and what is served stays as it is. Complete is one whose
marker was written anew since the last export, or that holds what it held then. When nothing ends the wait, the instance
becomes stale, which is told.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import dagster as dg

from bbj_pipeline.errors import PipelineError
from bbj_pipeline.orchestration.stage_names import RAW_EXPORT
from bbj_pipeline.orchestration.steps.export import export_raw
from bbj_pipeline.orchestration.steps.workplace import StepResult, Workplace
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.sources.change_tokens import Look, look_at
from bbj_pipeline.sources.config import ConfiguredInstance
from bbj_pipeline.storage.stage_files import StageDraft

__all__ = ["WAITING", "Exported", "Waiting", "export_when_complete", "waits_for"]

WAITING = "bbj_pipeline/waiting"
"""The tag of a run that waited, with what it waited for."""
_SEEN = "marked_export"


@dataclass(frozen=True, slots=True)
class Exported:
    """A complete export, and what the next one has to know of it, as metadata of its materialisation."""

    step: StepResult
    metadata: dict[str, str]


@dataclass(frozen=True, slots=True)
class Waiting:
    """No export: why it is not complete."""

    reason: str


def export_when_complete(at: Workplace, instance: dg.DagsterInstance) -> Exported | Waiting:
    """Export an instance unless its marker says that the export is not complete; one without a marker always is.

    Raises what ``export_raw`` raises, and ``OSError`` when the marker's store does not answer.
    """
    marker = at.instance.options.marker
    look = _look(at.instance)
    if look is None:
        return Exported(export_raw(at), {})
    if look.marker is None:
        return Waiting(f"waiting for the marker: there is no {marker!r} yet")
    old_marker = _differs_under_one_marker(look, _seen_last(instance, at.instance.ref))
    changed = Waiting(f"waiting for the marker: files changed and {marker!r} is that of the export before")
    before = at.earlier(RAW_EXPORT)
    try:
        step = export_raw(at)
    except (PipelineError, OSError):
        if old_marker:  # half an archive cannot be read, and need not be
            return changed
        raise
    # Under an old marker only what was touched or moved may go on: the same documents with the same bytes.
    same = before is not None and before.info.data_version == step.info.data_version
    if (old_marker and not same) or _look(at.instance) != look:
        if isinstance(step.output, StageDraft):
            step.output.abandon()
        return changed if old_marker else Waiting(f"waiting for the marker {marker!r}: files changed while they were read")
    return Exported(step, {_SEEN: _state(look)})


def waits_for(run: dg.DagsterRun) -> str | None:
    """Return what a run waited for, ``None`` when it did not."""
    return run.tags.get(WAITING)


def _look(item: ConfiguredInstance) -> Look | None:
    """Look at an export with a marker, where it is copied to; ``None`` for one without."""
    location = item.options.mirror or item.options.path
    if item.options.marker is None or location is None:
        return None
    return look_at(location, item.options.marker)


def _differs_under_one_marker(look: Look, seen: str | None) -> bool:
    if seen is None:
        return False
    listing, _, marker = seen.partition(":")
    now_listing, _, now_marker = _state(look).partition(":")
    return marker == now_marker and listing != now_listing


def _state(look: Look) -> str:
    """Return the hashes of a listing and its marker's state."""
    return f"{look.listing}:{hashlib.sha256((look.marker or '').encode()).hexdigest()}"


def _seen_last(instance: dg.DagsterInstance, ref: InstanceRef) -> str | None:
    """Return the state that the last export of ``ref`` was made of."""
    wanted = dg.AssetRecordsFilter(asset_key=dg.AssetKey([ref.kind, RAW_EXPORT]), asset_partitions=[ref.instance])
    found = instance.fetch_materializations(wanted, limit=1).records
    materialization = found[0].asset_materialization if found else None
    value = materialization.metadata.get(_SEEN) if materialization else None
    return str(value.value) if value is not None else None
