"""Reads and writes the rows of stage files as units, so that what did not change is copied instead of computed.

A *unit* is what is reused whole: everything one input document became. Its rows lie together in one row group, with the
hash of the input they were made from. A unit that gave nothing usable has one row that holds its reject.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pyarrow as pa

from bbj_pipeline.records import Reject, content_hash
from bbj_pipeline.storage.stage_files import StageDraft, StageFile, StageWriter
from bbj_pipeline.storage.stage_records import Codec

__all__ = ["StoredRow", "UnitIndex", "UnitWriter", "read_records", "read_rows"]

RecordT = TypeVar("RecordT")

_ROW_GROUP_ROWS = 512
"""Rows a row group holds at least, if there are as many: small enough to read one document without much beside it."""


@dataclass(frozen=True, slots=True)
class StoredRow(Generic[RecordT]):
    """One row of a stage file; the record is decoded only when asked for."""

    key: str
    item_hash: str
    reject: Reject | None
    _table: pa.Table
    _index: int
    _codec: Codec[RecordT]

    def record(self) -> RecordT:
        """Decode the row's record; only for rows without ``reject``."""
        return self._codec.from_row(self._table.slice(self._index, 1).to_pylist()[0])


def read_rows(file: StageFile, codec: Codec[RecordT]) -> Iterator[StoredRow[RecordT]]:
    """Yield all rows of a stage file in order, one row group in memory at a time."""
    for table in file.row_groups():
        columns = [table.column(name).to_pylist() for name in ("key", "item_hash", "reject_code", "reject_reason")]
        for index, (key, item_hash, code, reason) in enumerate(zip(*columns, strict=True)):
            reject = Reject(key, code, reason or "") if code is not None else None
            yield StoredRow(key, item_hash, reject, table, index, codec)


def read_records(file: StageFile, codec: Codec[RecordT]) -> Iterator[RecordT | Reject]:
    """Yield every row of a stage file decoded; whole row groups at a time, for stages that need all of them."""
    for table in file.row_groups():
        for row in table.to_pylist():
            code = row["reject_code"]
            yield codec.from_row(row) if code is None else Reject(row["key"], code, row["reject_reason"] or "")


class UnitIndex:
    """Finds the rows an earlier run made from the same input: by unit key and input hash."""

    def __init__(self, file: StageFile | None) -> None:
        self._file = file
        self._places: dict[str, tuple[str, int, int, int]] = {}
        self._cached: tuple[int, pa.Table] | None = None
        if file is not None:
            for group, table in enumerate(file.row_groups(["unit_key", "unit_hash"])):
                self._add(group, _texts(table, "unit_key"), _texts(table, "unit_hash"))

    def __len__(self) -> int:
        return len(self._places)

    def find(self, unit_key: str, unit_hash: str) -> pa.Table | None:
        """Return the rows of a unit made from the same input, or ``None``."""
        known, group, start, count = self._places.get(unit_key, ("", 0, 0, 0))
        if self._file is None or known != unit_hash:
            return None
        if self._cached is None or self._cached[0] != group:
            self._cached = (group, self._file.row_group(group))
        return self._cached[1].slice(start, count)

    def _add(self, group: int, keys: list[str], hashes: list[str]) -> None:
        start = 0
        for index in range(1, len(keys) + 1):
            if index == len(keys) or keys[index] != keys[start]:
                self._places[keys[start]] = (hashes[start], group, start, index - start)
                start = index


class UnitWriter(StageWriter, Generic[RecordT]):
    """Writes units to a draft in row groups that never tear a unit, and hashes the rows into the data version."""

    def __init__(self, draft: StageDraft, codec: Codec[RecordT]) -> None:
        super().__init__(draft)
        self._codec = codec
        self._pieces: list[pa.Table] = []
        self._rows: list[dict[str, Any]] = []
        self._pending = 0

    def add(self, unit_key: str, unit_hash: str, items: Sequence[tuple[str, RecordT | Reject]]) -> None:
        """Append a computed unit: its items as (key, record or reject), at least one."""
        for key, item in items:
            row = {"unit_key": unit_key, "unit_hash": unit_hash, "key": key, "item_hash": content_hash(item)}
            if isinstance(item, Reject):
                row |= {"reject_code": item.code, "reject_reason": item.reason}
                self.rejects += 1
            else:
                row |= self._codec.to_row(item)
            self._count(key, row["item_hash"])
            self._rows.append(row)
        self._advance(len(items))

    def copy(self, unit: pa.Table) -> None:
        """Append a unit of an earlier file as it is; a column or field that file did not have yet is empty."""
        self._settle_rows()
        schema = self._codec.schema
        self._pieces.append(unit if unit.schema.equals(schema) else pa.Table.from_pylist(unit.to_pylist(), schema=schema))
        for key, item_hash in zip(_texts(unit, "key"), _texts(unit, "item_hash"), strict=True):
            self._count(key, item_hash)
        self.rejects += unit.num_rows - unit.column("reject_code").null_count
        self._advance(unit.num_rows)

    def _count(self, key: str, item_hash: str) -> None:
        self._digest.update(f"{key}\x1f{item_hash}\n".encode())
        self.rows += 1

    def _advance(self, rows: int) -> None:
        self._pending += rows
        if self._pending >= _ROW_GROUP_ROWS:
            self._flush()

    def _settle_rows(self) -> None:
        if self._rows:
            self._pieces.append(pa.Table.from_pylist(self._rows, schema=self._codec.schema))
            self._rows = []

    def _flush(self) -> None:
        self._settle_rows()
        if self._pieces:
            self._draft.write(pa.concat_tables(self._pieces))
            self._pieces = []
        self._pending = 0


def _texts(table: pa.Table, column: str) -> list[str]:
    return [str(value) for value in table.column(column).to_pylist()]
