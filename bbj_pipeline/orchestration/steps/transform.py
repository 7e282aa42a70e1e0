"""parsed_topics, tagged_docs and chunks: each maps the documents of the stage before to its own records."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TypeVar

from bbj_pipeline.errors import PipelineError
from bbj_pipeline.orchestration.stage_names import CHUNKS, PARSED_TOPICS, TAGGED_DOCS
from bbj_pipeline.orchestration.steps.workplace import StepResult, Unit, Workplace, map_units, plain
from bbj_pipeline.records import Chunk, RawDocument, Reject, TaggedDoc, Topic, content_hash
from bbj_pipeline.stages.chunking import CHUNKER_VERSION, chunk
from bbj_pipeline.stages.contract import Tokenizer
from bbj_pipeline.stages.generations.overrides import Overrides, load_overrides
from bbj_pipeline.stages.modernisation import FACTS_VERSION, with_facts
from bbj_pipeline.stages.tagging import TAGGER_VERSION, tag
from bbj_pipeline.storage import stage_records
from bbj_pipeline.storage.stage_files import StageFile
from bbj_pipeline.storage.stage_records import Codec, ManifestEntry
from bbj_pipeline.storage.stage_units import read_records, read_rows

__all__ = ["chunk_docs", "parse_raw", "tag_topics"]

log = logging.getLogger(__name__)

RecordT = TypeVar("RecordT")


def parse_raw(at: Workplace, raw_export: StageFile) -> StepResult:
    """Parse every raw document into topics or rejects: each key of the manifest is accounted for."""
    source, options = at.instance.source, at.instance.options
    deciding = {name: plain(getattr(options, name)) for name in sorted(source.parse_options)}
    resources: dict[str, str] = {}

    def units() -> Iterator[Unit[ManifestEntry | Reject]]:
        entries = read_records(raw_export, stage_records.MANIFEST)
        resources.update({e.key: e.sha256 for e in entries if isinstance(e, ManifestEntry) and e.role == "resource"})
        for entry in read_records(raw_export, stage_records.MANIFEST):
            if isinstance(entry, Reject) or entry.role == "document":
                yield Unit(entry.key, _input_hash(entry, resources), partial(_same, entry))

    def compute(entry: ManifestEntry | Reject) -> Iterable[tuple[str, Topic | Reject]]:
        if isinstance(entry, Reject):
            yield entry.key, entry
        elif not entry.sha256:
            yield entry.key, Reject(entry.key, "unfetched", entry.unfetched or "it was never fetched")
        else:
            yield from _parse_one(at, entry, resources)

    return map_units(
        at,
        stage=PARSED_TOPICS,
        upstream=raw_export,
        stage_version=content_hash([source.parser_version, deciding]),
        codec=stage_records.PARSED,
        units=units,
        compute=compute,
        unique_keys=True,
    )


def tag_topics(at: Workplace, parsed_topics: StageFile) -> StepResult:
    """Give every topic its generations with evidence, its document type, and what it says of versions and successors.

    Overrides that fit no document are logged as a warning: they are misspelled, or about documents that are gone.
    """
    hint, doc_type = at.instance.options.default_generations, at.instance.source.default_doc_type
    file = at.instance.options.generation_overrides
    overrides = load_overrides(file) if file else Overrides()
    keys: set[str] = set()

    def units() -> Iterator[Unit[Topic]]:
        for unit in _usable(parsed_topics, stage_records.PARSED):
            keys.add(unit.key)
            yield unit

    def compute(topic: Topic) -> Iterable[tuple[str, TaggedDoc | Reject]]:
        yield (
            topic.key,
            tag(with_facts(topic), default_generations=hint, default_doc_type=doc_type, overrides=overrides),
        )

    result = map_units(
        at,
        stage=TAGGED_DOCS,
        upstream=parsed_topics,
        stage_version=content_hash(
            [TAGGER_VERSION, FACTS_VERSION, list(hint), doc_type, *([overrides] if overrides.items else [])]
        ),
        codec=stage_records.TAGGED,
        units=units,
        compute=compute,
    )
    for pattern in overrides.unmatched(keys) if keys else ():
        log.warning("%s: no document has the key %r of %s", at.instance.ref, pattern, file)
    return result


def chunk_docs(at: Workplace, tagged_docs: StageFile, tokenizer: Tokenizer) -> StepResult:
    """Cut every document into chunks by its type, in the embedding model's own tokens."""

    def compute(doc: TaggedDoc) -> Iterable[tuple[str, Chunk | Reject]]:
        pieces = chunk(doc, tokenizer)
        for piece in pieces:
            yield piece.key, piece
        if not pieces:
            yield doc.topic.key, Reject(doc.topic.key, "no-content", "the document has no text to retrieve")

    return map_units(
        at,
        stage=CHUNKS,
        upstream=tagged_docs,
        stage_version=content_hash([CHUNKER_VERSION, tokenizer.name, tokenizer.window]),
        codec=stage_records.CHUNKS,
        units=lambda: _usable(tagged_docs, stage_records.TAGGED),
        compute=compute,
    )


def _usable(file: StageFile, codec: Codec[RecordT]) -> Iterator[Unit[RecordT]]:
    """Yield a unit for every row that is not a reject; rejects stay in the stage that found them."""
    return (Unit(row.key, row.item_hash, row.record) for row in read_rows(file, codec) if row.reject is None)


def _same(entry: ManifestEntry | Reject) -> ManifestEntry | Reject:
    return entry


def _input_hash(entry: ManifestEntry | Reject, resources: dict[str, str]) -> str:
    """Hash everything a parse depends on; a changed snippet or partial is a changed document."""
    if isinstance(entry, Reject):
        return content_hash(entry)
    dependencies = [[key, resources.get(key)] for key in entry.dependencies]
    return content_hash(
        [entry.sha256, entry.media_type, entry.url, entry.last_modified, dict(entry.metadata), entry.unfetched, dependencies]
    )


def _parse_one(at: Workplace, entry: ManifestEntry, resources: dict[str, str]) -> Iterator[tuple[str, Topic | Reject]]:
    raw = RawDocument(
        key=entry.key,
        content=at.store.blobs.get(entry.sha256),
        media_type=entry.media_type,
        url=entry.url,
        last_modified=entry.last_modified,
        dependencies=entry.dependencies,
        metadata=entry.metadata,
    )
    try:
        parsed = list(at.instance.source.parse(raw, at.instance.options, lambda key: at.store.blobs.get(resources[key])))
    except PipelineError:
        raise
    except Exception as error:  # a parser's bug costs one document, not the instance; it is logged, counted and listed
        log.exception("%s: the parser failed on %r", at.instance.ref, entry.key)
        parsed = [Reject(entry.key, "parser-failed", f"{type(error).__name__}: {error}; report this as a bug")]
    for item in parsed:
        yield item.key, item
