"""The columns of every stage as Dagster shows them: from the stage files' own Parquet schemas, and from the table's SQL.

What a column means stands here once, for the files and the table alike; which columns there are is never repeated.
"""

from __future__ import annotations

import re
from functools import cache

import dagster as dg
import pyarrow as pa

from bbj_pipeline.orchestration.stage_names import CHUNKS, EMBEDDINGS, PARSED_TOPICS, PGVECTOR_TABLE, RAW_EXPORT, TAGGED_DOCS
from bbj_pipeline.settings import sql_dir
from bbj_pipeline.storage import stage_records
from bbj_pipeline.storage.stage_vectors import vector_schema

__all__ = ["column_schema", "file_columns"]

_MEANING = {
    "unit_key": "The document of the stage before that this row was made from.",
    "unit_hash": "Hash of everything the row depends on: the same hash, and the row is copied.",
    "key": "The document's identity in its instance.",
    "doc_key": "The document's identity in its instance.",
    "item_hash": "Hash of the record itself: what the next stage compares.",
    "reject_code": "Why the document was refused, as a stable code; null for a document that was used.",
    "reject_reason": "Why it was refused, for a person.",
    "kind": "The source kind.",
    "instance": "The configured instance of the kind: the partition.",
    "sha256": "SHA-256 of the raw bytes, which are stored under it.",
    "size": "Raw bytes.",
    "media_type": "What the source says the bytes are.",
    "role": "document, or resource: what documents include.",
    "url": "The public address.",
    "last_modified": "When the source says it changed, ISO 8601; decides nothing.",
    "dependencies": "Resources whose content is part of this document.",
    "metadata": "What has no column of its own, as JSON.",
    "unfetched": "Why the newest bytes could not be had this time.",
    "validators": "ETag and the like, for asking the site whether it changed.",
    "title": "The document's title.",
    "blocks": "The content as typed blocks in reading order.",
    "section_path": "Where the document stands in its source, outermost first.",
    "raw_key": "The raw document it came from.",
    "raw_sha256": "SHA-256 of that raw document's bytes.",
    "generations": "The BBj generations it speaks of; empty means unknown.",
    "generation": "The BBj generations it speaks of; empty means unknown.",
    "evidence": "Why each label is there: cue, place, weight.",
    "doc_type": "What sort of document it is.",
    "doc_type_reason": "Why it was taken for that.",
    "sections": "Ranges of blocks that speak of other generations than the document.",
    "ordinal": "Position of the chunk in its document, from 0.",
    "section_ordinal": "Position of the chunk under its headings, from 0.",
    "heading_path": "The headings the chunk stands under.",
    "contextual_header": "The line before the content that says where it is from.",
    "content": "The passage itself, as it is shown.",
    "tokens": "Length of header and content in the embedding model's tokens.",
    "anchor": "Fragment of the heading it stands under.",
    "page": "The PDF page it begins on.",
    "overlap": "Tokens that repeat the end of the chunk before.",
    "text_hash": "SHA-256 of header and content: the identity of its vector.",
    "vector": "The unit vector; its length is the model's dimension.",
    "embedding": "The unit vector; its length is the model's dimension.",
    "id": "Identity of the chunk: instance, document, headings and position, not content.",
    "search_vector": "Words and their weights for full text search.",
    "since_version": "First BBj version it applies to.",
    "deprecated_in": "BBj version that deprecated it.",
    "still_valid": "Whether an older document still applies.",
    "supersedes": "Keys of documents this one replaces.",
    "superseded_by": "Keys of documents that replace this one.",
    "migration_note": "What to do instead.",
    "keywords": "Names a reader may search for.",
    "row_hash": "Hash of all served columns: publishing writes only rows in which it differs.",
    "publication_id": "The publication that wrote the row.",
}

_FILES: dict[str, pa.Schema] = {
    RAW_EXPORT: stage_records.MANIFEST.schema,
    PARSED_TOPICS: stage_records.PARSED.schema,
    TAGGED_DOCS: stage_records.TAGGED.schema,
    CHUNKS: stage_records.CHUNKS.schema,
}
_SQL_COLUMN = re.compile(r"^    ([a-z_]+) ((?:vector|[a-z]+)(?:\[\])?)(?:\(\{dimension\}\))?(.*?),?$", re.MULTILINE)


@cache
def column_schema(stage: str) -> dg.TableSchema:
    """Return the columns of a stage as they are known before it ran; a vector's length is known from its file only."""
    if stage == PGVECTOR_TABLE:
        return _table_columns((sql_dir() / "templates" / "chunks_table.sql").read_text(encoding="utf-8"))
    if stage == EMBEDDINGS:
        schema = vector_schema(1)
        position = schema.get_field_index("vector")
        return file_columns(schema.set(position, pa.field("vector", pa.list_(pa.float32()))))
    return file_columns(_FILES[stage])


def file_columns(schema: pa.Schema) -> dg.TableSchema:
    """Return the columns of a Parquet file; of a struct only that it is one, its fields would fill the screen."""
    return dg.TableSchema(
        [dg.TableColumn(name=field.name, type=_type(field.type), description=_MEANING.get(field.name)) for field in schema]
    )


def _type(kind: pa.DataType) -> str:
    if pa.types.is_struct(kind):
        return "struct"
    if pa.types.is_fixed_size_list(kind):
        return f"list<{_type(kind.value_type)}>[{kind.list_size}]"
    return f"list<{_type(kind.value_type)}>" if pa.types.is_list(kind) else str(kind)


def _table_columns(statement: str) -> dg.TableSchema:
    """Return the columns of the first ``create table`` of the template of a space's chunks."""
    body = statement[statement.index("create table") : statement.index("\n);")]
    return dg.TableSchema(
        [
            dg.TableColumn(
                name=name,
                type=kind,
                description=_MEANING.get(name),
                constraints=dg.TableColumnConstraints(
                    nullable="not null" not in rest and "primary key" not in rest, unique="primary key" in rest
                ),
            )
            for name, kind, rest in _SQL_COLUMN.findall(body)
        ]
    )
