"""What all steps share: where they work, what they return, and the loop that computes or copies one document after another."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import pyarrow as pa
from pydantic import SecretStr

from bbj_pipeline.records import Reject, content_hash
from bbj_pipeline.sources.config import ConfiguredInstance
from bbj_pipeline.storage.stage_files import StageDraft, StageFile, StageInfo, StageStore
from bbj_pipeline.storage.stage_records import Codec
from bbj_pipeline.storage.stage_units import UnitIndex, UnitWriter

__all__ = ["StepResult", "Unit", "Workplace", "abandon_on_error", "map_units", "plain"]

_DUPLICATE_KEY = "duplicate-key"

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


def plain(option: Any) -> Any:
    """Return an option as JSON data that differs when the option does; a secret as its digest."""
    if isinstance(option, SecretStr):
        return content_hash(option.get_secret_value())
    if isinstance(option, Mapping):
        return {str(name): plain(value) for name, value in option.items()}
    return str(option) if isinstance(option, Path) else option


class _UniqueKeys:
    """The record keys given so far, with the unit that gave each."""

    def __init__(self) -> None:
        self._owners: dict[str, str] = {}

    def admit(self, unit_key: str, rows: pa.Table) -> bool:
        """Take the keys of a unit of the earlier file; false when one is taken, or when the unit had lost one then."""
        codes = rows.column("reject_code").to_pylist()
        keys = [str(key) for key, code in zip(rows.column("key").to_pylist(), codes, strict=True) if code is None]
        if _DUPLICATE_KEY in codes or any(key in self._owners for key in keys):
            return False
        self._owners.update(dict.fromkeys(keys, unit_key))
        return True

    def checked(self, unit_key: str, items: tuple[tuple[str, OutT | Reject], ...]) -> tuple[tuple[str, OutT | Reject], ...]:
        """Return the items with every record whose key is taken replaced by a reject."""
        return tuple(self._checked(unit_key, key, item) for key, item in items)

    def _checked(self, unit_key: str, key: str, item: OutT | Reject) -> tuple[str, OutT | Reject]:
        if isinstance(item, Reject):
            return key, item
        owner = self._owners.setdefault(key, unit_key)
        if owner == unit_key:
            return key, item
        return key, Reject(key, _DUPLICATE_KEY, f"{unit_key} and {owner} both give a document of this key; the first is kept")


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
    unique_keys: bool = False,
) -> StepResult:
    """Compute the units whose input changed, copy the others from the earlier file; counts are in output rows.

    ``units`` is called only when the input or the stage's code changed, and must yield each key once. With ``unique_keys`` a
    record whose key an earlier unit already gave becomes a reject that names both: keys are identities downstream.
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
        keys = _UniqueKeys() if unique_keys else None
        for unit in units():
            unit_hash = f"{stage_version}:{unit.input_hash}"
            known = index.find(unit.key, unit_hash)
            if known is not None and keys is not None and not keys.admit(unit.key, known):
                known = None
            if known is None:
                items = tuple(compute(unit.load()))
                if keys is not None:
                    items = keys.checked(unit.key, items)
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
