"""The export step over real files and real HTTP: what the earlier manifest spares, and what its validators may not decide."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bbj_pipeline.orchestration.stage_names import PARSED_TOPICS, RAW_EXPORT
from bbj_pipeline.orchestration.steps.export import export_raw
from bbj_pipeline.orchestration.steps.transform import parse_raw
from bbj_pipeline.orchestration.steps.workplace import StepResult, Workplace
from bbj_pipeline.records import InstanceRef, RawDocument, content_hash
from bbj_pipeline.settings import SAMPLES_DIR
from bbj_pipeline.sources.config import ConfiguredInstance, load_sources
from bbj_pipeline.sources.replay import Answer, serve
from bbj_pipeline.sources.web_crawl import SOURCE, WebCrawlOptions
from bbj_pipeline.storage.stage_files import StageDraft, StageFile, StageStore
from bbj_pipeline.storage.stage_records import MANIFEST, ManifestEntry
from bbj_pipeline.storage.stage_units import read_records
from bbj_pipeline_tests.sources.traffic import Traffic


def page(text: str, *links: str) -> bytes:
    anchors = "".join(f'<a href="{link}">link</a>' for link in links)
    return f"<html><body><nav>{anchors}</nav><main><h1>{text}</h1><p>{text}</p></main>".encode()


class Site:
    """Two linked pages whose answers a test may change, and the platform's view of them."""

    def __init__(self, store: StageStore) -> None:
        self.pages = {"/": Answer(200, page("Home", "/a")), "/a": Answer(200, page("Windows"))}
        self.traffic = Traffic()
        self.store = store
        self.origin = ""

    def answer(self, target: str) -> Answer:
        return self.pages.get(target, Answer(404))

    @property
    def place(self) -> Workplace:
        options = WebCrawlOptions.model_validate({"url": f"{self.origin}/", "attempts": 1, "delay": 0})
        return Workplace(ConfiguredInstance(InstanceRef("web_crawl", "docs"), SOURCE, options), self.store, "run")

    def export(self) -> StageFile:
        self.traffic.reset()
        return committed(export_raw(self.place))

    def parse(self, raw_export: StageFile) -> StepResult:
        return parse_raw(self.place, raw_export)


def committed(result: StepResult) -> StageFile:
    return result.output.commit() if isinstance(result.output, StageDraft) else result.output


def manifest(file: StageFile) -> dict[str, ManifestEntry]:
    return {entry.key: entry for entry in read_records(file, MANIFEST) if isinstance(entry, ManifestEntry)}


@contextmanager
def served(folder: Path) -> Iterator[Site]:
    site = Site(StageStore(str(folder)))
    with serve(site.answer, site.traffic) as site.origin:
        yield site


def test_an_unchanged_export_is_the_earlier_file(tmp_path: Path) -> None:
    """The second export asks conditionally, gets no body, writes nothing and returns the very file of the first."""
    with served(tmp_path) as site:
        site.export()
        result = export_raw(site.place)
        assert site.traffic.statuses() == {200: 2, 304: 2}
        assert isinstance(result.output, StageFile)
        assert result.counts["new_blobs"] == 0


def test_a_new_etag_over_the_same_bytes_changes_nothing_downstream(tmp_path: Path) -> None:
    """The new validator is kept for the next question; data version and parsed topics stay what they were."""
    with served(tmp_path) as site:
        first = site.export()
        version, etag = first.info.data_version, manifest(first)["/a"].validators["etag"]
        parsed = committed(site.parse(first))
        site.pages["/a"] = Answer(200, site.pages["/a"].content, headers={"ETag": '"rebuilt"'})
        second = site.export()
        assert site.traffic.statuses() == {304: 1, 200: 1}
        assert (second.info.data_version, manifest(second)["/a"].validators["etag"]) == (version, '"rebuilt"')
        assert etag != '"rebuilt"'
        again = site.parse(second)
        assert isinstance(again.output, StageFile)
        assert again.info == parsed.info
        third = export_raw(site.place)
        assert isinstance(third.output, StageFile)


def test_a_changed_page_costs_that_page(tmp_path: Path) -> None:
    """One page is sent, stored and parsed again; the other is copied."""
    with served(tmp_path) as site:
        committed(site.parse(site.export()))
        site.pages["/a"] = Answer(200, page("Dialogs"))
        second = site.export()
        assert site.traffic.statuses() == {304: 1, 200: 1}
        assert site.parse(second).counts == {"computed": 1, "reused": 1, "rejected": 0}


def test_a_failing_page_keeps_its_bytes_and_its_validators(tmp_path: Path) -> None:
    """After a 500 the page is asked for conditionally again, and the export says that it is incomplete."""
    with served(tmp_path) as site:
        first = site.export()
        good, site.pages["/a"] = site.pages["/a"], Answer(500)
        second = site.export()
        assert not second.info.complete
        kept = manifest(second)["/a"]
        assert kept.unfetched
        assert (kept.sha256, kept.validators) == (manifest(first)["/a"].sha256, manifest(first)["/a"].validators)
        site.pages["/a"] = good
        third = site.export()
        assert site.traffic.statuses() == {304: 2}
        assert third.info.data_version == first.info.data_version


def test_lost_bytes_are_fetched_again(tmp_path: Path) -> None:
    """A document whose blob is gone is not known any more: no question could be answered with it."""
    with served(tmp_path) as site:
        first = site.export()
        Path(site.store.blobs.locate(manifest(first)["/a"].sha256)).unlink()
        site.export()
        assert site.traffic.statuses() == {304: 1, 200: 1}
        assert site.store.blobs.get(manifest(first)["/a"].sha256) == site.pages["/a"].content


def test_a_source_that_asks_nothing_of_the_earlier_export_reads_nothing_of_it(tmp_path: Path) -> None:
    """A folder is exported although every stored byte is gone; they are stored again."""
    (instance,) = (item for item in load_sources(SAMPLES_DIR / "sources.yaml") if item.ref.kind == "javadoc")
    at = Workplace(instance, StageStore(str(tmp_path)), "run")
    committed(export_raw(at))
    shutil.rmtree(tmp_path / "raw")
    result = export_raw(at)
    assert isinstance(result.output, StageFile)
    assert result.counts["new_blobs"] == result.counts["documents"]


def test_a_manifest_without_validators_is_read(tmp_path: Path) -> None:
    """A file written before there were validators is an earlier export of which nothing can be asked conditionally."""
    with served(tmp_path) as site:
        first = site.export()
        location = Path(first.location)
        table = pq.read_table(location)
        kept = table.drop_columns(["validators"]).replace_schema_metadata(pq.read_metadata(location).metadata)
        pq.write_table(kept, location)
        assert {entry.validators == {} for entry in manifest(site.place.store.load(first_ref(site), RAW_EXPORT)).values()} == {
            True
        }
        second = site.export()
        assert site.traffic.statuses() == {200: 2}
        assert second.info.data_version == first.info.data_version
        assert site.store.find(first_ref(site), PARSED_TOPICS) is None


def first_ref(site: Site) -> InstanceRef:
    return site.place.instance.ref


@pytest.mark.parametrize(
    "record", [RawDocument("k", b"x"), ManifestEntry("k", "0" * 64, 1, "text/html", "document", url="https://x.example.org/")]
)
def test_validators_are_no_part_of_a_record(record: RawDocument | ManifestEntry) -> None:
    """Records that differ in them alone are equal and have one hash; any other field makes another record."""
    told = replace(record, validators={"etag": '"1"'})
    assert told == record
    if isinstance(record, ManifestEntry):
        assert content_hash(told) == content_hash(record)
    other = replace(record, media_type="text/plain")
    assert other != record
