"""Where a served chunk comes from: the raw bytes, the code and the model that made it, and the run that published it.

Reads the view ``chunk_provenance``, which people can query by hand; the bytes themselves are fetched from ``blobs``.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from bbj_pipeline.errors import RejectedInput
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.queries import query

__all__ = ["Provenance", "provenance"]


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of one served chunk.

    ``raw_sha256`` names the document's raw bytes as of the last publication. ``publication_id``, ``run_id`` and the versions
    are those that wrote the row; ``current_publication_id`` is the last one that found it unchanged, or brought it back.
    Versions are ``None`` where a publication of an earlier release did not record them.
    """

    chunk_id: str
    kind: str
    instance: str
    doc_key: str
    title: str
    source_url: str | None
    raw_key: str | None
    raw_sha256: str | None
    parser_version: str | None
    tagger_version: str | None
    chunker_version: str | None
    embedder_version: str | None
    embedding_fingerprint: str
    publication_id: int
    run_id: str
    published_at: datetime.datetime
    current_publication_id: int | None


def provenance(db: Database, chunk_id: str) -> Provenance:
    """Return where the served chunk ``chunk_id`` comes from; raise ``RejectedInput`` when no such chunk is served."""
    row = db.read(lambda connection: connection.execute(query("select_provenance"), {"chunk_id": chunk_id}).fetchone())
    if row is None:
        raise RejectedInput(
            f"no chunk {chunk_id!r} is served", remedy="take an id from 'bbj-pipeline search --json' or the table doc_chunks"
        )
    return Provenance(*row)
