"""raw_export: lists an instance's raw documents, keeps their bytes as blobs, and writes the manifest."""

from __future__ import annotations

from functools import cached_property

from bbj_pipeline.errors import PipelineError
from bbj_pipeline.orchestration.stage_names import RAW_EXPORT
from bbj_pipeline.orchestration.steps.workplace import StepResult, Workplace, abandon_on_error
from bbj_pipeline.records import RawDocument, Reject, Unfetched
from bbj_pipeline.storage.stage_files import StageFile
from bbj_pipeline.storage.stage_records import MANIFEST, ManifestEntry
from bbj_pipeline.storage.stage_units import UnitWriter, read_records

__all__ = ["export_raw"]


def export_raw(at: Workplace) -> StepResult:
    """Export one instance; the earlier manifest is returned when the listing and every byte are the same.

    A document that could not be fetched keeps the entry of the earlier manifest, and the export is marked incomplete.
    """
    earlier = at.earlier(RAW_EXPORT)
    known = _EarlierEntries(earlier)
    draft = at.store.draft(at.instance.ref, RAW_EXPORT, MANIFEST.schema)
    counts = {"documents": 0, "resources": 0, "rejected": 0, "unfetched": 0, "bytes": 0, "new_blobs": 0}
    with abandon_on_error(draft):
        writer = UnitWriter(draft, MANIFEST)
        seen: set[str] = set()
        for found in at.instance.source.export(at.instance.options):
            if found.key in seen:
                raise PipelineError(
                    f"{at.instance.ref} lists {found.key!r} twice", remedy="report this as a bug of its exporter"
                )
            seen.add(found.key)
            entry = _entry(at, found, known, counts)
            writer.add(found.key, "" if isinstance(entry, Reject) else entry.sha256, [(found.key, entry)])
        info = writer.finish(
            stage=RAW_EXPORT,
            stage_version=at.instance.source.parser_version,
            input_version="",
            complete=counts["unfetched"] == 0,
            run_id=at.run_id,
        )
    if earlier is not None and earlier.info.data_version == info.data_version:
        draft.abandon()
        return StepResult(earlier, earlier.info, counts)
    return StepResult(draft, info, counts)


class _EarlierEntries:
    """The earlier manifest by key, read when the first document could not be fetched."""

    def __init__(self, manifest: StageFile | None) -> None:
        self._manifest = manifest

    @cached_property
    def _entries(self) -> dict[str, ManifestEntry]:
        if self._manifest is None:
            return {}
        entries = read_records(self._manifest, MANIFEST)
        return {entry.key: entry for entry in entries if isinstance(entry, ManifestEntry)}

    def of(self, key: str, reason: str) -> ManifestEntry:
        """Return the earlier entry of ``key`` marked with ``reason``, or an empty one when it was never fetched."""
        known = self._entries.get(key)
        if known is None:
            return ManifestEntry(key, "", 0, "", "document", unfetched=reason)
        return ManifestEntry(
            key=key,
            sha256=known.sha256,
            size=known.size,
            media_type=known.media_type,
            role=known.role,
            url=known.url,
            last_modified=known.last_modified,
            dependencies=known.dependencies,
            metadata=known.metadata,
            unfetched=reason,
        )


def _entry(
    at: Workplace, found: RawDocument | Reject | Unfetched, known: _EarlierEntries, counts: dict[str, int]
) -> ManifestEntry | Reject:
    if isinstance(found, Reject):
        counts["rejected"] += 1
        return found
    if isinstance(found, Unfetched):
        counts["unfetched"] += 1
        return known.of(found.key, found.reason)
    sha256 = found.sha256
    counts["documents" if found.role == "document" else "resources"] += 1
    counts["bytes"] += len(found.content)
    counts["new_blobs"] += at.store.blobs.put(sha256, found.content)
    return ManifestEntry(
        key=found.key,
        sha256=sha256,
        size=len(found.content),
        media_type=found.media_type,
        role=found.role,
        url=found.url,
        last_modified=found.last_modified,
        dependencies=found.dependencies,
        metadata=found.metadata,
    )
