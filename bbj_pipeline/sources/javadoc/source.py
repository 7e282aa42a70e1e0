"""The exporter and the parser of the ``javadoc`` kind: package files in, one topic a class out.

What a class or a description holds is read in ``classes`` and ``docu``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import Any

from bbj_pipeline.records import RawDocument, Reject, Topic, Unfetched, clean_text
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
from bbj_pipeline.sources.javadoc.classes import class_topic, faults_of
from bbj_pipeline.sources.javadoc.docu import read_docu
from bbj_pipeline.sources.markup import MarkupError

__all__ = ["JavadocOptions", "JavadocSource"]

_SECTION = "BBj API"
_DAMAGE = "holds a NUL, half of a surrogate pair or U+FFFD: export it again with its real name"

_MOST_FAULTS = 5
"""Faults of one class that are named; who mends them sees the others in the next run."""


class JavadocOptions(SourceOptions):
    """Options of a ``javadoc`` instance; ``{path}`` in ``public_url`` is ``package.Class``, for classes without a link."""


class JavadocSource(Source[JavadocOptions]):
    """BBj's JavaDoc as JSON. A raw key is a file name, a topic's key is ``package.Class``."""

    kind = "javadoc"
    title = "BBj JavaDoc"
    parser_version = "4"
    default_doc_type = "api-reference"
    options_type = JavadocOptions

    def files(self, options: JavadocOptions) -> AbstractContextManager[InputFiles]:
        """List all ``.json`` files below the folder."""
        root = existing_folder(options.path, "javadoc")
        return nullcontext(FolderFiles(root, lambda key: key.lower().endswith(".json")))

    def export(
        self, options: JavadocOptions, earlier: EarlierExport = NOTHING_EARLIER
    ) -> Iterator[RawDocument | Reject | Unfetched]:
        """Yield all ``.json`` files below the folder."""
        with self.files(options) as files:
            for key in files.all_keys():
                yield raw_document(key, files.read(key), "application/json")

    def parse(self, raw: RawDocument, options: JavadocOptions, read: ReadResource) -> Iterator[Topic | Reject]:
        """Yield a topic a class, or a ``Reject`` for the file: ``not-json``, ``not-javadoc``, ``no-classes``.

        A class that cannot be used beside others that can is a ``Reject`` of its own: ``bad-class``, ``duplicate-class``, or
        the code of its markup's fault. Beside the topic of a class whose members are of another shape stands a ``bad-member``.
        """
        package = _load(raw)
        if isinstance(package, Reject):
            yield package
            return
        name = clean_text(str(package["name"])).strip()
        common: dict[str, Any] = {"package": name}
        try:
            description = "\n".join(block.text for block in read_docu(package.get("docu"), heading_level=1).blocks)
        except MarkupError as error:
            yield Reject(raw.key, error.code, f"the package's description: {error.reason}")
            description = ""
        if description:
            common["package_description"] = description
        seen: set[str] = set()
        sha256 = raw.sha256
        for number, record in enumerate(package["classes"], 1):
            result = _topic(raw, options, name, number, record, common, seen, sha256)
            yield result
            if isinstance(result, Topic) and (faults := ", ".join(islice(faults_of(record), _MOST_FAULTS))):
                yield Reject(f"{result.key}.(members)", "bad-member", f"left out in {raw.key}: {faults}")


def _topic(
    raw: RawDocument,
    options: JavadocOptions,
    package: str,
    number: int,
    record: object,
    common: Mapping[str, Any],
    seen: set[str],
    sha256: str,
) -> Topic | Reject:
    name = record["name"] if isinstance(record, Mapping) and isinstance(record.get("name"), str) else ""
    if not isinstance(record, Mapping) or not clean_text(name).strip():
        return Reject(f"{package}.({number})", "bad-class", f"entry {number} of classes in {raw.key} has no name")
    if _is_damaged(name):
        return Reject(f"{package}.({number})", "bad-class", f"the name of entry {number} of classes in {raw.key} {_DAMAGE}")
    name = clean_text(name)
    name = " ".join(name.split())
    key = f"{package}.{name}"
    if key in seen:
        return Reject(f"{key}.({number})", "duplicate-class", f"{raw.key} describes {key} twice; the first was taken")
    seen.add(key)
    try:
        topic = class_topic(name, record)
    except MarkupError as error:
        return Reject(key, error.code, f"in {raw.key}: {error.reason}")
    return Topic(
        kind=JavadocSource.kind,
        key=key,
        title=name,
        blocks=tuple(topic.blocks),
        url=topic.url or public_url_of(options.public_url, key),
        section_path=(_SECTION, package),
        metadata={**common, **topic.metadata},
        raw_key=raw.key,
        raw_sha256=sha256,
    )


def _load(raw: RawDocument) -> Mapping[str, Any] | Reject:
    """Return the package of a file, with a name and at least one class, or why it is none."""
    try:
        package = json.loads(_decode(raw.content))
    except json.JSONDecodeError as error:
        return Reject(raw.key, "not-json", f"line {error.lineno}, column {error.colno}: {error.msg}")
    except (RecursionError, ValueError) as error:
        return Reject(raw.key, "not-json", f"cannot be read: {error}")
    classes = package.get("classes") if isinstance(package, Mapping) else None
    name = package.get("name") if isinstance(package, Mapping) else None
    if not isinstance(classes, list) or not isinstance(name, str) or not clean_text(name).strip():
        return Reject(raw.key, "not-javadoc", 'expected {"name": package, "classes": [...]}')
    if _is_damaged(name):
        return Reject(raw.key, "not-javadoc", f"the package's name {_DAMAGE}")
    if not classes:
        return Reject(raw.key, "no-classes", f"package {name} is empty")
    return package  # type: ignore[no-any-return]  # json.loads is untyped; its shape was checked above


def _is_damaged(name: str) -> bool:
    """Say whether a name has characters that cannot be kept: two such names could become the same key."""
    return "\0" in name or "\ufffd" in clean_text(name)


def _decode(content: bytes) -> str:
    """Return the text: JSON is UTF-8 (or UTF-16 and -32 by its first bytes); bytes that are not are windows-1252."""
    try:
        return content.decode(json.detect_encoding(content))
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")
