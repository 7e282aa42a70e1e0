"""What all steps share: where they work, what they return, and the loop that computes or copies one document after another."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from bbj_pipeline.records import Reject
from bbj_pipeline.sources.config import ConfiguredInstance
from bbj_pipeline.storage.stage_files import StageDraft, StageFile, StageInfo, StageStore
from bbj_pipeline.storage.stage_records import Codec
from bbj_pipeline.storage.stage_units import UnitIndex, UnitWriter

__all__ = ["StepResult", "Unit", "Workplace", "abandon_on_error", "map_units"]

InT = TypeVar("InT")
OutT = TypeVar("OutT")


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where a step works: one configured instance, the stage store, and the run it works for."""

    instance: ConfiguredInstance
    store: StageStore
    run_id: str

    def earlier(self, stage: str) -> StageFile | None:
        """Return the committed file of one of this instance's stages, if there is one."""
        return self.store.find(self.instance.ref, stage)

    def unchanged(self, stage: str, upstream: StageFile, stage_version: str) -> StageFile | None:
        """Return the earlier file if it was made from this very input by this very code."""
        earlier = self.earlier(stage)
        if earlier is None or earlier.info.stage_version != stage_version:
            return None
        return earlier if earlier.info.input_version == upstream.info.data_version else None


@dataclass(frozen=True, slots=True)
class StepResult:
    """A step's output: a finished draft to commit, or the earlier file when nothing changed; and what was done."""

    output: StageDraft | StageFile
    info: StageInfo
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Unit(Generic[InT]):
    """One input document: its key, the hash of everything its output depends on, and how to load it."""

    key: str
    input_hash: str
    load: Callable[[], InT]


@contextlib.contextmanager
def abandon_on_error(draft: StageDraft) -> Iterator[None]:
    """Remove the draft when the body fails, so that a failed step leaves nothing behind."""
    try:
        yield
    except BaseException:
        draft.abandon()
        raise


def map_units(
    at: Workplace,
    *,
    stage: str,
    upstream: StageFile,
    stage_version: str,
    codec: Codec[OutT],
    units: Callable[[], Iterable[Unit[InT]]],
    compute: Callable[[InT], Iterable[tuple[str, OutT | Reject]]],
) -> StepResult:
    """Compute the units whose input changed, copy the others from the earlier file; counts are in output rows.

    ``units`` is called only when the input or the stage's code changed, and must yield each key once.
    """
    earlier = at.unchanged(stage, upstream, stage_version)
    if earlier is not None:
        kept = earlier.info.rows - earlier.info.rejects
        return StepResult(earlier, earlier.info, {"computed": 0, "reused": kept, "rejected": earlier.info.rejects})
    index = UnitIndex(at.earlier(stage))
    draft = at.store.draft(at.instance.ref, stage, codec.schema)
    computed = reused = 0
    with abandon_on_error(draft):
        writer = UnitWriter(draft, codec)
        for unit in units():
            unit_hash = f"{stage_version}:{unit.input_hash}"
            known = index.find(unit.key, unit_hash)
            if known is None:
                items = tuple(compute(unit.load()))
                writer.add(unit.key, unit_hash, items)
                computed += sum(not isinstance(item, Reject) for _, item in items)
            else:
                writer.copy(known)
                reused += known.column("reject_code").null_count
        info = writer.finish(
            stage=stage,
            stage_version=stage_version,
            input_version=upstream.info.data_version,
            complete=upstream.info.complete,
            run_id=at.run_id,
        )
    return StepResult(draft, info, {"computed": computed, "reused": reused, "rejected": info.rejects})
