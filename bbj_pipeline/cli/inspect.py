"""``parse``, ``tag`` and ``chunk``: one source alone, through the same steps as a run, in a temporary store.

No database, no Dagster and no model weights; the result goes to standard output as JSON lines.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import yaml

from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.models import load_tokenizer
from bbj_pipeline.orchestration.steps.export import export_raw
from bbj_pipeline.orchestration.steps.transform import chunk_docs, parse_raw, tag_topics
from bbj_pipeline.orchestration.steps.workplace import StepResult, Workplace
from bbj_pipeline.records import Chunk, InstanceRef, Reject, TaggedDoc, Topic, to_json
from bbj_pipeline.settings import load_settings
from bbj_pipeline.sources.config import ConfiguredInstance, build_options
from bbj_pipeline.sources.registry import get_source
from bbj_pipeline.stages.tagging import confidence
from bbj_pipeline.storage import stage_records
from bbj_pipeline.storage.stage_files import StageDraft, StageFile, StageStore
from bbj_pipeline.storage.stage_records import Codec
from bbj_pipeline.storage.stage_units import read_records

__all__ = ["chunk", "parse", "tag"]

_FACTS = (
    "since_version", "deprecated_in", "still_valid", "superseded_by", "supersedes", "migration_note", "related", "signatures",
    "keywords", "conditions", "last_updated",
)  # fmt: skip


def _source_command(name: str, text: str) -> Callable[[Callable[..., None]], click.Command]:
    def decorate(function: Callable[..., None]) -> click.Command:
        option = click.option(
            "--option", "options", multiple=True, metavar="K=V", help="An option of the kind, as in sources.yaml; V is YAML."
        )
        return click.command(name, help=text)(click.argument("kind")(click.argument("path")(option(function))))

    return decorate


@_source_command("parse", "Parse the export at PATH as KIND; print topics and rejects as JSON lines.")
def parse(kind: str, path: str, options: tuple[str, ...]) -> None:
    """Print topics and rejects."""
    with _store() as store:
        at = _workplace(store, kind, path, options)
        for item in _records(_parsed(at), stage_records.PARSED):
            _print({**to_json(item), "kind": kind, "url": item.url} if isinstance(item, Topic) else _rejected(kind, item))


@_source_command("tag", "Tag the export at PATH as KIND; print generations, evidence and document types as JSON lines.")
def tag(kind: str, path: str, options: tuple[str, ...]) -> None:
    """Print labels and evidence."""
    with _store() as store:
        at = _workplace(store, kind, path, options)
        for item in _records(_tagged(at), stage_records.TAGGED):
            _print(_tag_line(item) if isinstance(item, TaggedDoc) else _rejected(kind, item))


@_source_command("chunk", "Chunk the export at PATH as KIND; print the chunks as JSON lines.")
def chunk(kind: str, path: str, options: tuple[str, ...]) -> None:
    """Print chunks with their token counts."""
    with _store() as store:
        at = _workplace(store, kind, path, options)
        file = _commit(chunk_docs(at, _tagged(at), load_tokenizer(load_settings())))
        for item in _records(file, stage_records.CHUNKS):
            _print({**to_json(item), "url": item.url} if isinstance(item, Chunk) else _rejected(kind, item))


def _store() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="bbj_pipeline-")


def _workplace(store: str, kind: str, path: str, options: tuple[str, ...]) -> Workplace:
    source = get_source(kind)
    where = "url" if path.startswith(("http://", "https://")) else "path"
    values = {where: path, **dict(_option(text) for text in options)}
    built = build_options(source, values, base=Path.cwd(), where=kind)
    return Workplace(ConfiguredInstance(InstanceRef(kind, "inspected"), source, built), StageStore(store), "inspect")


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ConfigurationError(f"--option {text!r} has no value", remedy="write --option name=value")
    try:
        return name, yaml.safe_load(value)
    except yaml.YAMLError:
        raise ConfigurationError(f"--option {name}: {value!r} is not YAML", remedy="quote the value") from None


def _parsed(at: Workplace) -> StageFile:
    return _commit(parse_raw(at, _commit(export_raw(at))))


def _tagged(at: Workplace) -> StageFile:
    return _commit(tag_topics(at, _parsed(at)))


def _commit(result: StepResult) -> StageFile:
    return result.output.commit() if isinstance(result.output, StageDraft) else result.output


def _records(file: StageFile, codec: Codec[Any]) -> Iterator[Any]:
    return read_records(file, codec)


def _rejected(kind: str, reject: Reject) -> dict[str, Any]:
    return {"kind": kind, "key": reject.key, "reject": {"code": reject.code, "reason": reject.reason}}


def _tag_line(doc: TaggedDoc) -> dict[str, Any]:
    """Return labels, how sure they are, why, and the sections that differ, each with the heading above it and its evidence."""
    line: dict[str, Any] = {**to_json(doc), "kind": doc.topic.kind, "key": doc.topic.key, "title": doc.topic.title}
    del line["topic"]
    line["confidence"] = confidence(doc)
    for section in line["sections"]:
        blocks = range(section["first_block"], section["end_block"])
        section["heading"] = doc.topic.blocks[blocks.start].text
        section["evidence"] = [item for item in line["evidence"] if item["where"] in {f"block {block}" for block in blocks}]
    line["metadata"] = {name: doc.topic.metadata[name] for name in _FACTS if name in doc.topic.metadata}
    return line


def _print(value: dict[str, Any]) -> None:
    click.echo(json.dumps(value, ensure_ascii=False))
