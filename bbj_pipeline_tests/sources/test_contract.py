"""What every source kind owes, found through the registry and the sample exports: a new kind is tested without a line here."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from bbj_pipeline.records import BLOCK_TYPES, RawDocument, Reject, Topic, Unfetched
from bbj_pipeline.settings import SAMPLES_DIR
from bbj_pipeline.sources.config import ConfiguredInstance, load_sources
from bbj_pipeline.sources.contract import SourceOptions
from bbj_pipeline.sources.registry import source_kinds

INSTANCES = load_sources(SAMPLES_DIR / "sources.yaml")


@pytest.fixture(scope="module", params=INSTANCES, ids=lambda item: str(item.ref))
def instance(request: pytest.FixtureRequest) -> ConfiguredInstance:
    found: ConfiguredInstance = request.param
    return found


@pytest.fixture(scope="module")
def exported(instance: ConfiguredInstance) -> list[RawDocument | Reject | Unfetched]:
    return list(instance.source.export(instance.options))


def parsed(instance: ConfiguredInstance, exported: list[Any]) -> dict[str, list[Topic | Reject]]:
    content = {found.key: found.content for found in exported if isinstance(found, RawDocument)}
    return {
        found.key: list(instance.source.parse(found, instance.options, content.__getitem__))
        for found in exported
        if isinstance(found, RawDocument) and found.role == "document"
    }


def test_every_kind_has_a_sample_instance() -> None:
    """No source kind is without a sample export, so that the demo and these tests reach it."""
    assert {item.ref.kind for item in INSTANCES} == set(source_kinds())


def test_keys_are_sorted_and_unique(exported: list[RawDocument | Reject | Unfetched]) -> None:
    """An exporter lists each key once, in order."""
    keys = [found.key for found in exported]
    assert keys == sorted(set(keys))


def test_a_second_export_is_the_same(instance: ConfiguredInstance, exported: list[Any]) -> None:
    """An unchanged source gives the same bytes and the same listing, whatever port or clock it was read with."""
    assert list(instance.source.export(instance.options)) == exported


def test_an_earlier_export_changes_no_result(instance: ConfiguredInstance, exported: list[Any]) -> None:
    """An exporter that knows the earlier export of an unchanged source gives what it gave without it."""
    earlier = {found.key: found for found in exported if isinstance(found, RawDocument)}
    assert list(instance.source.export(instance.options, earlier)) == exported


def test_the_digest_of_the_files_knows_all_that_decides_an_export(instance: ConfiguredInstance, tmp_path: Path) -> None:
    """Whichever file of a folder is changed, emptied or removed: when the export differs, so does the digest."""
    source, given = instance.source, instance.options
    root = tmp_path / "copy"
    original = given.path or getattr(given, "replay", None)
    assert original is not None
    shutil.copytree(original, root)
    options = given.model_copy(update={"path": root} | ({"replay": None} if hasattr(given, "replay") else {}))

    def digest() -> str | None:
        opened = source.files(options)
        assert opened is not None
        with opened as files:
            return files.digest()

    before, whole = digest(), list(source.export(options))
    assert before is not None
    different = 0
    for path in [path for path in sorted(root.rglob("*")) if path.is_file()]:
        content = path.read_bytes()
        for other in (content + b" ", b"", None):
            path.unlink() if other is None else path.write_bytes(other)
            if list(source.export(options)) != whole:
                different += 1
                assert digest() != before, (path, other)
        path.write_bytes(content)
    assert different
    assert digest() == before


def test_every_document_becomes_topics_or_a_reject(instance: ConfiguredInstance, exported: list[Any]) -> None:
    """Keys in = keys out: nothing vanishes, and a reject is the only result of its document."""
    for key, results in parsed(instance, exported).items():
        assert results, key
        rejects = [item for item in results if isinstance(item, Reject)]
        assert not rejects or len(results) == 1, key
        for reject in rejects:
            assert reject.code
            assert reject.reason


def test_topics_are_whole(instance: ConfiguredInstance, exported: list[Any]) -> None:
    """A topic names its kind, title and origin, and its blocks are of the known types with what their type needs."""
    digests = {found.key: found.sha256 for found in exported if isinstance(found, RawDocument)}
    topics = [item for items in parsed(instance, exported).values() for item in items if isinstance(item, Topic)]
    assert topics
    for topic in topics:
        assert topic.kind == instance.ref.kind
        assert topic.title.strip(), topic.key
        assert topic.blocks, topic.key
        assert digests[topic.raw_key] == topic.raw_sha256, topic.key
        for block in topic.blocks:
            assert block.type in BLOCK_TYPES
            assert (block.type == "table") == (block.rows is not None), topic.key
            if block.type == "heading":
                assert block.level in range(1, 7), (topic.key, block)
            if block.rows:
                assert len({len(row) for row in block.rows}) == 1, (topic.key, "a table is a full grid")


def test_topic_keys_are_unique(instance: ConfiguredInstance, exported: list[Any]) -> None:
    """Two topics of an instance never share a key: it is their identity in the served table."""
    keys = [item.key for items in parsed(instance, exported).values() for item in items if isinstance(item, Topic)]
    assert len(keys) == len(set(keys))


class Recorded:
    """Options that remember which of them were read."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self.names: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        if name in type(self._options).model_fields:
            self.names.add(name)
        return getattr(self._options, name)


def test_a_parser_reads_no_option_it_does_not_declare(instance: ConfiguredInstance, exported: list[Any]) -> None:
    """What ``parse`` reads is in ``parse_options``: a change of any other option makes no document parsed again."""
    content = {found.key: found.content for found in exported if isinstance(found, RawDocument)}
    recorded: Any = Recorded(instance.options)
    for found in exported:
        if isinstance(found, RawDocument) and found.role == "document":
            list(instance.source.parse(found, recorded, content.__getitem__))
    assert recorded.names <= instance.source.parse_options
    assert instance.source.parse_options <= set(type(instance.options).model_fields)


def test_parsing_twice_gives_the_same(instance: ConfiguredInstance, exported: list[Any]) -> None:
    """The same bytes and options give the same topics; reuse by hash rests on it."""
    assert parsed(instance, exported) == parsed(instance, exported)
