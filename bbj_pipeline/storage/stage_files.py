"""Stage data: one Parquet file per instance and stage, replaced atomically, read and written in bounded batches.

A file is a draft until it is committed. Its footer says which input and which code made it, so that an unchanged input is
recognised without reading a row. What a row means belongs to ``stage_records``.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bbj_pipeline.errors import RejectedInput
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.storage.blobs import BlobStore
from bbj_pipeline.storage.file_store import FileStore

__all__ = ["StageDraft", "StageFile", "StageInfo", "StageStore", "StageWriter"]

log = logging.getLogger(__name__)

MANIFESTS = "raw_export"
"""The stage whose files list an export's raw bytes by their hash."""
_FOOTER = b"bbj_pipeline.stage"
_ABANDONED_SECONDS = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class StageInfo:
    """What a stage file was made from and holds.

    ``data_version`` hashes the rows in order; ``input_version`` is the data version of the stage before, ``stage_version``
    the code and configuration that made the rows. ``complete`` is false when the export could not fetch everything, so
    that nothing may be concluded from what is missing.
    """

    stage: str
    stage_version: str
    input_version: str
    data_version: str
    complete: bool
    rows: int
    rejects: int
    run_id: str


class StageFile:
    """A committed stage file."""

    def __init__(self, files: FileStore, path: str) -> None:
        self._files = files
        self.path = path
        with files.open(path) as source, pq.ParquetFile(source) as parquet:
            footer = (parquet.metadata.metadata or {}).get(_FOOTER)
        self.info = StageInfo(**json.loads(footer or b"{}"))

    @property
    def location(self) -> str:
        """Where the file lies, for people."""
        return self._files.locate(self.path)

    def row_groups(self, columns: list[str] | None = None) -> Iterator[pa.Table]:
        """Yield the row groups in order, each as a table of the given (or all) columns."""
        with self._files.open(self.path) as source, pq.ParquetFile(source) as parquet:
            for index in range(parquet.num_row_groups):
                # One thread: a row group is small, and waking others takes longer than a few columns of it.
                yield parquet.read_row_group(index, columns=columns, use_threads=columns is None)

    def row_group(self, index: int) -> pa.Table:
        """Return one row group with all columns."""
        with self._files.open(self.path) as source, pq.ParquetFile(source) as parquet:
            return parquet.read_row_group(index)


class StageDraft:
    """A stage file being written; nobody sees it before ``commit``."""

    def __init__(self, files: FileStore, path: str, schema: pa.Schema) -> None:
        self._files = files
        self._path = path
        self._temporary = files.temporary(path)
        self._sink = files.create(self._temporary)
        self._writer = pq.ParquetWriter(self._sink, schema, compression="zstd")
        self.info: StageInfo | None = None

    def write(self, table: pa.Table) -> None:
        """Append one row group."""
        self._writer.write_table(table, row_group_size=max(1, table.num_rows))

    def finish(self, info: StageInfo) -> None:
        """Write the footer and close the draft; it can now be committed."""
        self._writer.add_key_value_metadata({_FOOTER.decode(): json.dumps(dataclasses.asdict(info))})
        self._writer.close()
        self._sink.close()
        self.info = info

    def abandon(self) -> None:
        """Remove an unfinished or unwanted draft."""
        if self.info is None:
            self._writer.close()
            self._sink.close()
        self._files.discard(self._temporary)

    def commit(self) -> StageFile:
        """Put the finished draft in place of the earlier file."""
        self._files.replace(self._temporary, self._path)
        return StageFile(self._files, self._path)


class StageWriter:
    """What every writer of a stage file keeps: the draft, how many rows and rejects it has, and their hash.

    ``seed`` is what decides the rows besides their input and code, and goes into the data version first.
    """

    def __init__(self, draft: StageDraft, *, seed: str = "") -> None:
        self._draft = draft
        self._digest = hashlib.sha256(seed.encode())
        self.rows = 0
        self.rejects = 0

    def finish(self, *, stage: str, stage_version: str, input_version: str, complete: bool, run_id: str) -> StageInfo:
        """Write what is pending and close the draft; returns what it holds."""
        self._flush()
        self._digest.update(b"complete" if complete else b"incomplete")
        info = StageInfo(
            stage=stage,
            stage_version=stage_version,
            input_version=input_version,
            data_version=self._digest.hexdigest(),
            complete=complete,
            rows=self.rows,
            rejects=self.rejects,
            run_id=run_id,
        )
        self._draft.finish(info)
        return info

    def _flush(self) -> None:
        """Write what is pending; for writers that gather rows."""


class StageStore:
    """All stage files and raw blobs below one root."""

    def __init__(self, root: str) -> None:
        self._files = FileStore(root)
        self.blobs = BlobStore(self._files)

    def find(self, ref: InstanceRef, stage: str) -> StageFile | None:
        """Return the committed file of an instance's stage, or ``None`` when there is none that can be read."""
        path = _path(ref, stage)
        if not self._files.exists(path):
            return None
        try:
            return StageFile(self._files, path)
        except (pa.ArrowException, ValueError, TypeError) as error:
            # Damaged, or written by a version with another footer: as good as none, its rows are computed again.
            log.warning("%s cannot be used and is made anew (%s)", self._files.locate(path), error)
            return None

    def load(self, ref: InstanceRef, stage: str) -> StageFile:
        """Return the committed file; raises ``RejectedInput`` with the remedy when there is none."""
        found = self.find(ref, stage)
        if found is None:
            raise RejectedInput(f"{ref} has no {stage}", remedy=f"materialise {ref.kind}/{stage} of {ref.instance} first")
        return found

    def recall(self, ref: InstanceRef, name: str, token: str) -> Any:
        """Return what ``remember`` kept under this name for this very token, or ``None``."""
        try:
            kept = json.loads(self._files.read(_note(ref, name)))
            return kept["value"] if kept["token"] == token else None
        except (KeyError, ValueError, TypeError):  # never written, or damaged: it can be derived again
            return None

    def remember(self, ref: InstanceRef, name: str, token: str, value: Any) -> None:
        """Keep a small JSON value derived from a stage file; ``token`` says from which state of it."""
        self._files.write(_note(ref, name), as_json({"token": token, "value": value}).encode())

    def draft(self, ref: InstanceRef, stage: str, schema: pa.Schema) -> StageDraft:
        """Start a new file of an instance's stage."""
        return StageDraft(self._files, _path(ref, stage), schema)

    def sweep(self, ref: InstanceRef) -> None:
        """Remove the drafts of an instance that a killed run left more than a day ago."""
        self._files.remove_stale(_folder(ref), older_than=_ABANDONED_SECONDS)

    def has(self, ref: InstanceRef) -> bool:
        """Tell whether there is any file of an instance."""
        return next(self._files.files(_folder(ref)), None) is not None

    def remove(self, ref: InstanceRef, *, dry_run: bool) -> tuple[int, int]:
        """Remove all files of an instance; return how many there were, and their bytes."""
        found = list(self._files.files(_folder(ref)))
        for path, _, _ in () if dry_run else found:
            self._files.discard(path)
        return len(found), sum(size for _, size, _ in found)

    def manifest_hashes(self) -> set[str]:
        """Return the SHA-256 names of all raw bytes that the committed manifests list."""
        found: set[str] = set()
        for path, _, _ in self._files.files("stages"):
            if path.endswith(f"/{MANIFESTS}.parquet"):
                for table in StageFile(self._files, path).row_groups(["sha256"]):
                    found.update(str(value) for value in table.column("sha256").to_pylist() if value)
        return found

    def is_exporting(self) -> bool:
        """Tell whether a manifest is being written, whose raw bytes nothing lists yet."""
        recent = time.time() - _ABANDONED_SECONDS
        return any(
            f"/{MANIFESTS}.parquet." in path and path.endswith(".tmp") and modified > recent
            for path, _, modified in self._files.files("stages")
        )


def _folder(ref: InstanceRef) -> str:
    return f"stages/{ref.kind}/{ref.instance}"


def _path(ref: InstanceRef, stage: str) -> str:
    return f"{_folder(ref)}/{stage}.parquet"


def _note(ref: InstanceRef, name: str) -> str:
    return f"{_folder(ref)}/{name}.json"


def as_json(value: Any) -> str:
    """Return a JSON text for a free-form column: sorted names, so that equal values are equal bytes."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
