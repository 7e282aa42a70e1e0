"""What the export step does when its files are the same as before, and what it must still notice: real files, real steps."""

from __future__ import annotations

import dataclasses
import os
import shutil
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bbj_pipeline.errors import RejectedInput
from bbj_pipeline.orchestration.steps.export import export_raw
from bbj_pipeline.orchestration.steps.transform import chunk_docs, parse_raw, tag_topics
from bbj_pipeline.orchestration.steps.workplace import StepResult, Workplace
from bbj_pipeline.records import InstanceRef, RawDocument, Reject, Unfetched
from bbj_pipeline.settings import SAMPLES_DIR
from bbj_pipeline.sources.config import ConfiguredInstance, build_options
from bbj_pipeline.sources.flare import SOURCE as FLARE
from bbj_pipeline.sources.flare import FlareSource
from bbj_pipeline.sources.registry import source_kinds
from bbj_pipeline.storage.stage_files import StageDraft, StageFile, StageStore
from bbj_pipeline.storage.stage_records import MANIFEST, ManifestEntry
from bbj_pipeline.storage.stage_units import read_records
from bbj_pipeline_tests.fakes import WordTokenizer

SAMPLES = {
    "flare": "flare",
    "wordpress": "wordpress/advantage",
    "web_crawl": "web_crawl/dwc-course",
    "mdx": "mdx/dwc-guide",
    "javadoc": "javadoc",
    "bbj_source": "bbj_source",
    "pdf": "pdf",
}
TOPIC = b"<html><head><title>Windows</title></head><body><h1>Windows</h1><p>%s</p></body></html>"


def of_kind(kind: str, path: Path, store: StageStore, **options: Any) -> Workplace:
    source = source_kinds()[kind]
    built = build_options(source, {"path": str(path), **options}, base=path.parent, where=kind)
    return Workplace(ConfiguredInstance(InstanceRef(kind, "docs"), source, built), store, "run")


class Counted(FlareSource):
    """The Flare source, which counts how often it was asked for an export."""

    def __init__(self) -> None:
        self.exports = 0

    def export(self, options: Any, earlier: Any = None) -> Iterator[RawDocument | Reject | Unfetched]:
        self.exports += 1
        yield from super().export(options)


class Export:
    """A small Flare project, its store, and how often it was really exported."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "export"
        self.store = StageStore(str(folder / "store"))
        self.source: Counted = Counted()
        self.options: dict[str, Any] = {}
        for name, content in {
            "Content/a.htm": TOPIC % b"alpha",
            "Content/b.htm": TOPIC % b'<MadCap:snippetBlock src="s.flsnp" />',
            "Content/s.flsnp": b"<html><body><p>shared</p></body></html>",
            "Content/broken.htm": TOPIC % b"broken",
            "Project/TOCs/main.fltoc": b'<CatapultToc><TocEntry Title="All" Link="/Content/a.htm" /></CatapultToc>',
            "Docs.flprj": b"<CatapultProject/>",
        }.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        (self.root / "Content/out.htm").symlink_to(SAMPLES_DIR / "sources.yaml")

    @property
    def at(self) -> Workplace:
        options = build_options(FLARE, {"path": str(self.root), **self.options}, base=self.root, where="flare")
        return Workplace(ConfiguredInstance(InstanceRef("flare", "docs"), self.source, options), self.store, "run")

    def run(self) -> StepResult:
        """Export, and commit what is new."""
        result = export_raw(self.at)
        if isinstance(result.output, StageDraft):
            result.output.commit()
        return result

    def really(self) -> int:
        """How often the source was asked since this was last asked."""
        count, self.source.exports = self.source.exports, 0
        return count

    def blob(self, key: str) -> Path:
        return Path(self.store.blobs.locate(self.entries()[key].sha256))

    def manifest(self) -> StageFile:
        return self.store.load(self.at.instance.ref, "raw_export")

    def entries(self) -> dict[str, ManifestEntry]:
        found = read_records(self.manifest(), MANIFEST)
        return {entry.key: entry for entry in found if isinstance(entry, ManifestEntry)}


@pytest.fixture
def export(tmp_path: Path) -> Export:
    made = Export(tmp_path)
    made.run()
    assert made.really() == 1
    return made


@pytest.mark.parametrize("kind", sorted(SAMPLES))
def test_every_kind_of_file_is_exported_once(kind: str, tmp_path: Path) -> None:
    """The same names and bytes give the very manifest and counts of before, whatever the files' times say."""
    root = tmp_path / "export"
    shutil.copytree(SAMPLES_DIR / SAMPLES[kind], root)
    at = of_kind(kind, root, StageStore(str(tmp_path / "store")))
    first = export_raw(at)
    assert isinstance(first.output, StageDraft)
    committed = first.output.commit()
    assert committed.info.input_version
    for path in root.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    again = export_raw(at)
    assert isinstance(again.output, StageFile)
    assert again.info == first.info
    assert again.counts == {**first.counts, "new_blobs": 0}


def test_nothing_is_asked_of_the_source_when_only_times_changed(export: Export) -> None:
    """The source is not asked for an export, and its counts, the reject among them, are told all the same."""
    for path in export.root.rglob("*"):
        os.utime(path, (2_000_000_000, 2_000_000_000), follow_symlinks=False)
    result = export.run()
    assert export.really() == 0
    contents = ("a.htm", "b.htm", "broken.htm", "s.flsnp")
    assert result.counts == {
        "documents": 3,
        "resources": 1,
        "rejected": 1,
        "unfetched": 0,
        "bytes": sum((export.root / "Content" / name).stat().st_size for name in contents),
        "new_blobs": 0,
    }
    rejects = [entry for entry in read_records(export.manifest(), MANIFEST) if isinstance(entry, Reject)]
    assert [(entry.key, entry.code) for entry in rejects] == [("Content/out.htm", "outside-root")]


def test_what_a_killed_run_left_goes_although_nothing_changed(export: Export) -> None:
    """A draft of another stage that nobody wrote to for a day is removed by the next export, an unchanged one too."""
    left = Path(export.manifest().location).with_name("embeddings.parquet.0.tmp")
    left.write_bytes(b"half of it")
    export.run()
    assert left.exists()
    os.utime(left, (time.time() - 90_000, time.time() - 90_000))
    export.run()
    assert export.really() == 0
    assert not left.exists()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("Content/a.htm", b"alpha", b"alphA"),
        ("Content/s.flsnp", b"shared", b"sharel"),
        ("Project/TOCs/main.fltoc", b"All", b"Alt"),
        ("Docs.flprj", b"<CatapultProject/>", b"<CatapultProjecd/>"),
    ],
)
def test_one_byte_of_any_file_is_noticed(export: Export, name: str, old: bytes, new: bytes) -> None:
    """A topic, snippet, table of contents or project file with one other byte is read again, at equal size and time."""
    path = export.root / name
    before = path.stat()
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    version = export.manifest().info.input_version
    assert export.run().info.input_version != version
    assert export.really() == 1
    export.run()
    assert export.really() == 0


def change_name(root: Path) -> None:
    (root / "Content/a.htm").rename(root / "Content/c.htm")


def swap(root: Path) -> None:
    one, other = root / "Content/a.htm", root / "Content/broken.htm"
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)


def add(root: Path) -> None:
    (root / "Content/c.htm").write_bytes(TOPIC % b"gamma")


def remove(root: Path) -> None:
    (root / "Content/broken.htm").unlink()


def into_a_link(root: Path) -> None:
    (root / "Content/broken.htm").unlink()
    (root / "Content/broken.htm").symlink_to(SAMPLES_DIR / "sources.yaml")


@pytest.mark.parametrize("change", [change_name, swap, add, remove, into_a_link])
def test_names_belong_to_the_input(export: Export, change: Callable[[Path], None]) -> None:
    """A renamed, swapped, new or removed file, and one that became a link out of the root, make another export."""
    before = export.entries()
    change(export.root)
    result = export.run()
    assert export.really() == 1
    assert isinstance(result.output, StageDraft)
    assert export.entries() != before


def test_missing_and_cut_bytes_are_stored_again(export: Export) -> None:
    """A blob that is gone or of another size makes the same input be exported; the manifest stays."""
    for damage in (lambda blob: blob.unlink(), lambda blob: blob.write_bytes(b"cut")):
        blob = export.blob("Content/a.htm")
        damage(blob)
        result = export.run()
        assert export.really() == 1
        assert isinstance(result.output, StageFile)
        assert result.counts["new_blobs"] == 1
        assert blob.read_bytes() == TOPIC % b"alpha"
        export.run()
        assert export.really() == 0


def test_bytes_damaged_at_their_size_never_reach_a_parser(export: Export) -> None:
    """They are found when they are read, and removed; the next export stores them anew, and parsing goes on."""
    blob = export.blob("Content/a.htm")
    good = blob.read_bytes()
    blob.write_bytes(good.replace(b"alpha", b"omega"))
    manifest = export.manifest()
    with pytest.raises(RejectedInput, match="damaged"):
        parse_raw(export.at, manifest)
    export.run()
    assert export.really() == 1
    assert blob.read_bytes() == good
    assert parse_raw(export.at, manifest).counts["computed"] == 3


def test_missing_bytes_are_noticed_on_a_store_that_is_no_disk(tmp_path: Path) -> None:
    """One listing of the store tells as well which bytes are not there."""
    export = Export(tmp_path)
    export.store = StageStore("memory://unchanged-input")
    export.run()
    export.run()
    assert export.really() == 1
    sha256 = export.entries()["Content/a.htm"].sha256
    export.store.blobs.prune(
        {entry.sha256 for entry in export.entries().values()} - {sha256}, older_than=1e12, dry_run=False, stop=lambda: False
    )
    assert export.run().counts["new_blobs"] == 1
    assert export.store.blobs.get(sha256) == TOPIC % b"alpha"


def test_an_option_and_a_new_parser_make_one_export_each(export: Export) -> None:
    """Another option or parser version costs an export, once; what it gives decides whether anything after it runs."""
    version = export.manifest().info.data_version
    export.options = {"max_reject_share": 0.5}
    assert export.run().info.data_version == version
    assert export.really() == 1
    export.run()
    assert export.really() == 0

    class Newer(Counted):
        parser_version = "newer"

    export.source = Newer()
    assert export.run().info.data_version == version
    assert export.really() == 1
    export.run()
    assert export.really() == 0
    export.options["conditions"] = "exclude[Default.PrintOnly]"
    export.run()
    assert export.really() == 1


def test_a_secret_is_part_of_the_options(tmp_path: Path) -> None:
    """A changed password is a changed option, though it is never written down."""
    root = tmp_path / "pdf"
    shutil.copytree(SAMPLES_DIR / "pdf", root)
    store = StageStore(str(tmp_path / "store"))
    versions = set()
    for password in ("one", "two"):
        result = export_raw(of_kind("pdf", root, store, passwords={"a.pdf": password}))
        assert isinstance(result.output, StageDraft)
        result.output.commit()
        versions.add(result.info.input_version)
    assert len(versions) == 2


def test_an_incomplete_export_is_never_taken_as_it_is(export: Export) -> None:
    """As long as a document did not come, the same files are asked for again."""

    class Failing(Counted):
        def export(self, options: Any, earlier: Any = None) -> Iterator[RawDocument | Reject | Unfetched]:
            for item in super().export(options):
                yield Unfetched(item.key, "read error") if item.key == "Content/a.htm" else item

    export.source = Failing()
    add(export.root)
    for _ in range(2):
        assert not export.run().info.complete
        assert export.really() == 1
    export.source = Counted()
    assert export.run().info.complete
    assert export.really() == 1


def test_files_written_to_while_they_are_read_are_read_again(export: Export) -> None:
    """When the input is not the same before and after an export, the next one does not rely on it."""

    class Meanwhile(Counted):
        def export(self, options: Any, earlier: Any = None) -> Iterator[RawDocument | Reject | Unfetched]:
            for item in super().export(options):
                yield item
                (options.path / "Content/b.htm").write_bytes(TOPIC % f"state {self.exports}".encode())

    export.source = Meanwhile()
    (export.root / "Content/b.htm").write_bytes(TOPIC % b"state 0")
    assert export.run().info.input_version == ""
    assert export.really() == 1
    export.run()
    assert export.really() == 1


def test_a_file_that_cannot_be_read_is_no_known_input(export: Export) -> None:
    """A digest is of all files or it is none."""
    with FLARE.files(export.at.instance.options) as files:
        assert files.digest()
        (export.root / "Content/a.htm").unlink()
        assert files.digest() is None


def test_a_link_that_took_the_place_of_a_file_is_not_followed(export: Export) -> None:
    """Between listing and reading a file may be replaced by a link out of the export: nothing is read through it."""
    with FLARE.files(export.at.instance.options) as files:
        (export.root / "Content/a.htm").unlink()
        (export.root / "Content/a.htm").symlink_to(SAMPLES_DIR / "sources.yaml")
        assert isinstance(files.read("Content/a.htm"), Unfetched)


def packed(root: Path, archive: Path, year: int) -> Path:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
        for path in sorted(root.rglob("*.*")):
            if path.is_file() and not path.is_symlink():
                out.writestr(zipfile.ZipInfo(path.relative_to(root).as_posix(), (year, 1, 1, 0, 0, 0)), path.read_bytes())
    return archive


def test_an_archive_is_known_by_its_bytes(tmp_path: Path) -> None:
    """Touched, it is the same; packed again, it is read and changes nothing after it; with another member, it is another."""
    export = Export(tmp_path)
    folder = export.root
    export.root = packed(folder, tmp_path / "export.zip", 2020)
    first = export.run()
    os.utime(export.root, (1_000_000_000, 1_000_000_000))
    assert export.run().counts == {**first.counts, "new_blobs": 0}
    assert export.really() == 1
    packed(folder, export.root, 2021)
    assert export.run().info.data_version == first.info.data_version
    assert export.really() == 1
    export.run()
    assert export.really() == 0
    (folder / "Content/a.htm").write_bytes(TOPIC % b"gamma")
    packed(folder, export.root, 2021)
    assert export.run().info.data_version != first.info.data_version


def test_the_stages_after_it_read_no_row(export: Export) -> None:
    """With an unchanged input every stage returns its file by the footer alone: its own rows may even be unreadable."""
    manifest = export.manifest()
    tokenizer = WordTokenizer()

    def steps() -> list[StepResult]:
        results = [parse_raw(export.at, manifest)]
        for step in (lambda file: tag_topics(export.at, file), lambda file: chunk_docs(export.at, file, tokenizer)):
            results.append(step(committed(results[-1])))
        committed(results[-1])
        return results

    first = steps()
    for stage in ("raw_export", "parsed_topics", "tagged_docs", "chunks"):
        file = export.store.load(export.at.instance.ref, stage)
        content = Path(file.location).read_bytes()
        footer = int.from_bytes(content[-8:-4], "little") + 8  # Parquet: the footer, its length, "PAR1"
        Path(file.location).write_bytes(b"PAR1" + bytes(len(content) - footer - 4) + content[-footer:])
        with pytest.raises(OSError, match=r"Corrupt|deserialize|Unexpected|page"):
            list(file.row_groups())
    again = steps()
    assert all(isinstance(result.output, StageFile) for result in again)
    assert [result.info for result in again] == [result.info for result in first]
    assert all(result.counts["computed"] == 0 for result in again)


def committed(result: StepResult) -> StageFile:
    return result.output.commit() if isinstance(result.output, StageDraft) else result.output


def test_who_is_asked_over_a_network_is_always_asked(tmp_path: Path) -> None:
    """Live and replayed sites have no files: what changed is theirs to say."""
    for kind in ("wordpress", "web_crawl"):
        source = source_kinds()[kind]
        for where in ({"url": "https://example.org/"}, {"replay": tmp_path}):
            assert source.files(source.options_type.model_validate(where)) is None


def test_a_manifest_without_a_digest_gets_one(export: Export) -> None:
    """One that was written before there were digests costs one more export; nothing after it runs."""
    file = export.manifest()
    assert file.info.input_version
    draft = export.store.draft(export.at.instance.ref, "raw_export", MANIFEST.schema)
    for table in file.row_groups():
        draft.write(table)
    draft.finish(dataclasses.replace(file.info, input_version=""))
    draft.commit()
    assert export.run().info == file.info
    assert export.really() == 1
    export.run()
    assert export.really() == 0


def test_a_file_that_is_only_looked_into_counts_as_it_begins(tmp_path: Path) -> None:
    """Of a file that is no program only the first bytes decide: whether it is a tokenised one, which is a reject."""
    root = tmp_path / "programs"
    root.mkdir()
    (root / "a.bbj").write_text("x=1")
    (root / "data.bin").write_bytes(bytes(100))
    at = of_kind("bbj_source", root, StageStore(str(tmp_path / "store")))
    first = committed(export_raw(at)).info
    (root / "data.bin").write_bytes(bytes(99) + b"x")
    assert export_raw(at).info == first
    (root / "data.bin").write_bytes(b"<<bbj>>" + bytes(93))
    result = export_raw(at)
    assert result.info.input_version != first.input_version
    assert result.counts["rejected"] == 1
