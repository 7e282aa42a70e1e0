"""The source kind ``pdf``: folders of manuals and magazines, one topic a file.

Finding files, passwords and metadata live here; opening a file, its geometry and its blocks have modules of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

from pydantic import Field, SecretStr

from bbj_pipeline.records import DocType, RawDocument, Reject, Topic, Unfetched
from bbj_pipeline.sources.contract import (
    NOTHING_EARLIER,
    EarlierExport,
    InputFiles,
    ReadResource,
    Source,
    SourceOptions,
    existing_folder,
)
from bbj_pipeline.sources.folder import FolderFiles, public_url_of, raw_document
from bbj_pipeline.sources.pdf.extract import Extracted, Limits, RunWorker, extract, run_worker
from bbj_pipeline.sources.pdf.layout import LaidOut, lay_out

__all__ = ["SOURCE", "PdfOptions", "PdfSource"]

_SEPARATORS = re.compile(r"[_\s]+")


class PdfOptions(SourceOptions):
    """Options of a ``pdf`` instance."""

    passwords: Mapping[str, SecretStr] = Field(
        default_factory=dict, description="User or owner passwords of encrypted files, by relative path or file name."
    )
    max_seconds: int = Field(
        default=Limits().seconds, ge=1, le=3600, description="Processor time one file may take before it is rejected."
    )
    max_pages: int = Field(default=Limits().pages, ge=1, le=100_000, description="Pages one file may have.")


class PdfSource(Source[PdfOptions]):
    """Reads the text layer of PDF files; a file without one is a ``Reject``, never an empty topic."""

    kind: ClassVar[str] = "pdf"
    title: ClassVar[str] = "PDF manuals"
    parser_version: ClassVar[str] = "3"
    default_doc_type: ClassVar[DocType] = "concept"
    parse_options: ClassVar[frozenset[str]] = frozenset({"public_url", "passwords", "max_seconds", "max_pages"})
    options_type = PdfOptions

    def __init__(self, run: RunWorker = run_worker) -> None:
        """Make a source whose files are opened by ``run``."""
        self._run = run

    def files(self, options: PdfOptions) -> AbstractContextManager[InputFiles]:
        """List every ``.pdf`` below the folder."""
        root = existing_folder(options.path, self.kind)
        return nullcontext(FolderFiles(root, lambda key: key.lower().endswith(".pdf")))

    def export(
        self, options: PdfOptions, earlier: EarlierExport = NOTHING_EARLIER
    ) -> Iterator[RawDocument | Reject | Unfetched]:
        """Yield every ``.pdf`` below the folder, by relative path."""
        with self.files(options) as files:
            for key in files.all_keys():
                yield raw_document(key, files.read(key), "application/pdf")

    def parse(self, raw: RawDocument, options: PdfOptions, read: ReadResource) -> Iterator[Topic | Reject]:
        """Yield one topic, or a ``Reject``: ``password-needed``, ``damaged``, ``no-text``, ``too-large`` or ``too-slow``."""
        limits = Limits(seconds=options.max_seconds, pages=options.max_pages)
        extracted = extract(raw.key, raw.content, password=_password(raw.key, options), limits=limits, run=self._run)
        if isinstance(extracted, Reject):
            yield extracted
            return
        found = lay_out(extracted)
        if not any(block.type != "heading" for block in found.blocks):
            yield _without_text(raw.key, extracted)
            return
        folder, _, name = raw.key.rpartition("/")
        yield Topic(
            kind=self.kind,
            key=raw.key,
            title=found.title or _SEPARATORS.sub(" ", name.rpartition(".")[0]).strip() or name,
            blocks=found.blocks,
            url=public_url_of(options.public_url, raw.key),
            section_path=tuple(folder.split("/")) if folder else (),
            metadata=_metadata(extracted, found),
            raw_key=raw.key,
            raw_sha256=raw.sha256,
        )


def _without_text(key: str, extracted: Extracted) -> Reject:
    if extracted.failed:
        return Reject(key, "damaged", f"no text, and {len(extracted.failed)} of {extracted.page_count} pages cannot be read")
    return Reject(key, "no-text", f"no text on any page ({extracted.page_count}): run OCR on it and export it again")


def _password(key: str, options: PdfOptions) -> str | None:
    secret = options.passwords.get(key) or options.passwords.get(key.rpartition("/")[2])
    return secret.get_secret_value() if secret else None


def _metadata(extracted: Extracted, found: LaidOut) -> dict[str, Any]:
    values: dict[str, Any] = {
        "last_updated": extracted.modified,
        "pages": extracted.page_count,
        "outline_entries": len(extracted.outline),
        "running_lines_removed": found.running_lines,
        "pdf_warnings": extracted.warnings,
        "encrypted": extracted.encrypted,
        "pages_failed": list(extracted.failed),
        "pages_over_limits": list(extracted.skipped),
    }
    return {name: value for name, value in values.items() if value}


SOURCE = PdfSource()
