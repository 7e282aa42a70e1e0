"""pgvector_table: makes one instance's chunks and vectors what is served, in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from bbj_pipeline import __version__
from bbj_pipeline.errors import PipelineError
from bbj_pipeline.orchestration.stage_names import PARSED_TOPICS
from bbj_pipeline.orchestration.steps.workplace import Workplace
from bbj_pipeline.records import WITHDRAWN_CODES
from bbj_pipeline.stages.chunking import CHUNKER_VERSION
from bbj_pipeline.stages.contract import Embedder
from bbj_pipeline.stages.embedding import EMBED_VERSION
from bbj_pipeline.stages.tagging import TAGGER_VERSION
from bbj_pipeline.storage import stage_records
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.diffs import Diff
from bbj_pipeline.storage.publishing import PublishRow, publish
from bbj_pipeline.storage.stage_files import StageFile
from bbj_pipeline.storage.stage_units import read_rows
from bbj_pipeline.storage.stage_vectors import keys_without_vectors, read_vectors

__all__ = ["PublishOutcome", "publish_chunks"]


@dataclass(frozen=True, slots=True)
class PublishOutcome:
    """What a publication changed.

    ``withheld`` are the keys of documents whose deletion waits, ``kept`` those that are served as they were before they broke.
    With the status ``held``, ``publication_id`` holds this content back since it brought ``rolled_back_to`` back.
    """

    status: str
    publication_id: int
    counts: Mapping[str, int]
    withheld: tuple[str, ...]
    kept: tuple[str, ...]
    diff: Diff
    rolled_back_to: int | None


def publish_chunks(
    at: Workplace,
    chunks: StageFile,
    embeddings: StageFile,
    database: Database,
    embedder: Embedder,
    *,
    approve_deletions: bool = False,
) -> PublishOutcome:
    """Publish one instance; an input that is already published, or that was rolled away, writes nothing.

    ``approve_deletions`` lets this one publication delete what the deletion guard would withhold.
    A document that was rejected, unless its authors withdrew it, or of which a chunk has no usable vector, is broken and not
    gone: its earlier rows stay served.
    """
    unusable = keys_without_vectors(embeddings)
    result = publish(
        database,
        at.instance.ref,
        rows=lambda: _rows(at, chunks, embeddings, unusable),
        fingerprint=embedder.fingerprint,
        dimension=embedder.dimension,
        input_version=embeddings.info.data_version,
        run_id=at.run_id,
        code_versions={
            "bbj_pipeline": __version__,
            "parser": at.instance.source.parser_version,
            "tagger": TAGGER_VERSION,
            "chunker": CHUNKER_VERSION,
            "embedder": EMBED_VERSION,
        },
        content_version=chunks.info.data_version,
        complete=embeddings.info.complete,
        broken={*_broken(at.store.find(at.instance.ref, PARSED_TOPICS)), *_broken(chunks), *unusable},
        approve_deletions=approve_deletions,
    )
    counts = {
        "inserted": result.inserted,
        "updated": result.updated,
        "deleted": result.deleted,
        "unchanged": result.unchanged,
        "documents_deleted": result.documents_deleted,
    }
    return PublishOutcome(
        status=result.status,
        publication_id=result.publication_id,
        counts=counts,
        withheld=result.withheld,
        kept=result.kept,
        diff=result.diff,
        rolled_back_to=result.rolled_back_to,
    )


def _broken(file: StageFile | None) -> Iterator[str]:
    """Yield the keys a stage rejected because the documents are broken."""
    if file is None or file.info.rejects == 0:
        return
    for table in file.row_groups(["key", "reject_code"]):
        codes = table.column("reject_code")
        if codes.null_count < table.num_rows:
            for key, code in zip(table.column("key").to_pylist(), codes.to_pylist(), strict=True):
                if code is not None and code not in WITHDRAWN_CODES:
                    yield str(key)


def _rows(at: Workplace, chunks: StageFile, embeddings: StageFile, unusable: Collection[str]) -> Iterator[PublishRow]:
    """Join chunks and vectors, which were written in the same order; a mismatch means one of them is of another run."""
    vectors = (
        (text_hash, vector)
        for group in read_vectors(embeddings)
        for text_hash, vector in zip(group.text_hashes, group.vectors, strict=True)
    )
    for row in read_rows(chunks, stage_records.CHUNKS):
        if row.reject is not None:
            continue
        chunk = row.record()
        text_hash, vector = next(vectors, ("", None))
        if vector is None or text_hash != chunk.text_hash:
            raise PipelineError(
                f"the embeddings of {at.instance.ref} do not match its chunks at {chunk.key}",
                remedy="materialise its embeddings again",
            )
        if chunk.key not in unusable:
            yield PublishRow(chunk, vector)
