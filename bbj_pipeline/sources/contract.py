"""What a source kind must offer: its options, an exporter of raw documents, a parser of one raw document.

No format lives here, and no Dagster and no SQL anywhere in ``sources``. A source module ends in ``SOURCE = …`` and is found
by the registry; nothing else has to be told of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Generic, Protocol, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, Field, field_validator

from bbj_pipeline.errors import SourceUnavailable
from bbj_pipeline.records import DocType, Generation, RawDocument, Reject, Topic, Unfetched

__all__ = [
    "MAX_DOCUMENT_BYTES",
    "NOTHING_EARLIER",
    "EarlierExport",
    "InputFiles",
    "ReadResource",
    "Source",
    "SourceOptions",
    "existing_folder",
]

MAX_DOCUMENT_BYTES = 64 * 1024 * 1024
"""No raw document may be larger: the largest real ones (manual PDFs) stay below 40 MB."""

ReadResource = Callable[[str], bytes]
"""Reads a resource of the same instance by its key; raises ``KeyError`` when there is none."""


EarlierExport = Mapping[str, RawDocument]
"""What the earlier export of the same instance holds, by key; a document's bytes are read when it is looked up.

A document whose bytes are no longer stored is not in it, so that an exporter fetches it again.
"""

NOTHING_EARLIER: EarlierExport = MappingProxyType({})
"""The earlier export of an instance that has none."""


class InputFiles(Protocol):
    """All files that one export reads, listed once and read one at a time."""

    def all_keys(self) -> list[str]:
        """Return the keys of all files, sorted; those that may not be read are among them."""

    def read(self, key: str) -> bytes | Reject | Unfetched:
        """Return what is read of a file, why it may never be read, or why it could not be read now."""

    def digest(self) -> str | None:
        """Return a hash of all that ``all_keys`` and ``read`` can give; ``None`` when a file could not be read now.

        Bytes decide, never times. Two inputs of one digest give the same export under the same options.
        """


class SourceOptions(BaseModel):
    """Options every instance may have in ``sources.yaml``; a kind adds its own in a subclass."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Path | None = Field(default=None, description="Folder, archive or recorded dump to read.")
    public_url: str | None = Field(
        default=None, description="Public URL of a document; {path} is replaced by the document's path, URL-quoted."
    )
    default_generations: tuple[Generation, ...] = Field(
        default=(), description="A hint for documents that show no cue of their own; never a verdict."
    )
    generation_overrides: Path | None = Field(
        default=None, description="YAML file of what a person says about the generations of documents, by key or glob."
    )
    min_tag_coverage: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Share of documents that should carry a generation, or a check warns; unset means what suits the kind.",
    )
    max_reject_share: float = Field(
        default=0.2, ge=0, le=1, description="Share of documents that may be rejected; beyond it nothing is published."
    )
    schedule: str | None = Field(default=None, description="Cron expression that replaces the nightly default.")
    timezone: str = Field(default="UTC", description="IANA time zone of the schedule.")
    max_age_hours: float | None = Field(
        default=None,
        gt=0,
        description="Hours without a refresh after which the instance counts as stale; unset: what its schedule says, and 2.",
    )
    mirror: str | None = Field(
        default=None,
        pattern=r"^[a-z0-9+]+://",
        description="fsspec URL (s3://bucket/export.zip) that is copied to path before each export; path belongs to the copy.",
    )
    marker: str | None = Field(
        default=None,
        pattern=r"^[^/\\]+$",
        description="Name of a file that is written anew when an export is complete: in the folder, or beside the archive.",
    )
    quiet_seconds: float = Field(
        default=0, ge=0, le=86400, description="Seconds an export without a marker must rest before it counts as complete."
    )

    @field_validator("public_url")
    @classmethod
    def _placeholder(cls, template: str | None) -> str | None:
        if template is not None:
            if "@" in template.partition("://")[2].partition("/")[0]:
                raise ValueError("it has a user name or password, which would be published with every document")
            rest = template.replace("{path}", "")
            if rest == template:
                raise ValueError(f"{template!r} has no {{path}}, so all documents would have one URL")
            if "{" in rest or "}" in rest:
                raise ValueError(f"{template!r} has a brace that is not of {{path}}, the only placeholder")
        return template

    @field_validator("schedule")
    @classmethod
    def _not_blank(cls, cron: str | None) -> str | None:
        if cron is not None and not cron.strip():
            raise ValueError("it is empty; leave it out for the nightly default, or write a cron expression")
        return cron

    @field_validator("timezone")
    @classmethod
    def _known_timezone(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(f"{name!r} is no IANA time zone such as Europe/Berlin") from None
        return name


OptionsT = TypeVar("OptionsT", bound=SourceOptions)


class Source(ABC, Generic[OptionsT]):
    """One source kind. Instances are stateless; all state is in the options and the raw documents.

    ``parse_options`` names the options that ``parse`` reads: only a change in one of them makes documents parsed again.
    ``parser_version`` is raised with what ``parse`` gives and with what ``export`` gives for the same files.
    """

    kind: ClassVar[str]
    title: ClassVar[str]
    parser_version: ClassVar[str]
    default_doc_type: ClassVar[DocType] = "concept"
    parse_options: ClassVar[frozenset[str]] = frozenset({"public_url"})
    options_type: type[OptionsT]

    @abstractmethod
    def export(self, options: OptionsT, earlier: EarlierExport = NOTHING_EARLIER) -> Iterator[RawDocument | Reject | Unfetched]:
        """Yield every raw document and resource of the instance, sorted by key, each key once.

        A document that is permanently unusable before it can be read (too large, a link out of the root) is a ``Reject``;
        one that exists but did not come this time is ``Unfetched``. Raises ``SourceUnavailable`` when the listing itself
        cannot be completed: an export is complete or it is not an export.

        ``earlier`` spares asking for what did not change and is no second source: the result is what it would be without
        it, and a document that is gone is not taken from it.
        """

    def files(self, options: OptionsT) -> AbstractContextManager[InputFiles] | None:
        """Open the files that ``export`` reads, all of them and nothing else; ``None`` when it asks somebody else.

        A kind that reads files implements it, and exports through what it returns: the same listing then tells whether there
        is anything to export. Raises what ``export`` raises for an input that is not there or cannot be opened.
        """
        return None

    @abstractmethod
    def parse(self, raw: RawDocument, options: OptionsT, read: ReadResource) -> Iterator[Topic | Reject]:
        """Yield the topics of one raw document, or one ``Reject``; at least one of either, and never raise for bad input.

        ``read`` gives the bytes of the resources named in ``raw.dependencies``. Topics carry ``raw_key`` and
        ``raw_sha256`` of ``raw``. The result depends on nothing but the arguments: same input, same topics.
        """


def existing_folder(path: Path | None, where: str) -> Path:
    """Return ``path`` when it is an existing folder; raise ``SourceUnavailable`` naming ``where`` and the remedy if not."""
    if path is None or not path.is_dir():
        raise SourceUnavailable(f"no export at {path}", remedy=f'set "path" of {where} in sources.yaml to an existing folder')
    return path
