"""The embeddings stage's file: one row a chunk in the order of the chunks, vectors as fixed-size lists of float32.

A chunk without a usable vector has zeros and a reason. Kept apart from the record codecs because vectors go from NumPy to
Arrow and back without a Python object a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa

from bbj_pipeline.records import Chunk
from bbj_pipeline.stages.contract import Vectors
from bbj_pipeline.storage.stage_files import StageDraft, StageFile, StageWriter

__all__ = ["VectorRows", "VectorWriter", "keys_without_vectors", "read_vectors", "vector_schema"]


@dataclass(frozen=True, slots=True)
class VectorRows:
    """Some consecutive rows: keys, ordinals and text hashes of n chunks with their vectors, shape (n, dimension)."""

    keys: list[str]
    ordinals: list[int]
    text_hashes: list[str]
    vectors: Vectors


def vector_schema(dimension: int) -> pa.Schema:
    """Return the schema of an embeddings file."""
    fields: list[tuple[str, pa.DataType]] = [
        ("key", pa.string()),
        ("ordinal", pa.int32()),
        ("text_hash", pa.string()),
        ("vector", pa.list_(pa.float32(), dimension)),
        ("reject_reason", pa.string()),
    ]
    return pa.schema(fields)


class VectorWriter(StageWriter):
    """Writes vectors beside their chunks, and hashes what decides them into the data version."""

    def __init__(self, draft: StageDraft, dimension: int, fingerprint: str) -> None:
        super().__init__(draft, seed=fingerprint)
        self._schema = vector_schema(dimension)
        self._dimension = dimension

    def add(self, chunks: Sequence[tuple[str, Chunk]], vectors: Vectors, unusable: Mapping[str, str]) -> None:
        """Append one row group: (item hash, chunk) pairs with vectors of shape (len(chunks), dimension).

        ``unusable`` says by text hash why a chunk has none.
        The item hash, not only the text's, goes into the data version: a chunk whose URL changed is to be published too.
        """
        reasons = [unusable.get(chunk.text_hash) for _, chunk in chunks]
        self._draft.write(
            pa.table(
                [
                    pa.array([chunk.key for _, chunk in chunks], pa.string()),
                    pa.array([chunk.ordinal for _, chunk in chunks], pa.int32()),
                    pa.array([chunk.text_hash for _, chunk in chunks], pa.string()),
                    pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel(), pa.float32()), self._dimension),
                    pa.array(reasons, pa.string()),
                ],
                schema=self._schema,
            )
        )
        for (item_hash, chunk), reason in zip(chunks, reasons, strict=True):
            missing = "" if reason is None else "\x1fno vector"
            self._digest.update(f"{chunk.key}\x1f{chunk.ordinal}\x1f{item_hash}{missing}\n".encode())
        self.rows += len(chunks)
        self.rejects += sum(reason is not None for reason in reasons)


def read_vectors(file: StageFile) -> Iterator[VectorRows]:
    """Yield the vectors in order, one row group in memory at a time."""
    for table in file.row_groups():
        lists = cast("pa.FixedSizeListArray[Any]", table.column("vector").combine_chunks())
        flat = lists.flatten().to_numpy(zero_copy_only=False)
        yield VectorRows(
            keys=[str(key) for key in table.column("key").to_pylist()],
            ordinals=[int(str(ordinal)) for ordinal in table.column("ordinal").to_pylist()],
            text_hashes=[str(text_hash) for text_hash in table.column("text_hash").to_pylist()],
            vectors=flat.astype(np.float32, copy=False).reshape(table.num_rows, -1),
        )


def keys_without_vectors(file: StageFile) -> dict[str, str]:
    """Return the documents of which a chunk has no usable vector, each with the reason; cheap when there are none."""
    if file.info.rejects == 0:
        return {}
    rows = (row for table in file.row_groups(["key", "reject_reason"]) for row in table.to_pylist())
    return {str(row["key"]): str(row["reject_reason"]) for row in rows if row["reject_reason"] is not None}
