"""raw_export: lists an instance's raw documents, keeps their bytes as blobs, and writes the manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from bbj_pipeline import __version__
from bbj_pipeline.errors import PipelineError, RejectedInput
from bbj_pipeline.orchestration.stage_names import RAW_EXPORT
from bbj_pipeline.orchestration.steps.workplace import StepResult, Workplace, abandon_on_error, plain
from bbj_pipeline.records import RawDocument, Reject, Unfetched, content_hash
from bbj_pipeline.sources.mirroring import mirror
from bbj_pipeline.storage.blobs import BlobStore
from bbj_pipeline.storage.stage_files import StageFile, StageInfo
from bbj_pipeline.storage.stage_records import MANIFEST, ManifestEntry
from bbj_pipeline.storage.stage_units import UnitWriter, read_records

__all__ = ["export_raw"]

_COUNTS = ("documents", "resources", "rejected", "unfetched", "bytes", "new_blobs")


def export_raw(at: Workplace) -> StepResult:
    """Export one instance; the earlier manifest is returned when the listing, every byte and every validator are the same.

    Files are hashed first: when names, bytes, options and code are those of the earlier manifest and its bytes are stored, it
    is returned without parsing a file or storing anything.
    A document that could not be fetched keeps the entry of the earlier manifest, and the export is marked incomplete.
    New validators over the same bytes give a new manifest with the earlier data version: nothing downstream changes.
    """
    options = at.instance.options
    if options.mirror is not None and options.path is not None:
        mirror(options.mirror, options.path, options.marker)
    at.store.sweep(at.instance.ref)  # here, where each night comes by: what did not change is not drafted again
    earlier = at.earlier(RAW_EXPORT)
    input_version = _input_version(at)
    if earlier is not None and (standing := _standing(at, earlier, input_version)) is not None:
        return StepResult(earlier, earlier.info, standing)
    known = _EarlierDocuments(earlier, at.store.blobs)
    revalidated = False
    draft = at.store.draft(at.instance.ref, RAW_EXPORT, MANIFEST.schema)
    counts = dict.fromkeys(_COUNTS, 0)
    with abandon_on_error(draft):
        writer = UnitWriter(draft, MANIFEST)
        seen: set[str] = set()
        for found in at.instance.source.export(options, known):
            if found.key in seen:
                raise PipelineError(
                    f"{at.instance.ref} lists {found.key!r} twice", remedy="report this as a bug of its exporter"
                )
            seen.add(found.key)
            entry = _entry(at, found, known, counts)
            revalidated = revalidated or _has_new_validators(entry, known)
            writer.add(found.key, "" if isinstance(entry, Reject) else entry.sha256, [(found.key, entry)])
        if not seen:
            raise RejectedInput(
                f"{at.instance.ref}: the export holds no document of this kind",
                remedy="check the kind and the path of the instance in sources.yaml; what is served stays as it is",
            )
        info = writer.finish(
            stage=RAW_EXPORT,
            stage_version=at.instance.source.parser_version,
            # Files that were written to meanwhile were not read in one state: the next export reads them again.
            input_version=input_version if input_version == _input_version(at) else "",
            complete=counts["unfetched"] == 0,
            run_id=at.run_id,
        )
    is_same = earlier is not None and _versions(earlier.info) == _versions(info)
    if earlier is not None and is_same and not revalidated:
        draft.abandon()
        return StepResult(earlier, earlier.info, counts)
    return StepResult(draft, info, counts)


def _input_version(at: Workplace) -> str:
    """Hash everything an export of files depends on; empty when it asks a network, or when a file cannot be read now.

    All options are in it: one that decides nothing costs one export when it is changed. So does a new version of the package.
    """
    options = at.instance.options
    opened = at.instance.source.files(options)
    if opened is None:
        return ""
    with opened as files:
        digest = files.digest()
    told = {name: plain(getattr(options, name)) for name in sorted(type(options).model_fields)}
    return content_hash([__version__, told, digest]) if digest is not None else ""


def _standing(at: Workplace, earlier: StageFile, input_version: str) -> dict[str, int] | None:
    """Return the counts of the earlier export if it is one of this very input, and all its bytes are stored."""
    info, version = earlier.info, at.instance.source.parser_version
    if not input_version or not info.complete or (info.stage_version, info.input_version) != (version, input_version):
        return None
    counts = dict.fromkeys(_COUNTS, 0) | {"rejected": info.rejects}
    blobs: list[tuple[str, int]] = []
    for table in earlier.row_groups(["sha256", "size", "role"]):
        rows = zip(*(table.column(name).to_pylist() for name in ("sha256", "size", "role")), strict=True)
        for sha256, size, role in rows:
            if role is not None:  # else a reject
                counts["documents" if role == "document" else "resources"] += 1
                counts["bytes"] += size
                blobs.append((sha256, size))
    return counts if at.store.blobs.has_all(blobs) else None


def _versions(info: StageInfo) -> tuple[str, ...]:
    return info.stage_version, info.input_version, info.data_version


class _EarlierDocuments(Mapping[str, RawDocument]):
    """The documents of the earlier manifest by key; the manifest is read at the first question, bytes at each."""

    def __init__(self, manifest: StageFile | None, blobs: BlobStore) -> None:
        self._manifest = manifest
        self._blobs = blobs

    def __getitem__(self, key: str) -> RawDocument:
        entry = self._stored[key]
        try:
            content = self._blobs.get(entry.sha256)
        except RejectedInput:  # damaged and removed: as unknown as bytes that were never fetched
            raise KeyError(key) from None
        return RawDocument(
            key=key,
            content=content,
            media_type=entry.media_type,
            role="resource" if entry.role == "resource" else "document",
            url=entry.url,
            last_modified=entry.last_modified,
            dependencies=entry.dependencies,
            metadata=entry.metadata,
            validators=entry.validators,
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)

    @cached_property
    def _stored(self) -> dict[str, ManifestEntry]:
        return {key: entry for key, entry in self._entries.items() if entry.sha256}

    @cached_property
    def _entries(self) -> dict[str, ManifestEntry]:
        if self._manifest is None:
            return {}
        entries = read_records(self._manifest, MANIFEST)
        return {entry.key: entry for entry in entries if isinstance(entry, ManifestEntry)}

    def entry(self, key: str) -> ManifestEntry | None:
        """Return the earlier entry of ``key``; its bytes are not read."""
        return self._entries.get(key)

    def unfetched(self, key: str, reason: str) -> ManifestEntry:
        """Return the earlier entry of ``key`` marked with ``reason``, or an empty one when it was never fetched."""
        known = self.entry(key)
        if known is None:
            return ManifestEntry(key, "", 0, "", "document", unfetched=reason)
        return replace(known, unfetched=reason)


def _has_new_validators(entry: ManifestEntry | Reject, known: _EarlierDocuments) -> bool:
    if isinstance(entry, Reject) or not entry.validators:
        return False
    earlier = known.entry(entry.key)
    return earlier is None or earlier.validators != entry.validators


def _entry(
    at: Workplace, found: RawDocument | Reject | Unfetched, known: _EarlierDocuments, counts: dict[str, int]
) -> ManifestEntry | Reject:
    if isinstance(found, Reject):
        counts["rejected"] += 1
        return found
    if isinstance(found, Unfetched):
        counts["unfetched"] += 1
        return known.unfetched(found.key, found.reason)
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
        validators=found.validators,
    )
