"""The embeddings stage's file: one row a chunk in the order of the chunks, vectors as fixed-size lists of float32.

Kept apart from the record codecs because vectors go from NumPy to Arrow and back without a Python object a number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa

from bbj_pipeline.records import Chunk
from bbj_pipeline.stages.contract import Vectors
from bbj_pipeline.storage.stage_files import StageDraft, StageFile, StageInfo

__all__ = ["VectorRows", "VectorWriter", "read_vectors", "vector_schema"]


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
    ]
    return pa.schema(fields)


class VectorWriter:
    """Writes vectors beside their chunks, and hashes what decides them into the data version."""

    def __init__(self, draft: StageDraft, dimension: int, fingerprint: str) -> None:
        self._draft = draft
        self._schema = vector_schema(dimension)
        self._dimension = dimension
        self._digest = hashlib.sha256(fingerprint.encode())
        self._rows = 0

    def add(self, chunks: Sequence[tuple[str, Chunk]], vectors: Vectors) -> None:
        """Append one row group: (item hash, chunk) pairs with vectors of shape (len(chunks), dimension).

        The item hash, not only the text's, goes into the data version: a chunk whose URL changed is to be published too.
        """
        self._draft.write(
            pa.table(
                [
                    pa.array([chunk.key for _, chunk in chunks], pa.string()),
                    pa.array([chunk.ordinal for _, chunk in chunks], pa.int32()),
                    pa.array([chunk.text_hash for _, chunk in chunks], pa.string()),
                    pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel(), pa.float32()), self._dimension),
                ],
                schema=self._schema,
            )
        )
        for item_hash, chunk in chunks:
            self._digest.update(f"{chunk.key}\x1f{chunk.ordinal}\x1f{item_hash}\n".encode())
        self._rows += len(chunks)

    def finish(self, *, stage: str, stage_version: str, input_version: str, complete: bool, run_id: str) -> StageInfo:
        """Close the draft; returns what it holds."""
        self._digest.update(b"complete" if complete else b"incomplete")
        info = StageInfo(
            stage=stage,
            stage_version=stage_version,
            input_version=input_version,
            data_version=self._digest.hexdigest(),
            complete=complete,
            rows=self._rows,
            rejects=0,
            run_id=run_id,
        )
        self._draft.finish(info)
        return info


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
