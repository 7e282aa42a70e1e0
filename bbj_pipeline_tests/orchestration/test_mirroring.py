"""An export in an object store: watched there, copied when it changed, read like one on disk."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import dagster as dg
import fsspec
import pytest

from bbj_pipeline.errors import ConfigurationError, RejectedInput, SourceUnavailable
from bbj_pipeline.orchestration.build import build_definitions
from bbj_pipeline.orchestration.steps.export import export_raw
from bbj_pipeline.orchestration.steps.workplace import Workplace
from bbj_pipeline.settings import Settings
from bbj_pipeline.sources.config import load_sources
from bbj_pipeline.sources.mirroring import mirror
from bbj_pipeline.storage.stage_files import StageStore


@pytest.fixture
def bucket(request: pytest.FixtureRequest) -> str:
    """A folder of an in-memory store that this test alone uses."""
    return f"memory://{request.node.name}"


def put(bucket: str, name: str, content: bytes) -> None:
    fsspec.filesystem("memory").pipe(f"{bucket.removeprefix('memory:/')}/{name}", content)


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_is_copied_and_kept_true(bucket: str, tmp_path: Path) -> None:
    """New and changed files are copied, unchanged ones are not, gone ones go; what others put beside them stays."""
    put(bucket, "a.md", b"one")
    put(bucket, "sub/b.md", b"two")
    put(bucket, ".complete", b"")
    copy = tmp_path / "copy"
    assert mirror(bucket, copy, ".complete") == 2
    assert files(copy) == {"a.md": b"one", "sub/b.md": b"two"}
    assert mirror(bucket, copy, ".complete") == 0
    put(bucket, "a.md", b"changed")
    fsspec.filesystem("memory").rm(f"{bucket.removeprefix('memory:/')}/sub/b.md")
    (copy / "own.md").write_bytes(b"put here by hand")
    assert mirror(bucket, copy, ".complete") == 1
    assert files(copy) == {"a.md": b"changed", "own.md": b"put here by hand"}


def test_a_store_without_the_export_leaves_the_copy(bucket: str, tmp_path: Path) -> None:
    """Nothing at the URL is unavailable, not an empty export; a store that is not installed is a mistake of configuration."""
    put(bucket, "a.md", b"one")
    mirror(bucket, tmp_path / "copy")
    fsspec.filesystem("memory").rm(bucket.removeprefix("memory:/"), recursive=True)
    with pytest.raises(SourceUnavailable, match="no export at"):
        mirror(bucket, tmp_path / "copy")
    assert files(tmp_path / "copy") == {"a.md": b"one"}
    with pytest.raises(ConfigurationError, match="no-such-store"):
        mirror("no-such-store://x", tmp_path / "copy")


def test_a_name_that_leads_out_is_refused(bucket: str, tmp_path: Path) -> None:
    """A file whose name would be written outside the copy refuses the export, and nothing is written."""
    put(bucket, "a.md", b"one")
    put(bucket, "..\\out.md", b"two")
    with pytest.raises(RejectedInput, match="unsafe name"):
        mirror(bucket, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_an_archive_in_a_store_is_watched_and_exported(bucket: str, tmp_path: Path, settings: Settings) -> None:
    """The sensor looks at the store; the export that it starts copies the archive and reads its topics."""
    (tmp_path / "sources.yaml").write_text(f"flare:\n  docs: {{path: copy/docs.zip, mirror: '{bucket}/docs.zip'}}\n", "utf-8")
    configured = settings.model_copy(update={"sources_file": tmp_path / "sources.yaml"})
    repository = build_definitions(configured).get_repository_def()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.htm", "<html><body><h1>Windows</h1></body></html>")
    put(bucket, "docs.zip", packed.getvalue()[:40])
    requests = []
    with dg.DagsterInstance.ephemeral() as instance:
        cursor = None
        for content in (packed.getvalue()[:40], packed.getvalue(), None, None):
            if content is not None:
                put(bucket, "docs.zip", content)
            with dg.build_sensor_context(instance, cursor, repository_def=repository) as context:
                result = repository.get_sensor_def("flare_export_sensor").evaluate_tick(context)
            cursor = result.cursor
            requests.append([request.partition_key for request in result.run_requests or []])
    assert requests == [[], [], ["docs"], []]
    (item,) = load_sources(configured.sources_file)
    exported = export_raw(Workplace(item, StageStore(str(tmp_path / "store")), "run"))
    assert exported.counts["documents"] == 1
